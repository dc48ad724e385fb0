#include <system_error>

#include "base/check.h"
#include "output/exporter.h"
#include "output/frame_files.h"
#include "output/run_folder.h"

namespace lingbot {
namespace {

// Depth as 16-bit images and arrays, or confidence as arrays, as a run itself writes them.
class MapExporter : public Exporter {
 public:
  MapExporter(ExportKind kind, const std::filesystem::path& folder)
      : folder_(folder),
        depth_(kind == ExportKind::kDepth),
        files_(folder, {depth_, depth_, !depth_, /*images=*/false, /*depth_png_unit=*/0.0}) {}

  void AddFrame(const FrameRecord& record) override {
    for (const auto& [kind, name] : files_.Write(record).files) {
      std::error_code error;
      const uintmax_t size = std::filesystem::file_size(folder_ / name, error);
      Check(!error && size > 0, ErrorCode::kFileUnwritable, "{} was written but is {} now",
            (folder_ / name).string(), error ? "missing" : "empty");
    }
  }

  std::vector<std::string> Finish(const PointCloud&) override {
    return {depth_ ? kDepthFolder : kConfidenceFolder};
  }

 private:
  std::filesystem::path folder_;
  bool depth_;
  FrameFiles files_;
};

}  // namespace

std::unique_ptr<Exporter> MakeMapExporter(ExportKind kind, const std::filesystem::path& folder) {
  return std::make_unique<MapExporter>(kind, folder);
}

}  // namespace lingbot
