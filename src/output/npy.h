#ifndef LINGBOT_OUTPUT_NPY_H_
#define LINGBOT_OUTPUT_NPY_H_

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lingbot {

// A float32 map, row-major.
struct FloatImage {
  int height = 0;
  int width = 0;
  std::vector<float> values;  // [height, width]
};

// The header of NumPy's format 1.0 for an array in C order, padded to 64 bytes: the data follow.
// `type` as NumPy writes it, such as "<f4"; no axes = a single value.
std::string NpyHeader(std::string_view type, const std::vector<int64_t>& shape);

// NumPy's format 1.0: '<f4', C order, shape (height, width), data aligned to 64 bytes. Appears
// complete or not at all. Throws kFileUnwritable, kShapeMismatch.
void WriteNpy(const std::filesystem::path& path, std::span<const float> values, int height,
              int width);

// Reads what WriteNpy writes. Throws kFileNotFound, kFileUnreadable, kUnsupportedFormat,
// kCorruptFile.
FloatImage ReadNpy(const std::filesystem::path& path);

}  // namespace lingbot

#endif  // LINGBOT_OUTPUT_NPY_H_
