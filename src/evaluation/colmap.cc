#include "evaluation/colmap.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "base/check.h"
#include "base/file_mapping.h"
#include "base/natural_order.h"
#include "evaluation/text_lines.h"

namespace lingbot {
namespace {

namespace fs = std::filesystem;

constexpr double kLargestSide = 1 << 20;

// COLMAP's camera models: the number that files use, and their parameters.
struct CameraModel {
  std::string_view name;
  int parameters;
  int focal_lengths;  // 1 = one for both axes
  bool distorted;
};
constexpr std::array<CameraModel, 11> kModels = {{{"SIMPLE_PINHOLE", 3, 1, false},
                                                  {"PINHOLE", 4, 2, false},
                                                  {"SIMPLE_RADIAL", 4, 1, true},
                                                  {"RADIAL", 5, 1, true},
                                                  {"OPENCV", 8, 2, true},
                                                  {"OPENCV_FISHEYE", 8, 2, true},
                                                  {"FULL_OPENCV", 12, 2, true},
                                                  {"FOV", 5, 2, true},
                                                  {"SIMPLE_RADIAL_FISHEYE", 4, 1, true},
                                                  {"RADIAL_FISHEYE", 5, 1, true},
                                                  {"THIN_PRISM_FISHEYE", 12, 2, true}}};

using Cameras = std::map<uint32_t, TruthCamera>;

// Reads little-endian values one after the other and refuses to go beyond the end.
class BinaryReader {
 public:
  BinaryReader(std::span<const std::byte> bytes, std::string file)
      : rest_(bytes), file_(std::move(file)) {}

  template <typename T>
  T Take() {
    CheckLeft(sizeof(T));
    T value;
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }

  std::string TakeString() {
    const auto end = std::find(rest_.begin(), rest_.end(), std::byte{0});
    CheckLeft(static_cast<size_t>(end - rest_.begin()) + 1);
    const std::string text(reinterpret_cast<const char*>(rest_.data()),
                           static_cast<size_t>(end - rest_.begin()));
    rest_ = rest_.subspan(text.size() + 1);
    return text;
  }

  void Skip(uint64_t count, uint64_t size) {
    Check(count <= rest_.size() / size, ErrorCode::kCorruptFile, "{} ends too early", file_);
    rest_ = rest_.subspan(count * size);
  }

 private:
  void CheckLeft(size_t bytes) const {
    Check(bytes <= rest_.size(), ErrorCode::kCorruptFile, "{} ends too early", file_);
  }

