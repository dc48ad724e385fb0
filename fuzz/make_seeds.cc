// Writes small sound files of each format, from which the fuzzers start: make_seeds FOLDER.

#include <png.h>

#include <cstdio>  // for jpeglib.h
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <jpeglib.h>

#include "weights/safetensors_writer.h"
#include "weights/torch_test_files.h"

namespace lingbot {
namespace {

void WriteSeed(const std::filesystem::path& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

std::string TorchPickle() {
  PickleWriter pickle(4);
  pickle.Op("}(").Text("model").EmptyOrderedDict().Op("(");
  pickle.Text("module.a").Tensor({"FloatStorage", "0", 12, 0, {2, 3}, {1, 2}});
  pickle.Text("b").Global("torch._utils", "_rebuild_parameter").Op("(");
  pickle.Tensor({"HalfStorage", "0", 4, 1, {3}, {1}}).Op("\x88").EmptyOrderedDict().Op("tR");
  pickle.Text("c").Text("torch._tensor").Text("_rebuild_from_type_v2").Op("\x93(");
  pickle.Global("torch._utils", "_rebuild_tensor_v2").Global("torch", "Tensor").Op("(");
  pickle.TensorArguments({"FloatStorage", "0", 12, 0, {2}, {1}}).Op("t}tR}bu");
  pickle.Text("args").Global("argparse", "Namespace").Op(")\x81}").Text("x").Int(1).Op("sb");
  return pickle.Op("u").Stop();
}

constexpr unsigned kWidth = 17;  // not a whole number of JPEG's blocks
constexpr unsigned kHeight = 9;

std::vector<uint8_t> Picture() {
  std::vector<uint8_t> rgb;
  for (unsigned i = 0; i < kWidth * kHeight * 3; ++i) rgb.push_back(static_cast<uint8_t>(i * 7));
  return rgb;
}

void WritePng(const std::filesystem::path& path) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = kWidth;
  image.height = kHeight;
  image.format = PNG_FORMAT_RGB;
  png_image_write_to_file(&image, path.c_str(), 0, Picture().data(), 0, nullptr);
}

void WriteJpeg(const std::filesystem::path& path, bool progressive) {
  std::vector<uint8_t> rgb = Picture();
  jpeg_compress_struct encoder = {};
  jpeg_error_mgr errors = {};
  encoder.err = jpeg_std_error(&errors);
  jpeg_create_compress(&encoder);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&encoder, &bytes, &size);
  encoder.image_width = kWidth;
  encoder.image_height = kHeight;
  encoder.input_components = 3;
  encoder.in_color_space = JCS_RGB;
  jpeg_set_defaults(&encoder);
  if (progressive) jpeg_simple_progression(&encoder);
  jpeg_start_compress(&encoder, TRUE);
  for (unsigned row = 0; row < kHeight; ++row) {
    JSAMPROW samples = &rgb[size_t{row} * kWidth * 3];
    jpeg_write_scanlines(&encoder, &samples, 1);
  }
  jpeg_finish_compress(&encoder);
  WriteSeed(path, std::string(reinterpret_cast<char*>(bytes), size));
  jpeg_destroy_compress(&encoder);
  std::free(bytes);
}

void WriteAll(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder / "image");
  WritePng(folder / "image/png");
  WriteJpeg(folder / "image/baseline", /*progressive=*/false);
  WriteJpeg(folder / "image/progressive", /*progressive=*/true);
  std::filesystem::create_directories(folder / "safetensors");
  std::filesystem::create_directories(folder / "torch_pt");
  SafetensorsWriter writer(folder / "safetensors/seed",
                           {{"a", {DType::kF32, {2, 3}}}, {"module.b", {DType::kBF16, {}}}},
                           {{"key", "value"}});
  writer.WriteValues<float>("a", std::vector<float>{1, 2, 3, 4, 5, 6});
  writer.WriteValues<uint16_t>("module.b", std::vector<uint16_t>{0x3F80});
  writer.Finish();
  const ZipWriter zip = TorchZip(TorchPickle(), {std::string(64, '\x3F')});
  WriteSeed(folder / "torch_pt/zip", zip.Write());
  WriteSeed(folder / "torch_pt/zip64", zip.Write(/*zip64=*/true));
  WriteSeed(folder / "torch_pt/pickle", TorchPickle());
}

}  // namespace
}  // namespace lingbot

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_seeds FOLDER\n";
    return 2;
  }
  lingbot::WriteAll(argv[1]);
  return 0;
}
