#include "preprocess/resize_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <string>

#include "lingbot/error.h"

namespace lingbot {
namespace {

using testing::HasSubstr;

PreprocessOptions SizeOptions(int image_size, ResizeMode mode = ResizeMode::kCrop) {
  PreprocessOptions options;
  options.image_size = image_size;
  options.mode = mode;
  return options;
}

std::string MessageFor(int width, int height, const PreprocessOptions& options) {
  try {
    ComputeResizeSize(width, height, options, "frame_7.png");
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
    return e.what();
  }
  ADD_FAILURE() << "accepted";
  return "";
}

TEST(ResizeSize, TiesGoToTheEvenNumberOfPatches) {
  EXPECT_EQ(ComputeResizeSize(518, 287, SizeOptions(518), "").out_height, 280);   // 20.5 patches
  EXPECT_EQ(ComputeResizeSize(1036, 574, SizeOptions(518), "").out_height, 280);  // 20.5
  EXPECT_EQ(ComputeResizeSize(518, 301, SizeOptions(518), "").out_height, 308);   // 21.5
  EXPECT_EQ(ComputeResizeSize(1920, 1080, SizeOptions(518), "").out_height, 294);
  EXPECT_EQ(ComputeResizeSize(287, 518, SizeOptions(518, ResizeMode::kPad), "").resized_width, 280);
}

// The exact quotient is 17.5 patches each time; in double arithmetic, in this order, 700 * (518 /
// 1480) / 14 falls just below the tie, 875 * (518 / 1850) / 14 on it, to the even 18.
TEST(ResizeSize, FollowsTheOrderOfOperations) {
  EXPECT_EQ(ComputeResizeSize(1480, 700, SizeOptions(518), "").resized_height, 238);
  EXPECT_EQ(ComputeResizeSize(1850, 875, SizeOptions(518), "").resized_height, 252);
  EXPECT_EQ(ComputeResizeSize(2960, 1400, SizeOptions(518), "").resized_height, 238);
}

TEST(ResizeSize, CropKeepsTheResizedHeight) {
  const ResizeSize size = ComputeResizeSize(1080, 1920, SizeOptions(518), "");
  EXPECT_EQ(size, (ResizeSize{518, 924, 518, 518}));
}

TEST(ResizeSize, PadGivesASquare) {
  EXPECT_EQ(ComputeResizeSize(1080, 1920, SizeOptions(518, ResizeMode::kPad), ""),
            (ResizeSize{294, 518, 518, 518}));
  EXPECT_EQ(ComputeResizeSize(1920, 1080, SizeOptions(518, ResizeMode::kPad), ""),
            (ResizeSize{518, 294, 518, 518}));
}

TEST(ResizeSize, TooSmallNamesTheImage) {
  for (const auto& [width, height] : {std::pair{1000, 10}, {518, 7}, {1 << 30, 1}}) {
    const std::string message = MessageFor(width, height, SizeOptions(518));
    EXPECT_THAT(message, HasSubstr("frame_7.png"));
    EXPECT_THAT(message, HasSubstr("too small"));
  }
  EXPECT_THAT(MessageFor(1, 100, SizeOptions(56, ResizeMode::kPad)), HasSubstr("its width"));
  EXPECT_EQ(ComputeResizeSize(1, 1, SizeOptions(56), "").out_height, 56);
}

TEST(ResizeSize, RejectsImpossibleOptions) {
  for (int size : {0, -14, 13, 519, kMaxImageSize + 14, std::numeric_limits<int>::min()}) {
    EXPECT_THROW(ValidateOptions(SizeOptions(size)), Error) << size;
  }
  PreprocessOptions options;
  options.patch_size = 0;
  EXPECT_THROW(ValidateOptions(options), Error);
  EXPECT_THAT(MessageFor(100, 100, SizeOptions(520)), HasSubstr("try 518"));
  EXPECT_THROW(ComputeResizeSize(0, 5, SizeOptions(518), "x"), Error);
  EXPECT_THROW(ComputeResizeSize(5, -1, SizeOptions(518), "x"), Error);
}

TEST(ResizeSize, IsAlwaysWholePatchesWithinTheSquare) {
  EXPECT_TRUE(rc::check([] {
    const int max = std::numeric_limits<int>::max();
    const int width = *rc::gen::oneOf(rc::gen::inRange(1, 5000), rc::gen::inRange(1, max));
    const int height = *rc::gen::oneOf(rc::gen::inRange(1, 5000), rc::gen::inRange(1, max));
    const auto mode = *rc::gen::element(ResizeMode::kCrop, ResizeMode::kPad);
    const int image_size = 14 * *rc::gen::inRange(1, kMaxImageSize / 14);
    try {
      const ResizeSize size = ComputeResizeSize(width, height, SizeOptions(image_size, mode), "x");
      RC_ASSERT(size.out_width == image_size);
      RC_ASSERT(size.out_height > 0 && size.out_height <= image_size && size.out_height % 14 == 0);
      RC_ASSERT(size.resized_width % 14 == 0 && size.resized_height % 14 == 0);
      RC_ASSERT(size.resized_width > 0 && size.resized_height >= 14);
    } catch (const Error&) {
      // Only a side of less than half a patch is refused.
      const double longer = mode == ResizeMode::kPad ? std::max(width, height) : width;
      RC_ASSERT(std::min(width, height) * (image_size / longer) < 7.001);
    }
  }));
}

}  // namespace
}  // namespace lingbot
