#include "output/exporter.h"
#include "output/ply.h"
#include "output/run_folder.h"

namespace lingbot {
namespace {

class PlyExporter : public Exporter {
 public:
  explicit PlyExporter(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void AddFrame(const FrameRecord&) override {}

  std::vector<std::string> Finish(const PointCloud& cloud) override {
    if (cloud.points.empty()) return {};
    const std::vector<std::string> comments = {
        "lingbot-map.cpp " LINGBOT_VERSION,
        "world coordinates, OpenCV axes: x right, y down, z forward",
        "poses of this run are world_from_camera (camera-to-world)",
        "scale is relative, not metres",
    };
    WritePly(folder_ / kPlyName, cloud.points, comments);
    return {kPlyName};
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace

std::unique_ptr<Exporter> MakePlyExporter(const std::filesystem::path& folder) {
  return std::make_unique<PlyExporter>(folder);
}

}  // namespace lingbot
