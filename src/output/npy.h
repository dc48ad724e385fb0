#ifndef LINGBOT_OUTPUT_NPY_H_
#define LINGBOT_OUTPUT_NPY_H_

#include <filesystem>
#include <span>
#include <vector>

namespace lingbot {

// A float32 map, row-major.
struct FloatImage {
  int height = 0;
  int width = 0;
  std::vector<float> values;  // [height, width]
};

// NumPy's format 1.0: '<f4', C order, shape (height, width), data aligned to 64 bytes. Appears
// complete or not at all. Throws kFileUnwritable, kShapeMismatch.
void WriteNpy(const std::filesystem::path& path, std::span<const float> values, int height,
              int width);

// Reads what WriteNpy writes. Throws kFileNotFound, kFileUnreadable, kUnsupportedFormat,
// kCorruptFile.
FloatImage ReadNpy(const std::filesystem::path& path);

}  // namespace lingbot

#endif  // LINGBOT_OUTPUT_NPY_H_
