// Renders a camera that walks through a textured
// room, one PNG a frame, so that the program can be shown and tested where no photographs are at
// hand. The same on every machine.
#include <png.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Vector = std::array<double, 3>;  // x right, y down, z forward, in metres

struct Frames {
  std::filesystem::path folder;
  int count = 24;
  int width = 168;
  int height = 126;
};

struct Camera {
  Vector center;
  double yaw;  // radians about the vertical axis; 0 looks along +z, positive turns right
};

// The room is the box between these corners; the camera stays inside.
constexpr Vector kRoomMin = {-3.0, -1.5, -2.0};
constexpr Vector kRoomMax = {3.0, 1.2, 6.0};
constexpr double kHorizontalView = 1.2;  // field of view in radians

// A well-mixed value in [0, 1) of a lattice point.
double HashToUnit(int x, int y, int face) {
  uint64_t z = static_cast<uint32_t>(x) * 0x9E3779B97F4A7C15ull ^
               static_cast<uint32_t>(y) * 0xC2B2AE3D27D4EB4Full ^
               static_cast<uint32_t>(face) * 0x165667B19E3779F9ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
}

double SmoothNoise(double x, double y, int face) {
  const int x0 = static_cast<int>(std::floor(x));
  const int y0 = static_cast<int>(std::floor(y));
  const double u = x - x0;
  const double v = y - y0;
  const double top = std::lerp(HashToUnit(x0, y0, face), HashToUnit(x0 + 1, y0, face), u);
  const double bottom =
      std::lerp(HashToUnit(x0, y0 + 1, face), HashToUnit(x0 + 1, y0 + 1, face), u);
  return std::lerp(top, bottom, v);
}

// Colour of a point of a wall: tiles of random brightness with dark joints, and two octaves of
// noise, so that there is something to recognise at every distance. `face` is 0..5.
std::array<double, 3> WallColor(double a, double b, int face) {
  constexpr double kTile = 0.6;  // metres
  constexpr std::array<std::array<double, 3>, 6> kTints = {{{0.85, 0.55, 0.45},
                                                            {0.50, 0.70, 0.85},
                                                            {0.90, 0.88, 0.80},
                                                            {0.55, 0.48, 0.40},
                                                            {0.70, 0.80, 0.55},
                                                            {0.80, 0.70, 0.90}}};
  const int tile_a = static_cast<int>(std::floor(a / kTile));
  const int tile_b = static_cast<int>(std::floor(b / kTile));
  const double edge = std::min({a / kTile - tile_a, b / kTile - tile_b});
  double brightness = 0.45 + 0.4 * HashToUnit(tile_a, tile_b, face);
  brightness += 0.2 * (SmoothNoise(4 * a, 4 * b, face + 6) - 0.5);
  brightness += 0.15 * (SmoothNoise(16 * a, 16 * b, face + 12) - 0.5);
  if (edge < 0.06) brightness *= 0.4;
  std::array<double, 3> color = kTints[static_cast<size_t>(face)];
  for (double& channel : color) channel = std::clamp(channel * brightness, 0.0, 1.0);
  return color;
}

// Colour seen from inside the room along a ray: the nearest wall in front decides.
std::array<double, 3> Trace(const Vector& origin, const Vector& direction) {
  double nearest = std::numeric_limits<double>::infinity();
  size_t axis = 0;
  for (size_t i = 0; i < 3; ++i) {
    if (direction[i] == 0) continue;
    const double wall = direction[i] > 0 ? kRoomMax[i] : kRoomMin[i];
    const double distance = (wall - origin[i]) / direction[i];
    if (distance < nearest) {
      nearest = distance;
      axis = i;
    }
  }
  const size_t a = axis == 0 ? 2 : 0;
  const size_t b = axis == 1 ? 2 : 1;
  const int face = static_cast<int>(2 * axis) + (direction[axis] > 0 ? 1 : 0);
  return WallColor(origin[a] + nearest * direction[a], origin[b] + nearest * direction[b], face);
}

