#include "preprocess/resize_size.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace lingbot {
namespace {

// Nearest integer, ties to even, whatever rounding mode the caller's thread is in.
double RoundHalfEven(double value) {
  const double below = std::floor(value);
  const double rest = value - below;  // exact
  if (rest < 0.5) return below;
  if (rest > 0.5) return below + 1;
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

// round(side * (target / reference) / patch) * patch. The order of the operations is part of the
// result: it decides which way a tie falls.
int64_t ScaledSide(int side, int target, int reference, int patch) {
  const double ratio = static_cast<double>(target) / reference;
  return static_cast<int64_t>(RoundHalfEven(side * ratio / patch)) * patch;
}

}  // namespace

void ValidateOptions(const PreprocessOptions& options) {
  Check(options.patch_size >= 1 && options.patch_size <= kMaxImageSize, ErrorCode::kInvalidArgument,
        "the patch size must be between 1 and {} pixels, got {}", kMaxImageSize,
        options.patch_size);
  Check(options.image_size >= 1 && options.image_size <= kMaxImageSize &&
            options.image_size % options.patch_size == 0,
        ErrorCode::kInvalidArgument,
        "the image size must be a positive multiple of the patch size {} and at most {}, got {}; "
        "try {}",
        options.patch_size, kMaxImageSize, options.image_size,
        std::clamp(options.image_size / options.patch_size, 1, kMaxImageSize / options.patch_size) *
            options.patch_size);
}

ResizeSize ComputeResizeSize(int width, int height, const PreprocessOptions& options,
                             std::string_view name) {
  ValidateOptions(options);
  Check(width > 0 && height > 0, ErrorCode::kInvalidArgument,
        "{}: {}x{} is not the size of an image", name, width, height);
  const int target = options.image_size;
  ResizeSize size{target, target, target, target};
  if (options.mode == ResizeMode::kPad && width < height) {
    size.resized_width = ScaledSide(width, target, height, options.patch_size);
  } else {
    size.resized_height = ScaledSide(height, target, width, options.patch_size);
  }
  Check(
      size.resized_width > 0 && size.resized_height > 0, ErrorCode::kInvalidArgument,
      "{}: {}x{} is too small: at image size {} its {} is less than half a patch of {} pixels; use "
      "a larger image or image size, or one less elongated",
      name, width, height, target, size.resized_height > 0 ? "width" : "height",
      options.patch_size);
  if (options.mode == ResizeMode::kCrop) {
    size.out_height = static_cast<int>(std::min<int64_t>(size.resized_height, target));
  }
  return size;
}

}  // namespace lingbot