  std::span<const std::byte> rest_;
  std::string file_;
};

TruthCamera MakeCamera(const CameraModel& model, double width, double height,
                       std::span<const double> parameters, const std::string& file) {
  Check(width >= 1 && height >= 1 && width <= kLargestSide && height <= kLargestSide,
        ErrorCode::kCorruptFile, "{} has a camera of {} x {} pixels", file, width, height);
  TruthCamera camera;
  camera.width = static_cast<int>(width);
  camera.height = static_cast<int>(height);
  camera.distorted = model.distorted;
  const int center = model.focal_lengths;
  camera.intrinsics = {parameters[0], parameters[center - 1], parameters[center] - 0.5,
                       parameters[center + 1] - 0.5};
  Check(IsUsableCamera(camera), ErrorCode::kCorruptFile,
        "{} has a camera whose focal lengths are no positive numbers", file);
  return camera;
}

Cameras ReadCamerasBinary(const fs::path& path) {
  const FileMapping mapping(path);
  const std::string file = path.string();
  BinaryReader reader(mapping.bytes(), file);
  Cameras cameras;
  const auto count = reader.Take<uint64_t>();
  for (uint64_t i = 0; i < count; ++i) {
    const auto id = reader.Take<uint32_t>();
    const auto number = reader.Take<uint32_t>();
    Check(number < kModels.size(), ErrorCode::kUnsupportedFormat,
          "{} has a camera of the unknown model {}", file, number);
    const CameraModel& model = kModels[number];
    const auto width = static_cast<double>(reader.Take<uint64_t>());
    const auto height = static_cast<double>(reader.Take<uint64_t>());
    std::vector<double> parameters(static_cast<size_t>(model.parameters));
    for (double& value : parameters) value = reader.Take<double>();
    cameras[id] = MakeCamera(model, width, height, parameters, file);
  }
  return cameras;
}

// "CAMERA_ID MODEL WIDTH HEIGHT PARAMETERS..."
void AddCameraLine(std::string_view line, const std::string& where, Cameras* cameras) {
  double id = 0;
  const bool has_id = ParseNumber(TakeWord(&line), &id);
  const std::string_view name = TakeWord(&line);
  const auto model = std::find_if(kModels.begin(), kModels.end(),
                                  [&](const CameraModel& known) { return known.name == name; });
  std::vector<double> numbers;
  const bool valid = ParseNumbers(line, &numbers) && has_id && id >= 0 && id < 4e9;
  Check(valid && model != kModels.end() &&
            numbers.size() == 2 + static_cast<size_t>(model->parameters),
        ErrorCode::kCorruptFile, "{} is no camera with the parameters of its model", where);
  (*cameras)[static_cast<uint32_t>(id)] = MakeCamera(
      *model, numbers[0], numbers[1], std::span<const double>(numbers).subspan(2), where);
}

Cameras ReadCamerasText(const fs::path& path) {
  const FileMapping mapping(path);
  TextLines lines({reinterpret_cast<const char*>(mapping.bytes().data()), mapping.bytes().size()});
  Cameras cameras;
  for (std::string_view line; lines.Next(&line);) {
    if (line.empty() || line[0] == '#') continue;
    AddCameraLine(line, fmt::format("line {} of {}", lines.number(), path.string()), &cameras);
  }
  return cameras;
}

struct ColmapImage {
  std::string name;
  uint32_t camera = 0;
  RigidPose camera_from_world;  // center: the translation
};

std::vector<ColmapImage> ReadImagesBinary(const fs::path& path) {
  constexpr uint64_t kPointBytes = 24;  // x, y, id
  const FileMapping mapping(path);
  BinaryReader reader(mapping.bytes(), path.string());
  std::vector<ColmapImage> images;
  const auto count = reader.Take<uint64_t>();
  for (uint64_t i = 0; i < count; ++i) {
    reader.Take<uint32_t>();  // its number
    double n[7];
    for (double& value : n) value = reader.Take<double>();
    ColmapImage image;
    image.camera_from_world = {Eigen::Quaterniond(n[0], n[1], n[2], n[3]), {n[4], n[5], n[6]}};
    image.camera = reader.Take<uint32_t>();
    image.name = reader.TakeString();
    reader.Skip(reader.Take<uint64_t>(), kPointBytes);
    images.push_back(std::move(image));
  }
  return images;
}

// "IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME"
ColmapImage ParseImageLine(std::string_view line, const std::string& where) {
  double n[9];
  bool valid = true;
  for (double& value : n) valid = ParseNumber(TakeWord(&line), &value) && valid;
  const size_t start = line.find_first_not_of(" \t");
  Check(valid && n[8] >= 0 && n[8] < 4e9 && start != std::string_view::npos,
        ErrorCode::kCorruptFile, "{} is no image with pose, camera and name", where);
  ColmapImage image;
  image.camera_from_world = {Eigen::Quaterniond(n[1], n[2], n[3], n[4]), {n[5], n[6], n[7]}};
  image.camera = static_cast<uint32_t>(n[8]);
  image.name = line.substr(start);
  return image;
}

std::vector<ColmapImage> ReadImagesText(const fs::path& path) {
  const FileMapping mapping(path);
  TextLines lines({reinterpret_cast<const char*>(mapping.bytes().data()), mapping.bytes().size()});
  std::vector<ColmapImage> images;
  for (std::string_view line; lines.Next(&line);) {
    if (line.empty() || line[0] == '#') continue;
    images.push_back(
        ParseImageLine(line, fmt::format("line {} of {}", lines.number(), path.string())));
    lines.Next(&line);  // its points, possibly none
  }
  return images;
}

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Cameras ReadCameras(const fs::path& folder) {
  if (Exists(folder / "cameras.bin")) return ReadCamerasBinary(folder / "cameras.bin");
  if (Exists(folder / "cameras.txt")) return ReadCamerasText(folder / "cameras.txt");
  return {};
}

}  // namespace

bool IsUsableCamera(const TruthCamera& camera) {
  const Intrinsics& k = camera.intrinsics;
  const auto positive = [](double value) { return value > 1e-3 && value < 1e9; };
  const auto bounded = [](double value) { return std::abs(value) < 1e9; };
  return camera.width > 0 && camera.height > 0 && positive(k.fx) && positive(k.fy) &&
         bounded(k.cx) && bounded(k.cy);
}

bool IsColmapFolder(const fs::path& folder) {
  return Exists(folder / "images.bin") || Exists(folder / "images.txt");
}

ColmapModel ReadColmap(const fs::path& folder) {
  std::vector<ColmapImage> images = Exists(folder / "images.bin")
                                        ? ReadImagesBinary(folder / "images.bin")
                                        : ReadImagesText(folder / "images.txt");
  std::stable_sort(images.begin(), images.end(), [](const ColmapImage& a, const ColmapImage& b) {
    return NaturalLess(a.name, b.name);
  });
  ColmapModel model;
  std::map<uint32_t, int> numbers;
  for (const auto& [id, camera] : ReadCameras(folder)) {
    numbers[id] = static_cast<int>(model.cameras.size());
    model.cameras.push_back(camera);
  }
  const int unknown = static_cast<int>(model.cameras.size());
  model.cameras.emplace_back();
  int64_t index = 0;
  for (const ColmapImage& image : images) {
    const auto camera = numbers.find(image.camera);
    TrackPose pose;
    pose.index = index++;
    pose.name = image.name;
    pose.camera = camera == numbers.end() ? unknown : camera->second;
    pose.pose = image.camera_from_world;
    if (IsUsablePose(pose.pose)) {
      pose.pose.rotation = UnitQuaternion(pose.pose.rotation).conjugate();
      pose.pose.center = -(pose.pose.rotation * image.camera_from_world.center);
    }
    AppendPose(pose, &model.track);
  }
  Check(!model.track.poses.empty(), ErrorCode::kNoInput, "the COLMAP model {} holds no usable pose",
        folder.string());
  return model;
}

}  // namespace lingbot
