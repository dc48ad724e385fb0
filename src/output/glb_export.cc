#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/file_mapping.h"
#include "output/buffered_file.h"
#include "output/export_camera.h"
#include "output/exporter.h"
#include "output/run_folder.h"

// The binary form of glTF 2.0: header, a JSON chunk, a chunk of binary data
// (https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html, section 4.4).

namespace lingbot {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Vertex = std::array<float, 3>;

constexpr uint32_t kMagic = 0x46546C67;      // "glTF"
constexpr uint32_t kJsonChunk = 0x4E4F534A;  // "JSON"
constexpr uint32_t kBinChunk = 0x004E4942;   // "BIN"
constexpr size_t kHeaderBytes = 12 + 8 + 8;
// Numbers of the specification.
constexpr int kFloat = 5126, kByte = 5121, kUnsigned = 5125;
constexpr int kArrayBuffer = 34962, kElementBuffer = 34963;
constexpr int kPoints = 0, kLines = 1;
constexpr size_t kFrustumVertices = 5;
// From the centre to the four corners, and around.
constexpr std::array<uint32_t, 16> kFrustumLines = {0, 1, 0, 2, 0, 3, 0, 4, 1, 2, 2, 3, 3, 4, 4, 1};

// x right, y down, z forward becomes x right, y up, z backward: half a turn about x.
Vertex YUp(double x, double y, double z) {
  return {static_cast<float>(x), static_cast<float>(-y), static_cast<float>(-z)};
}
Vertex YUp(const ColoredPoint& point) { return {point.x, -point.y, -point.z}; }

// Smallest and largest of every coordinate, as accessors state them.
struct Bounds {
  Vertex least = {0, 0, 0};
  Vertex most = {0, 0, 0};
  bool empty = true;

  void Add(const Vertex& vertex) {
    for (size_t i = 0; i < 3; ++i) {
      least[i] = empty ? vertex[i] : std::min(least[i], vertex[i]);
      most[i] = empty ? vertex[i] : std::max(most[i], vertex[i]);
    }
    empty = false;
  }
};

// A thirtieth of the extent of the inner eight tenths of the points, so that a few wild ones do not
// count; without points, of the cameras.
double FrustumDepth(const PointCloud& cloud, const std::vector<ExportCamera>& cameras) {
  constexpr size_t kSample = 10'000;
  std::array<std::vector<float>, 3> values;
  const size_t step = std::max<size_t>(1, cloud.points.size() / kSample);
  for (size_t i = 0; i < cloud.points.size(); i += step) {
    const ColoredPoint& p = cloud.points[i];
    const float coordinates[3] = {p.x, p.y, p.z};
    for (size_t axis = 0; axis < 3; ++axis) values[axis].push_back(coordinates[axis]);
  }
  if (cloud.points.empty()) {
    for (const ExportCamera& camera : cameras) {
      for (int axis = 0; axis < 3; ++axis) {
        values[static_cast<size_t>(axis)].push_back(static_cast<float>(camera.pose.center[axis]));
      }
    }
  }
  double squares = 0;
  for (auto& axis : values) {
    if (axis.empty()) continue;
    const double extent =
        static_cast<double>(QuantileOf(axis, 0.9)) - static_cast<double>(QuantileOf(axis, 0.1));
    squares += extent * extent;
  }
  const double depth = std::sqrt(squares) / 30;
  return std::isnormal(depth) ? depth : 0.1;
}

// Views and accessors of the binary chunk, in the order of its data.
class Layout {
 public:
  Json views = Json::array();
  Json accessors = Json::array();
  uint64_t bytes = 0;

  // Returns the number of the accessor.
  size_t Add(uint64_t count, int component, const char* type, size_t element_bytes, int target) {
    views.push_back({{"buffer", 0}, {"byteOffset", bytes}, {"byteLength", count * element_bytes}});
    if (target != kElementBuffer) views.back()["byteStride"] = element_bytes;
    views.back()["target"] = target;
    accessors.push_back({{"bufferView", views.size() - 1},
                         {"componentType", component},
                         {"count", count},
                         {"type", type}});
    bytes += count * element_bytes;  // elements are multiples of 4 bytes: what follows is aligned
    return accessors.size() - 1;
  }

