// Compares with results of Pillow that are kept outside of the source tree.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lingbot/error.h"
#include "preprocess/preprocess.h"

namespace lingbot {
namespace {

using nlohmann::json;

const std::filesystem::path kGolden = LINGBOT_SOURCE_DIR "/../shared/golden";

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A safetensors file, trusted: 8 bytes of header length, a JSON header, then data.
class GoldenFile {
 public:
  explicit GoldenFile(const std::filesystem::path& path) : bytes_(ReadText(path)) {
    uint64_t length = 0;
    std::memcpy(&length, bytes_.data(), sizeof(length));
    header_ = json::parse(bytes_.substr(8, length));
    data_ = 8 + length;
  }
  std::string Metadata(const char* key) const { return header_.at("__metadata__").at(key); }
  std::vector<uint8_t> Bytes(const std::string& name) const {
    const auto offsets = header_.at(name).at("data_offsets").get<std::vector<size_t>>();
    return {bytes_.begin() + static_cast<std::ptrdiff_t>(data_ + offsets[0]),
            bytes_.begin() + static_cast<std::ptrdiff_t>(data_ + offsets[1])};
  }

 private:
  std::string bytes_;
  json header_;
  size_t data_ = 0;
};

PreprocessOptions OptionsOf(const json& item) {
  PreprocessOptions options;
  options.image_size = item.at("image_size");
  options.patch_size = item.value("patch_size", 14);
  options.mode = item.value("mode", "crop") == "pad" ? ResizeMode::kPad : ResizeMode::kCrop;
  return options;
}

TEST(Golden, EveryPixelEqualsPillow) {
  if (!std::filesystem::exists(kGolden)) GTEST_SKIP() << kGolden << " is not here";
  const GoldenFile golden(kGolden / "preprocess.safetensors");
  const json cases = json::parse(golden.Metadata("cases"));
  ASSERT_EQ(cases.size(), 12u);
  const ThreadTeam team(2);
  for (const json& item : cases) {
    const std::string id = std::to_string(item.at("case").get<int>());
    const std::vector<uint8_t> in = golden.Bytes(id + ".in"), expected = golden.Bytes(id + ".out");
    Preprocessor preprocessor(OptionsOf(item), &team);
    const PreprocessedFrame& frame =
        preprocessor.Run(in.data(), item.at("width"), item.at("height"), id);
    ASSERT_EQ(frame.height, item.at("out_height").get<int>()) << id;
    ASSERT_EQ(frame.width, item.at("out_width").get<int>()) << id;
    const size_t plane = static_cast<size_t>(frame.height) * frame.width;
    ASSERT_EQ(expected.size(), 3 * plane);
    const float* pixels = frame.pixels.data<float>();
    size_t wrong = 0;
    for (size_t i = 0; i < plane; ++i) {
      for (size_t c = 0; c < 3; ++c) {
        wrong += pixels[c * plane + i] != static_cast<float>(expected[3 * i + c]) / 255.0f;
      }
    }
    EXPECT_EQ(wrong, 0u) << "case " << id;
  }
}

TEST(Golden, EverySizeEqualsPython) {
  if (!std::filesystem::exists(kGolden)) GTEST_SKIP() << kGolden << " is not here";
  const json rows = json::parse(ReadText(kGolden / "sizes.json"));
  ASSERT_EQ(rows.size(), 63u);
  for (const json& row : rows) {
    SCOPED_TRACE(row.dump());
    const int width = row.at("width"), height = row.at("height");
    if (row.at("error")) {
      EXPECT_THROW(ComputeResizeSize(width, height, OptionsOf(row), "x.png"), Error);
      continue;
    }
    const ResizeSize size = ComputeResizeSize(width, height, OptionsOf(row), "x.png");
    EXPECT_EQ(size.resized_width, row.at("out_width").get<int>());
    EXPECT_EQ(size.resized_height, row.at("resized_height").get<int>());
    EXPECT_EQ(size.out_width, row.at("out_width").get<int>());
    EXPECT_EQ(size.out_height, row.at("out_height").get<int>());
  }
}

}  // namespace
}  // namespace lingbot
