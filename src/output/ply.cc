#include "output/ply.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "base/file_mapping.h"
#include "output/output_file.h"

namespace lingbot {
namespace {

static_assert(std::endian::native == std::endian::little, "files are written as memory lies");

constexpr size_t kVertexBytes = 15;
constexpr size_t kVerticesPerWrite = 16'384;
constexpr std::string_view kProperties =
    "property float x\n"
    "property float y\n"
    "property float z\n"
    "property uchar red\n"
    "property uchar green\n"
    "property uchar blue\n";

bool IsFinite(const ColoredPoint& p) {
  return std::isfinite(p.x) && std::isfinite(p.y) && std::isfinite(p.z);
}

std::string PlyHeader(size_t count, std::span<const std::string> comments) {
  std::string header = "ply\nformat binary_little_endian 1.0\n";
  for (std::string comment : comments) {
    // A line feed would end the comment and start a header line of its own.
    std::replace_if(
        comment.begin(), comment.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    header += "comment " + comment + "\n";
  }
  header += fmt::format("element vertex {}\n", count);
  header += kProperties;
  header += "end_header\n";
  return header;
}

void PackVertex(const ColoredPoint& point, char* bytes) {
  const float position[3] = {point.x, point.y, point.z};
  std::memcpy(bytes, position, sizeof(position));
  const uint8_t color[3] = {point.red, point.green, point.blue};
  std::memcpy(bytes + sizeof(position), color, sizeof(color));
}

ColoredPoint UnpackVertex(const char* bytes) {
  float position[3];
  uint8_t color[3];
  std::memcpy(position, bytes, sizeof(position));
  std::memcpy(color, bytes + sizeof(position), sizeof(color));
  return {position[0], position[1], position[2], color[0], color[1], color[2]};
}

struct ParsedPly {
  uint64_t count;
  std::string_view vertices;
};

// Takes the line at the start of `text`, without its line feed.
std::string_view TakeLine(std::string_view* text, const std::string& name) {
  const size_t end = text->find('\n');
  Check(end != std::string_view::npos, ErrorCode::kCorruptFile, "{} ends inside its PLY header",
        name);
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end + 1);
  return line;
}

uint64_t ParseCount(std::string_view line, const std::string& name) {
  constexpr std::string_view kElement = "element vertex ";
  const bool known = line.substr(0, kElement.size()) == kElement;
  if (known) line.remove_prefix(kElement.size());
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), count);
  Check(known && error == std::errc() && end == line.data() + line.size(),
        ErrorCode::kUnsupportedFormat, "{} does not state a count of vertices after its comments",
        name);
  return count;
}

ParsedPly ParsePly(std::string_view bytes, const std::string& name) {
  Check(bytes.substr(0, 4) == "ply\n", ErrorCode::kUnsupportedFormat, "{} is not a PLY file", name);
  bytes.remove_prefix(4);
  Check(TakeLine(&bytes, name) == "format binary_little_endian 1.0", ErrorCode::kUnsupportedFormat,
        "{} is not a binary little-endian PLY file", name);
  std::string_view line = TakeLine(&bytes, name);
  while (line.substr(0, 8) == "comment ") line = TakeLine(&bytes, name);
  const uint64_t count = ParseCount(line, name);
  const std::string expected = std::string(kProperties) + "end_header\n";
  Check(bytes.substr(0, expected.size()) == expected, ErrorCode::kUnsupportedFormat,
        "{} has other vertex properties than float x y z and uchar red green blue", name);
  bytes.remove_prefix(expected.size());
  Check(bytes.size() % kVertexBytes == 0 && bytes.size() / kVertexBytes == count,
        ErrorCode::kCorruptFile,
        "the header of {} states {} vertices of {} bytes, but {} bytes follow it", name, count,
        kVertexBytes, bytes.size());
  return {count, bytes};
}

std::string_view TextOf(const FileMapping& mapping) {
  return {reinterpret_cast<const char*>(mapping.bytes().data()), mapping.bytes().size()};
}

}  // namespace

void WritePly(const std::filesystem::path& path, std::span<const ColoredPoint> points,
              std::span<const std::string> comments) {
  const auto bad = std::find_if_not(points.begin(), points.end(), IsFinite);
  Check(bad == points.end(), ErrorCode::kInvalidArgument,
        "vertex {} of {} for {} is not finite; remove such points first", bad - points.begin(),
        points.size(), path.string());
  const std::string header = PlyHeader(points.size(), comments);
  OutputFile file(path);
  file.Write(header.data(), header.size());
  std::vector<char> buffer(std::min(points.size(), kVerticesPerWrite) * kVertexBytes);
  for (size_t begin = 0; begin < points.size(); begin += kVerticesPerWrite) {
    const size_t count = std::min(kVerticesPerWrite, points.size() - begin);
    for (size_t i = 0; i < count; ++i) PackVertex(points[begin + i], &buffer[i * kVertexBytes]);
    file.Write(buffer.data(), count * kVertexBytes);
  }
  file.Commit();
  const uint64_t found = CheckPly(path);
  Check(found == points.size(), ErrorCode::kFileUnwritable,
        "{} was written with {} points but holds {} when opened again", path.string(),
        points.size(), found);
}

uint64_t CheckPly(const std::filesystem::path& path) {
  const FileMapping mapping(path);
  return ParsePly(TextOf(mapping), path.string()).count;
}

std::vector<ColoredPoint> ReadPly(const std::filesystem::path& path) {
  const FileMapping mapping(path);
  const ParsedPly parsed = ParsePly(TextOf(mapping), path.string());
  std::vector<ColoredPoint> points;
  points.reserve(parsed.count);
  for (uint64_t i = 0; i < parsed.count; ++i) {
    points.push_back(UnpackVertex(parsed.vertices.data() + i * kVertexBytes));
  }
  return points;
}

}  // namespace lingbot