// Forward through the room along a slight arc, looking a little to both sides.
Camera CameraAt(int frame, int count) {
  const double t = count > 1 ? static_cast<double>(frame) / (count - 1) : 0.0;
  return {{0.6 * std::sin(3.0 * t), 0.1 * std::sin(5.0 * t), 2.0 * t}, 0.35 * std::sin(4.0 * t)};
}

// Row-major RGB, [height, width, 3].
std::vector<uint8_t> Render(const Camera& camera, int width, int height) {
  const double focal = width / 2.0 / std::tan(kHorizontalView / 2);
  const double sin_yaw = std::sin(camera.yaw);
  const double cos_yaw = std::cos(camera.yaw);
  std::vector<uint8_t> pixels;
  pixels.reserve(static_cast<size_t>(width) * static_cast<size_t>(height) * 3);
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) {
      const double x = (column + 0.5 - width / 2.0) / focal;
      const double y = (row + 0.5 - height / 2.0) / focal;
      const Vector direction = {cos_yaw * x + sin_yaw, y, cos_yaw - sin_yaw * x};
      for (double channel : Trace(camera.center, direction)) {
        pixels.push_back(static_cast<uint8_t>(std::lround(255 * channel)));
      }
    }
  }
  return pixels;
}

void WritePng(const std::filesystem::path& path, const std::vector<uint8_t>& pixels, int width,
              int height) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  if (!png_image_write_to_file(&image, path.c_str(), 0, pixels.data(), 0, nullptr)) {
    throw std::runtime_error("cannot write " + path.string() + ": " + image.message);
  }
}

int ParseCount(const char* text, const char* what, int most) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < 1 || value > most) {
    throw std::runtime_error(std::string(what) + " must be a whole number from 1 to " +
                             std::to_string(most) + ", not '" + text + "'");
  }
  return static_cast<int>(value);
}

constexpr const char* kUsage =
    "Usage: make_demo_clip FOLDER [FRAMES [WIDTH HEIGHT]]\n"
    "Renders a camera that walks through a textured room as FRAMES (24) PNG images of WIDTH x\n"
    "HEIGHT (168 x 126) pixels into FOLDER, which is made if it does not exist.\n";

bool WantsHelp(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc, [](const std::string_view argument) {
    return argument == "-h" || argument == "--help";
  });
}

Frames ParseArguments(int argc, char** argv) {
  if (argc != 2 && argc != 3 && argc != 5) {
    throw std::runtime_error("expected a folder and at most a count and a size, got " +
                             std::to_string(argc - 1) + " arguments; see make_demo_clip --help");
  }
  if (argv[1][0] == '-' || argv[1][0] == '\0') {
    throw std::runtime_error("'" + std::string(argv[1]) +
                             "' is not the name of a folder; see make_demo_clip --help");
  }
  Frames frames;
  frames.folder = argv[1];
  if (argc >= 3) frames.count = ParseCount(argv[2], "FRAMES", 100000);
  if (argc == 5) {
    frames.width = ParseCount(argv[3], "WIDTH", 8192);
    frames.height = ParseCount(argv[4], "HEIGHT", 8192);
  }
  return frames;
}

void MakeClip(const Frames& frames) {
  std::filesystem::create_directories(frames.folder);
  for (int i = 0; i < frames.count; ++i) {
    char name[32];
    std::snprintf(name, sizeof(name), "%06d.png", i);
    const Camera camera = CameraAt(i, frames.count);
    WritePng(frames.folder / name, Render(camera, frames.width, frames.height), frames.width,
             frames.height);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (WantsHelp(argc, argv)) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  try {
    const Frames frames = ParseArguments(argc, argv);
    MakeClip(frames);
    std::printf("%d frames of %dx%d in %s\n", frames.count, frames.width, frames.height,
                frames.folder.c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_demo_clip: error: %s\n", error.what());
    return 2;
  }
}
