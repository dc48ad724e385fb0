#ifndef LINGBOT_OUTPUT_PLY_H_
#define LINGBOT_OUTPUT_PLY_H_

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "geometry/point_cloud.h"

namespace lingbot {

// Binary little-endian PLY: float x y z, uchar red green blue, 15 bytes per vertex. `comments`
// become comment lines of the header (one line each). Appears complete or not at all; is opened
// again and checked before the function returns. Throws kInvalidArgument if a vertex is not finite
// (nothing is written then), kFileUnwritable.
void WritePly(const std::filesystem::path& path, std::span<const ColoredPoint> points,
              std::span<const std::string> comments);

// Reads the header and compares the file's size with the count it states. Returns the count. Throws
// kFileNotFound, kFileUnreadable, kUnsupportedFormat (other elements or properties), kCorruptFile.
uint64_t CheckPly(const std::filesystem::path& path);

// Reads a file as WritePly writes it. Throws as CheckPly.
std::vector<ColoredPoint> ReadPly(const std::filesystem::path& path);

}  // namespace lingbot

#endif  // LINGBOT_OUTPUT_PLY_H_
