#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "base/check.h"
#include "output/buffered_file.h"
#include "output/export_camera.h"
#include "output/exporter.h"
#include "output/manifest.h"
#include "output/run_folder.h"

namespace lingbot {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

bool IsFile(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// world_from_camera with OpenGL's camera axes (x right, y up, z backward): the camera turned half
// around its x axis. The world stays as it is.
Json TransformJson(const RigidPose& pose) {
  const Eigen::Matrix3d r = pose.rotation.toRotationMatrix();
  Json rows = Json::array();
  for (int i = 0; i < 3; ++i) {
    rows.push_back({r(i, 0) + 0.0, 0.0 - r(i, 1), 0.0 - r(i, 2), pose.center[i] + 0.0});
  }
  rows.push_back({0.0, 0.0, 0.0, 1.0});
  return rows;
}

Json FrameOf(const ExportCamera& camera, const FrameRecord& record, const fs::path& folder) {
  const std::string image = ImageNameOf(camera.index);
  const Intrinsics k = WithHalfPixel(camera.intrinsics);
  Json frame = {{"file_path", fmt::format("{}/{}", kImagesFolder, image)},
                {"transform_matrix", TransformJson(camera.pose)},
                {"fl_x", k.fx},
                {"fl_y", k.fy},
                {"cx", k.cx},
                {"cy", k.cy},
                {"w", camera.width},
                {"h", camera.height}};
  const std::string depth = fmt::format("{}/{}", kDepthFolder, image);
  if (IsFile(folder / depth)) frame["depth_file_path"] = depth;
  if (IsUsableMapping(record.mapping)) {
    const Intrinsics original =
        WithHalfPixel(OriginalIntrinsics(camera.intrinsics, record.mapping));
    frame["original"] = {{"fl_x", original.fx},
                         {"fl_y", original.fy},
                         {"cx", original.cx},
                         {"cy", original.cy},
                         {"w", record.mapping.original_width},
                         {"h", record.mapping.original_height}};
  }
  return frame;
}

class NerfstudioExporter : public Exporter {
 public:
  explicit NerfstudioExporter(fs::path folder)
      : folder_(std::move(folder)), file_(folder_ / kNerfstudioName) {
    const Json head = {
        {"conventions",
         {{"transform_matrix",
           "world_from_camera (camera-to-world), camera axes as in OpenGL: x right, y up, z "
           "backward"},
          {"world",
           "the run's own, the same as of the PLY file; its axes are OpenCV's at the start (y "
           "down); "
           "applied_transform is therefore the identity"},
          {"intrinsics",
           "of the images in images/, pixel centres at half integers; \"original\" holds those of "
           "the "
           "upright source image"},
          {"depth", "PNG value times the DepthUnit that the PNG states, along the optical axis"},
          {"scale", "relative: the unit of length is the model's own, not metres"}}},
        {"camera_model", "PINHOLE"},
        {"applied_transform", {{1.0, 0.0, 0.0, 0.0}, {0.0, 1.0, 0.0, 0.0}, {0.0, 0.0, 1.0, 0.0}}}};
    std::string text = JsonText(head, 2);
    text.resize(text.rfind('\n'));  // without the brace that ends it
    file_.Print("{},\n  \"frames\": [", text);
  }

  void AddFrame(const FrameRecord& record) override {
    const auto camera = ExportCameraOf(record);
    if (!camera) return;
    file_.Print("{}\n    {}", frames_ > 0 ? "," : "",
                JsonText(FrameOf(*camera, record, folder_), -1));
    ++frames_;
  }

  std::vector<std::string> Finish(const PointCloud&) override {
    file_.Print("\n  ]");
    if (IsFile(folder_ / kPlyName)) file_.Print(",\n  \"ply_file_path\": \"{}\"", kPlyName);
    file_.Print("\n}}\n");
    file_.Commit();
    std::ifstream file(folder_ / kNerfstudioName);
    Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
    Check(json.is_object() && json["frames"].size() == frames_, ErrorCode::kFileUnwritable,
          "{} was written with {} frames but does not hold them when opened again",
          (folder_ / kNerfstudioName).string(), frames_);
    return {kNerfstudioName};
  }

 private:
  fs::path folder_;
  BufferedFile file_;
  size_t frames_ = 0;
};

}  // namespace

std::unique_ptr<Exporter> MakeNerfstudioExporter(const fs::path& folder) {
  return std::make_unique<NerfstudioExporter>(folder);
}

}  // namespace lingbot