  size_t AddPositions(uint64_t count, const Bounds& bounds) {
    const size_t accessor = Add(count, kFloat, "VEC3", sizeof(Vertex), kArrayBuffer);
    accessors[accessor]["min"] = bounds.least;
    accessors[accessor]["max"] = bounds.most;
    return accessor;
  }
};

class GlbExporter : public Exporter {
 public:
  explicit GlbExporter(const fs::path& folder) : path_(folder / kGlbName) {}

  void AddFrame(const FrameRecord& record) override {
    const auto camera = ExportCameraOf(record);
    if (camera) cameras_.push_back(*camera);
  }

  std::vector<std::string> Finish(const PointCloud& cloud) override {
    if (cloud.points.empty()) return {};
    frustum_depth_ = FrustumDepth(cloud, cameras_);
    const auto is_wild = [this](const ExportCamera& camera) {
      for (const Vertex& v : FrustumOf(camera)) {
        if (!std::isfinite(v[0]) || !std::isfinite(v[1]) || !std::isfinite(v[2])) return true;
      }
      return false;
    };
    cameras_.erase(std::remove_if(cameras_.begin(), cameras_.end(), is_wild), cameras_.end());
    const std::string json = Describe(cloud);
    const uint64_t total = kHeaderBytes + json.size() + binary_bytes_;
    CheckGlbSize(path_, total, cloud.points.size());
    Write(cloud, json, static_cast<uint32_t>(total));
    CheckFile(cloud.points.size(), total);
    return {kGlbName};
  }

 private:
  std::array<Vertex, kFrustumVertices> FrustumOf(const ExportCamera& camera) const {
    const Eigen::Matrix3d rotation = camera.pose.rotation.toRotationMatrix();
    std::array<Vertex, kFrustumVertices> vertices;
    const Eigen::Vector3d& c = camera.pose.center;
    vertices[0] = YUp(c.x(), c.y(), c.z());
    const Intrinsics& k = camera.intrinsics;
    const double x = 0.5 * camera.width / k.fx;
    const double y = 0.5 * camera.height / k.fy;
    const double corners[4][2] = {{-x, -y}, {x, -y}, {x, y}, {-x, y}};
    for (size_t i = 0; i < 4; ++i) {
      const Eigen::Vector3d world =
          c + rotation * Eigen::Vector3d(corners[i][0], corners[i][1], 1) * frustum_depth_;
      vertices[i + 1] = YUp(world.x(), world.y(), world.z());
    }
    return vertices;
  }

  Json AddFrusta(Layout* layout) const {
    Bounds bounds;
    for (const ExportCamera& camera : cameras_) {
      for (const Vertex& vertex : FrustumOf(camera)) bounds.Add(vertex);
    }
    const size_t positions = layout->AddPositions(kFrustumVertices * cameras_.size(), bounds);
    const size_t lines = layout->Add(kFrustumLines.size() * cameras_.size(), kUnsigned, "SCALAR",
                                     sizeof(uint32_t), kElementBuffer);
    return {{"attributes", {{"POSITION", positions}}},
            {"indices", lines},
            {"mode", kLines},
            {"material", 0}};
  }

