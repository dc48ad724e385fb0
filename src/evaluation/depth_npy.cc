#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <regex>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/check.h"
#include "base/file_mapping.h"
#include "evaluation/depth_map.h"

namespace lingbot {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kLargestHeader = 4096;
constexpr int kLargestSide = 1 << 15;

struct Header {
  std::string dtype;  // as NumPy writes it, such as "<f4"
  int height = 0;
  int width = 0;
  size_t data = 0;  // where it begins
};

// Length of the dictionary and where it begins; versions differ in the width of the length.
std::string_view Dictionary(std::string_view bytes, const std::string& file, size_t* data) {
  Check(bytes.substr(0, kMagic.size()) == kMagic && bytes.size() >= 12,
        ErrorCode::kUnsupportedFormat, "{} is no NumPy file", file);
  const auto byte = [&](size_t at) { return static_cast<size_t>(static_cast<uint8_t>(bytes[at])); };
  const size_t start = byte(6) == 1 ? 10 : 12;
  size_t length = byte(8) | byte(9) << 8;
  if (start == 12) length |= byte(10) << 16 | byte(11) << 24;
  Check(byte(6) >= 1 && byte(6) <= 3 && length <= kLargestHeader && start + length <= bytes.size(),
        ErrorCode::kCorruptFile, "{} has a damaged NumPy header", file);
  *data = start + length;
  return bytes.substr(start, length);
}

std::optional<std::string> Entry(const std::string& dictionary, const std::string& pattern) {
  std::smatch match;
  if (!std::regex_search(dictionary, match, std::regex(pattern))) return std::nullopt;
  return match[1].str();
}

Header ReadHeader(std::string_view bytes, const std::string& file) {
  Header header;
  const std::string text(Dictionary(bytes, file, &header.data));
  const auto dtype = Entry(text, R"('descr'\s*:\s*'([^']*)')");
  const auto order = Entry(text, R"('fortran_order'\s*:\s*(True|False))");
  std::smatch shape;
  const bool two_axes = std::regex_search(
      text, shape, std::regex(R"('shape'\s*:\s*\(\s*(\d{1,6})\s*,\s*(\d{1,6})\s*,?\s*\))"));
  Check(dtype && order == "False" && two_axes, ErrorCode::kUnsupportedFormat,
        "{} is no two-dimensional array in C order", file);
  header.dtype = *dtype;
  header.height = std::stoi(shape[1]);
  header.width = std::stoi(shape[2]);
  Check(header.height > 0 && header.width > 0 && header.height <= kLargestSide &&
            header.width <= kLargestSide,
        ErrorCode::kUnsupportedFormat, "{} holds {} rows of {} values; 1 to {} are supported", file,
        header.height, header.width, kLargestSide);
  return header;
}

// Floating-point arrays hold depth itself.
template <typename T>
std::vector<float> Convert(const char* data, size_t count, double scale) {
  if (!std::is_integral_v<T>) scale = 1.0;
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, data + i * sizeof(T), sizeof(T));
    values[i] = static_cast<float>(static_cast<double>(value) * scale);
  }
  return values;
}

using Converter = std::vector<float> (*)(const char* data, size_t count, double scale);
struct Format {
  std::string_view dtype;
  size_t size;
  Converter convert;
};
constexpr std::array<Format, 4> kFormats = {{{"<f4", 4, Convert<float>},
                                             {"<f8", 8, Convert<double>},
                                             {"<f2", 2, Convert<Eigen::half>},
                                             {"<u2", 2, Convert<uint16_t>}}};

}  // namespace

DepthMap ReadDepthNpy(const std::filesystem::path& path, double scale) {
  const FileMapping mapping(path);
  const std::string file = path.string();
  const std::string_view bytes(reinterpret_cast<const char*>(mapping.bytes().data()),
                               mapping.bytes().size());
  const Header header = ReadHeader(bytes, file);
  const size_t count = static_cast<size_t>(header.height) * static_cast<size_t>(header.width);
  for (const Format& format : kFormats) {
    if (format.dtype != header.dtype) continue;
    Check(bytes.size() - header.data == count * format.size, ErrorCode::kCorruptFile,
          "{} should hold {} bytes of data for {}x{} values, but holds {}", file,
          count * format.size, header.height, header.width, bytes.size() - header.data);
    return {header.height, header.width, format.convert(bytes.data() + header.data, count, scale)};
  }
  Fail(ErrorCode::kUnsupportedFormat,
       "{} holds values of type {}; float16, float32, float64 and uint16 are read", file,
       header.dtype);
}

DepthMap ReadDepthMap(const std::filesystem::path& path, double scale) {
  const std::string extension = path.extension().string();
  if (extension == ".npy") return ReadDepthNpy(path, scale);
  if (extension == ".png") return ReadDepthPng(path, scale);
  Fail(ErrorCode::kUnsupportedFormat, "{} is neither a PNG nor an NPY file", path.string());
}

}  // namespace lingbot
