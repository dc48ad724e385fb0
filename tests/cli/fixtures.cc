#include "fixtures.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>

#include "weights/hashed_weights.h"
#include "weights/model_tensors.h"
#include "weights/safetensors_writer.h"

namespace lingbot::cli {
namespace {

namespace fs = std::filesystem;

fs::path MakeFolder() {
  std::string pattern = (fs::temp_directory_path() / "lingbot-cli-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp " + pattern);
  return pattern;
}

// Holds the model from the first test to the end of the process.
struct SharedModel {
  SharedModel() : folder(MakeFolder()) { WriteModel(folder / "tiny.safetensors"); }
  ~SharedModel() {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  fs::path folder;
};

const SharedModel& TheModel() {
  static const SharedModel model;
  return model;
}

std::map<std::string, Shape> TinyShapes() {
  ModelTensorSizes sizes;
  sizes.img_size = 84;
  sizes.embed_dim = 128;
  sizes.num_heads = 2;
  sizes.depth = 4;
  sizes.vit_depth = 1;
  sizes.camera_depth = 1;
  sizes.dpt_features = 32;
  sizes.dpt_channels = {32, 48, 64, 64};
  return ModelTensorShapes(sizes);
}

std::string ToString(const testing_images::FileBytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A scene that moves with `salt`.
std::vector<uint8_t> Scene(int width, int height, int salt) {
  const std::vector<uint8_t> wide = testing_images::MakeScene(width + 64, height);
  std::vector<uint8_t> rgb;
  for (int y = 0; y < height; ++y) {
    const auto row = wide.begin() + 3 * (y * (width + 64) + salt % 64);
    rgb.insert(rgb.end(), row, row + 3 * width);
  }
  rgb[0] = static_cast<uint8_t>(salt);
  return rgb;
}

}  // namespace

void WriteModel(const fs::path& path, const ModelChange& change) {
  std::map<std::string, Shape> shapes = TinyShapes();
  shapes.erase(change.drop);
  for (const auto& [name, shape] : change.shapes) shapes.insert_or_assign(name, shape);
  const std::string config = R"({"taps": [0, 1, 2, 3], "camera_heads": 2})";
  WriteWeights({shapes, /*seed=*/7, /*fc2_bias_offset=*/1.0f, {{"config", config}}}, path,
               change.damage);
}

void WriteWeights(const HashedWeights& weights, const fs::path& path, const std::string& damage) {
  std::vector<SafetensorsWriter::Entry> entries;
  for (const auto& [name, info] : weights.tensors()) entries.push_back({name, info});
  SafetensorsWriter writer(path, entries, weights.metadata());
  for (const auto& [name, info] : weights.tensors()) {
    std::vector<float> values(static_cast<size_t>(info.shape.elements()));
    weights.ReadFloats(name, values.data());
    if (name == damage) {
      std::fill(values.begin(), values.end(), std::numeric_limits<float>::quiet_NaN());
    }
    writer.WriteValues<float>(name, values);
  }
  writer.Finish();
}

void WriteBytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string ReadText(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> ReadLines(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

nlohmann::json ReadJson(const fs::path& path) {
  return nlohmann::json::parse(ReadText(path), nullptr, /*allow_exceptions=*/false);
}

std::string Png(int width, int height, int salt) {
  return ToString(testing_images::MakeRgbPng(width, height, Scene(width, height, salt)));
}

std::string Jpeg(int width, int height, int salt) {
  testing_images::JpegSpec spec;
  spec.width = width;
  spec.height = height;
  spec.samples = Scene(width, height, salt);
  return ToString(testing_images::MakeJpeg(spec));
}

void WriteFrames(const fs::path& folder, int count) {
  fs::create_directories(folder);
  for (int i = 0; i < count; ++i) {
    WriteBytes(folder / ("frame_" + std::to_string(i) + ".png"), Png(84, 56, i));
  }
}

int CountPoses(const fs::path& path) {
  int poses = 0;
  for (const std::string& line : ReadLines(path)) {
    if (line[0] == '#') continue;
    std::istringstream numbers(line);
    const auto count = std::distance(std::istream_iterator<double>(numbers), {});
    EXPECT_EQ(count, 8) << line;
    ++poses;
  }
  return poses;
}

int64_t CountVertices(const fs::path& path) {
  constexpr size_t kVertexBytes = 15;  // three floats, three bytes
  const std::string text = ReadText(path);
  const std::string key = "element vertex ";
  const size_t element = text.find(key);
  const size_t end = text.find("end_header\n");
  if (element == std::string::npos || end == std::string::npos) return -1;
  const int64_t count = std::stoll(text.substr(element + key.size()));
  const size_t body = end + std::strlen("end_header\n");
  if (text.size() != body + kVertexBytes * static_cast<size_t>(count)) return -1;
  for (int64_t i = 0; i < count; ++i) {
    float position[3];
    std::memcpy(position, &text[body + kVertexBytes * static_cast<size_t>(i)], sizeof(position));
    for (const float value : position) {
      if (!std::isfinite(value)) return -1;
    }
  }
  return count;
}

std::vector<float> ReadNpy(const fs::path& path) {
  const std::string text = ReadText(path);
  const size_t header = text.find('\n') + 1;
  std::vector<float> values((text.size() - header) / sizeof(float));
  std::memcpy(values.data(), &text[header], values.size() * sizeof(float));
  return values;
}

void CliTest::SetUpTestSuite() { TheModel(); }
void CliTest::SetUp() { folder_ = MakeFolder(); }
void CliTest::TearDown() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string CliTest::model() { return (TheModel().folder / "tiny.safetensors").string(); }

std::vector<std::string> CliTest::Arguments(const std::vector<std::string>& more) const {
  std::vector<std::string> arguments = {
      "run",  Path("in").string(), "--model", model(), "--out", Path("out").string(), "--precision",
      "fp32", "--threads",         "2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Finished CliTest::Run(const std::vector<std::string>& more, const Limits& limits) const {
  return RunProgram(Arguments(more), limits);
}

void CliTest::ExpectFrames(int count, const std::string& status) const {
  const fs::path out = Path("out");
  const nlohmann::json manifest = ReadJson(out / "manifest.json");
  ASSERT_TRUE(manifest.is_object());
  EXPECT_EQ(manifest["status"], status);
  EXPECT_EQ(manifest["frames"], count);
  EXPECT_EQ(CountPoses(out / "trajectory_tum.txt"), count);
  const std::vector<std::string> lines = ReadLines(out / "frames.jsonl");
  ASSERT_EQ(lines.size(), static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    const auto record = nlohmann::json::parse(lines[i], nullptr, false);
    ASSERT_TRUE(record.is_object()) << lines[i];
    EXPECT_EQ(record["index"], i);
    for (const auto& file : record["files"]) {
      EXPECT_GT(fs::file_size(out / file.get<std::string>()), 0u) << file;
    }
  }
  if (count == 0) return;
  ASSERT_TRUE(manifest["cloud"].contains("file")) << manifest;
  EXPECT_GT(manifest["cloud"]["points"], 0);
  EXPECT_EQ(CountVertices(out / "points.ply"), manifest["cloud"]["points"]);
}

void CliTest::ExpectError(const Finished& finished, int exit_code,
                          const std::vector<std::string>& parts) {
  EXPECT_EQ(finished.exit_code, exit_code) << finished.err;
  const std::vector<std::string> lines = finished.error_lines();
  ASSERT_EQ(lines.size(), 1u) << finished.err;
  for (const std::string& part : parts) EXPECT_THAT(lines[0], testing::HasSubstr(part));
  EXPECT_THAT(finished.err, testing::Not(testing::HasSubstr("terminate called")));
  EXPECT_TRUE(finished.err.size() > lines[0].size() &&
              finished.err.compare(finished.err.size() - lines[0].size() - 1, lines[0].size(),
                                   lines[0]) == 0)
      << "the error is not the last line:\n"
      << finished.err;
}

}  // namespace lingbot::cli
