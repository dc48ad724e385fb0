#include "output/exporter.h"
#include "output/frame_files.h"
#include "output/run_folder.h"

namespace lingbot {
namespace {

// Depth as 16-bit images and arrays, or confidence as arrays, as a run itself writes them.
class MapExporter : public Exporter {
 public:
  MapExporter(ExportKind kind, const std::filesystem::path& folder)
      : depth_(kind == ExportKind::kDepth),
        files_(folder, {depth_, depth_, !depth_, /*images=*/false, /*depth_png_unit=*/0.0}) {}

  void AddFrame(const FrameRecord& record) override { files_.Write(record); }

  std::vector<std::string> Finish(const PointCloud&) override {
    return {depth_ ? kDepthFolder : kConfidenceFolder};
  }

 private:
  bool depth_;
  FrameFiles files_;
};

}  // namespace

std::unique_ptr<Exporter> MakeMapExporter(ExportKind kind, const std::filesystem::path& folder) {
  return std::make_unique<MapExporter>(kind, folder);
}

}  // namespace lingbot
