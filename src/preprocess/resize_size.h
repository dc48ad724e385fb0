#ifndef LINGBOT_PREPROCESS_RESIZE_SIZE_H_
#define LINGBOT_PREPROCESS_RESIZE_SIZE_H_

#include <cstdint>
#include <string_view>

namespace lingbot {

enum class ResizeMode {
  kCrop,  // width = image_size; rows beyond image_size are cut off, half at the top, half at the
          // bottom
  kPad,   // longer side = image_size; white is added around the other, so that the result is a
          // square
};

struct PreprocessOptions {
  int image_size = 518;  // pixels; a positive multiple of patch_size, at most kMaxImageSize
  int patch_size = 14;   // pixels
  ResizeMode mode = ResizeMode::kCrop;
};

inline constexpr int kMaxImageSize = 16384;

// What becomes of the size of one image.
struct ResizeSize {
  int64_t resized_width, resized_height;  // after resizing, before cropping or padding
  int out_width, out_height;              // what the model sees

  friend bool operator==(const ResizeSize&, const ResizeSize&) = default;
};

// Throws kInvalidArgument if the options contradict each other.
void ValidateOptions(const PreprocessOptions& options);

// Throws kInvalidArgument, naming the image, if a side rounds to nothing ("too small"), or if the
// options are invalid. The side that follows the aspect ratio is rounded to a multiple of the
// patch, ties to even: 518x287 gives 280 rows.
ResizeSize ComputeResizeSize(int width, int height, const PreprocessOptions& options,
                             std::string_view name);

}  // namespace lingbot

#endif  // LINGBOT_PREPROCESS_RESIZE_SIZE_H_
