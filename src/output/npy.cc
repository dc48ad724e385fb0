#include "output/npy.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/file_mapping.h"
#include "output/output_file.h"

namespace lingbot {
namespace {

static_assert(std::endian::native == std::endian::little, "files are written as memory lies");

constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
constexpr size_t kAlignment = 64;
constexpr int kLargestSide = 1 << 20;

// Reads a decimal number at the start of `text` and removes it together with `after`.
bool TakeNumber(std::string_view* text, std::string_view after, int* number) {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *number);
  if (error != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  if (text->substr(0, after.size()) != after) return false;
  text->remove_prefix(after.size());
  return true;
}

void ParseShape(std::string_view dictionary, const std::string& name, int* height, int* width) {
  constexpr std::string_view kBefore = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
  const bool known = dictionary.substr(0, kBefore.size()) == kBefore;
  if (known) dictionary.remove_prefix(kBefore.size());
  Check(known && TakeNumber(&dictionary, ", ", height) && TakeNumber(&dictionary, ")", width) &&
            *height > 0 && *width > 0 && *height <= kLargestSide && *width <= kLargestSide,
        ErrorCode::kUnsupportedFormat,
        "{} is not a two-dimensional little-endian float32 array in C order", name);
}

}  // namespace

std::string NpyHeader(std::string_view type, const std::vector<int64_t>& shape) {
  std::string axes;
  for (const int64_t axis : shape) axes += fmt::format("{}{}", axes.empty() ? "" : ", ", axis);
  if (shape.size() == 1) axes += ',';
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, axes);
  const size_t before = kMagic.size() + 2;
  while ((before + dictionary.size() + 1) % kAlignment != 0) dictionary += ' ';
  dictionary += '\n';
  std::string header(kMagic);
  header += static_cast<char>(dictionary.size() & 0xFF);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

void WriteNpy(const std::filesystem::path& path, std::span<const float> values, int height,
              int width) {
  Check(height > 0 && width > 0 && height <= kLargestSide && width <= kLargestSide &&
            values.size() == static_cast<size_t>(height) * static_cast<size_t>(width),
        ErrorCode::kShapeMismatch, "{} values given for {} of {} rows and {} columns",
        values.size(), path.string(), height, width);
  const std::string header = NpyHeader("<f4", {height, width});
  OutputFile file(path);
  file.Write(header.data(), header.size());
  file.Write(values.data(), values.size_bytes());
  file.Commit();
}

FloatImage ReadNpy(const std::filesystem::path& path) {
  const FileMapping mapping(path);
  const std::string_view bytes(reinterpret_cast<const char*>(mapping.bytes().data()),
                               mapping.bytes().size());
  const std::string name = path.string();
  Check(bytes.substr(0, kMagic.size()) == kMagic && bytes.size() >= kMagic.size() + 2,
        ErrorCode::kUnsupportedFormat, "{} is not a NumPy file of version 1.0", name);
  const size_t length = static_cast<unsigned char>(bytes[kMagic.size()]) +
                        256u * static_cast<unsigned char>(bytes[kMagic.size() + 1]);
  const size_t start = kMagic.size() + 2 + length;
  Check(start <= bytes.size(), ErrorCode::kCorruptFile, "{} ends inside its header", name);
  FloatImage image;
  ParseShape(bytes.substr(kMagic.size() + 2, length), name, &image.height, &image.width);
  const size_t count = static_cast<size_t>(image.height) * static_cast<size_t>(image.width);
  Check(bytes.size() - start == count * sizeof(float), ErrorCode::kCorruptFile,
        "{} should hold {} bytes of data for {}x{} values, but holds {}", name,
        count * sizeof(float), image.height, image.width, bytes.size() - start);
  image.values.resize(count);
  std::memcpy(image.values.data(), bytes.data() + start, count * sizeof(float));
  return image;
}

}  // namespace lingbot