  // The JSON chunk, padded; sets binary_bytes_.
  std::string Describe(const PointCloud& cloud) {
    Bounds bounds;
    for (const ColoredPoint& point : cloud.points) bounds.Add(YUp(point));
    Layout layout;
    const size_t positions = layout.AddPositions(cloud.points.size(), bounds);
    const size_t colors = layout.Add(cloud.points.size(), kByte, "VEC4", 4, kArrayBuffer);
    layout.accessors[colors]["normalized"] = true;
    const Json points = {{"attributes", {{"POSITION", positions}, {"COLOR_0", colors}}},
                         {"mode", kPoints},
                         {"material", 0}};
    Json meshes = Json::array({{{"name", "points"}, {"primitives", Json::array({points})}}});
    Json nodes = Json::array({{{"name", "points"}, {"mesh", 0}}});
    Json roots = Json::array({0});
    if (!cameras_.empty()) {
      meshes.push_back({{"name", "cameras"}, {"primitives", Json::array({AddFrusta(&layout)})}});
      nodes.push_back({{"name", "cameras"}, {"mesh", 1}});
      roots.push_back(1);
    }
    binary_bytes_ = layout.bytes;
    const Json extras = {
        {"axes",
         "glTF: x right, y up, z backward. A point (x, y, z) of this file is (x, -y, -z) of the "
         "run's world, which has OpenCV axes (x right, y down, z forward) as PLY and COLMAP do"},
        {"cameras", "a pyramid of lines each, from the camera's centre to the image's corners"},
        {"scale", "relative: the unit of length is the model's own, not metres"}};
    const Json json = {
        {"asset",
         {{"version", "2.0"},
          {"generator", "lingbot-map.cpp " LINGBOT_VERSION},
          {"extras", extras}}},
        {"scene", 0},
        {"scenes", Json::array({{{"nodes", roots}}})},
        {"nodes", nodes},
        {"meshes", meshes},
        {"materials", Json::array({{{"name", "unlit"},
                                    {"extensions", {{"KHR_materials_unlit", Json::object()}}}}})},
        {"extensionsUsed", {"KHR_materials_unlit"}},
        {"accessors", layout.accessors},
        {"bufferViews", layout.views},
        {"buffers", Json::array({{{"byteLength", layout.bytes}}})}};
    std::string text = json.dump();
    text.resize((text.size() + 3) / 4 * 4, ' ');
    return text;
  }

  void Write(const PointCloud& cloud, const std::string& json, uint32_t total) const {
    BufferedFile file(path_);
    for (const uint32_t word :
         {kMagic, uint32_t{2}, total, static_cast<uint32_t>(json.size()), kJsonChunk}) {
      file.WriteRaw(word);
    }
    file.Write(json);
    file.WriteRaw(static_cast<uint32_t>(binary_bytes_));
    file.WriteRaw(kBinChunk);
    for (const ColoredPoint& point : cloud.points) {
      const Vertex vertex = YUp(point);
      file.Write(vertex.data(), sizeof(vertex));
    }
    for (const ColoredPoint& point : cloud.points) {
      const uint8_t color[4] = {point.red, point.green, point.blue, 255};
      file.Write(color, sizeof(color));
    }
    for (const ExportCamera& camera : cameras_) {
      const auto vertices = FrustumOf(camera);
      file.Write(vertices.data(), sizeof(vertices));
    }
    for (uint32_t i = 0; i < cameras_.size(); ++i) {
      for (const uint32_t end : kFrustumLines) {
        file.WriteRaw(static_cast<uint32_t>(kFrustumVertices * i + end));
      }
    }
    file.Commit();
  }

  void CheckFile(size_t points, uint64_t total) const {
    const FileMapping mapping(path_);
    const auto* bytes = reinterpret_cast<const char*>(mapping.bytes().data());
    uint32_t words[5] = {};
    const bool long_enough = mapping.bytes().size() == total;
    if (long_enough) std::memcpy(words, bytes, sizeof(words));
    Check(long_enough && words[0] == kMagic && words[2] == total && words[4] == kJsonChunk &&
              words[3] <= total - sizeof(words),
          ErrorCode::kFileUnwritable, "{} was written but is no GLB file when opened again",
          path_.string());
    const char* text = bytes + sizeof(words);
    Json json = Json::parse(text, text + words[3], nullptr, /*allow_exceptions=*/false);
    Check(json.is_object() && json["accessors"][0]["count"] == points, ErrorCode::kFileUnwritable,
          "{} was written with {} points but does not say so when opened again", path_.string(),
          points);
  }

  fs::path path_;
  std::vector<ExportCamera> cameras_;
  double frustum_depth_ = 0;
  uint64_t binary_bytes_ = 0;
};

}  // namespace

void CheckGlbSize(const fs::path& path, uint64_t bytes, uint64_t points) {
  Check(bytes <= std::numeric_limits<uint32_t>::max(), ErrorCode::kInvalidArgument,
        "{} would take {} bytes for {} points, but a GLB file holds 4 GiB at most; ask for fewer "
        "with --max-points or --voxel, or write ply",
        path.string(), bytes, points);
}

std::unique_ptr<Exporter> MakeGlbExporter(const fs::path& folder) {
  return std::make_unique<GlbExporter>(folder);
}

}  // namespace lingbot
