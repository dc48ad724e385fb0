#include "preprocess/preprocess.h"

#include <gtest/gtest.h>

#include <vector>

#include "lingbot/error.h"

namespace lingbot {
namespace {

PreprocessOptions Options(int image_size, ResizeMode mode) {
  PreprocessOptions options;
  options.image_size = image_size;
  options.mode = mode;
  return options;
}

std::vector<uint8_t> Flat(int width, int height, uint8_t red, uint8_t green, uint8_t blue) {
  std::vector<uint8_t> image;
  for (int i = 0; i < width * height; ++i) image.insert(image.end(), {red, green, blue});
  return image;
}

float At(const PreprocessedFrame& frame, int c, int y, int x) {
  return frame.pixels.data<float>()[(c * frame.height + y) * frame.width + x];
}

class PreprocessTest : public testing::Test {
 protected:
  ThreadTeam team_{2};
};

TEST_F(PreprocessTest, PlanesAreRedGreenBlueInUnits) {
  Preprocessor preprocessor(Options(56, ResizeMode::kCrop), &team_);
  const PreprocessedFrame& frame = preprocessor.Run(Flat(64, 48, 255, 51, 0).data(), 64, 48, "a");
  EXPECT_EQ(frame.pixels.shape(), (Shape{3, 42, 56}));
  for (int y : {0, 41}) {
    EXPECT_EQ(At(frame, 0, y, 55), 1.0f);
    EXPECT_EQ(At(frame, 1, y, 55), 51 / 255.0f);
    EXPECT_EQ(At(frame, 2, y, 55), 0.0f);
  }
  EXPECT_EQ(frame.lost_rows, 0.0);
}

TEST_F(PreprocessTest, PadIsWhiteAndCentred) {
  Preprocessor preprocessor(Options(84, ResizeMode::kPad), &team_);
  const PreprocessedFrame& frame = preprocessor.Run(Flat(90, 160, 0, 0, 0).data(), 90, 160, "a");
  ASSERT_EQ(frame.width, 84);  // content: 42 columns, 21 of white on either side
  for (int x = 0; x < 84; ++x) EXPECT_EQ(At(frame, 1, 40, x), x < 21 || x >= 63 ? 1.0f : 0.0f) << x;
  EXPECT_EQ(frame.mapping.offset_x, 21);
  EXPECT_EQ(frame.mapping.offset_y, 0);
  EXPECT_EQ(frame.lost_rows, 0.0);
}

TEST_F(PreprocessTest, PaddingIsWhiteAgainAfterAnotherSize) {
  Preprocessor preprocessor(Options(56, ResizeMode::kPad), &team_);
  preprocessor.Run(Flat(56, 56, 0, 0, 0).data(), 56, 56, "square");
  const PreprocessedFrame& frame = preprocessor.Run(Flat(56, 28, 9, 9, 9).data(), 56, 28, "wide");
  EXPECT_EQ(At(frame, 0, 0, 0), 1.0f);
  EXPECT_EQ(At(frame, 0, 14, 0), 9 / 255.0f);
  EXPECT_EQ(At(frame, 0, 42, 0), 1.0f);
}

TEST_F(PreprocessTest, PortraitLosesRowsAndSaysHowMany) {
  Preprocessor preprocessor(Options(518, ResizeMode::kCrop), &team_);
  const PreprocessedFrame& frame = preprocessor.Run(Flat(540, 960, 1, 2, 3).data(), 540, 960, "a");
  EXPECT_EQ(frame.height, 518);
  EXPECT_NEAR(frame.lost_rows, 0.4394, 1e-4);  // 518 of 924 rows stay
  EXPECT_DOUBLE_EQ(frame.mapping.offset_y, -203);
}

TEST_F(PreprocessTest, CropTakesTheMiddle) {
  std::vector<uint8_t> image = Flat(56, 168, 0, 0, 0);  // rows 56..111 stay
  for (size_t i = 0; i < size_t{3} * 56 * 168; ++i) image[i] = static_cast<uint8_t>(i / (3 * 56));
  Preprocessor preprocessor(Options(56, ResizeMode::kCrop), &team_);
  const PreprocessedFrame& frame = preprocessor.Run(image.data(), 56, 168, "a");
  EXPECT_EQ(At(frame, 0, 0, 0), 56 / 255.0f);
  EXPECT_EQ(At(frame, 2, 55, 55), 111 / 255.0f);
}

// A bright dot must be where the mapping says, in both modes.
TEST_F(PreprocessTest, MappingFollowsADot) {
  for (ResizeMode mode : {ResizeMode::kCrop, ResizeMode::kPad}) {
    std::vector<uint8_t> image = Flat(200, 300, 0, 0, 0);
    for (int y = 160; y < 164; ++y) {
      for (int x = 60; x < 64; ++x) image[3 * (y * 200 + x)] = 255;
    }
    Preprocessor preprocessor(Options(84, mode), &team_);
    const PreprocessedFrame& frame = preprocessor.Run(image.data(), 200, 300, "a");
    const float white = mode == ResizeMode::kPad ? 1.0f : 2.0f;
    double weight = 0, mean_x = 0, mean_y = 0;
    for (int y = 0; y < frame.height; ++y) {
      for (int x = 0; x < frame.width; ++x) {
        if (At(frame, 1, y, x) == white) continue;
        weight += At(frame, 0, y, x);
        mean_x += At(frame, 0, y, x) * (x + 0.5);
        mean_y += At(frame, 0, y, x) * (y + 0.5);
      }
    }
    const PixelMapping& m = frame.mapping;
    EXPECT_NEAR(mean_x / weight, m.scale_x * 62 + m.offset_x, 0.05);
    EXPECT_NEAR(mean_y / weight, m.scale_y * 162 + m.offset_y, 0.05);
  }
}

TEST_F(PreprocessTest, EqualFramesReuseTheResult) {
  Preprocessor preprocessor(Options(56, ResizeMode::kCrop), &team_);
  const float* first =
      preprocessor.Run(Flat(64, 48, 7, 7, 7).data(), 64, 48, "a").pixels.data<float>();
  const PreprocessedFrame& second = preprocessor.Run(Flat(64, 48, 8, 8, 8).data(), 64, 48, "b");
  EXPECT_EQ(second.pixels.data<float>(), first);
  EXPECT_EQ(At(second, 0, 0, 0), 8 / 255.0f);
}

TEST_F(PreprocessTest, TooSmallFrameLeavesTheRestUsable) {
  Preprocessor preprocessor(Options(56, ResizeMode::kCrop), &team_);
  preprocessor.Run(Flat(64, 48, 7, 7, 7).data(), 64, 48, "a");
  EXPECT_THROW(preprocessor.Run(Flat(100, 1, 0, 0, 0).data(), 100, 1, "thin"), Error);
  EXPECT_EQ(At(preprocessor.Run(Flat(64, 48, 9, 9, 9).data(), 64, 48, "c"), 0, 0, 0), 9 / 255.0f);
}

}  // namespace
}  // namespace lingbot
