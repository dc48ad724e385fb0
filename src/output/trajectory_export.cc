#include <fstream>
#include <optional>

#include "base/check.h"
#include "geometry/pose.h"
#include "output/buffered_file.h"
#include "output/exporter.h"
#include "output/run_folder.h"
#include "output/trajectory.h"

namespace lingbot {
namespace {

namespace fs = std::filesystem;

void CheckLines(const fs::path& path, int64_t expected) {
  std::ifstream file(path);
  int64_t lines = 0;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') ++lines;
  }
  Check(lines == expected, ErrorCode::kFileUnwritable,
        "{} was written with {} lines but holds {} when opened again", path.string(), expected,
        lines);
}

class TumExporter : public Exporter {
 public:
  explicit TumExporter(const fs::path& folder) : path_(folder / kTrajectoryName), file_(path_) {
    file_.Print("{}\n", kTumComment);
  }

  void AddFrame(const FrameRecord& record) override {
    if (!IsFinitePose(record.pose)) return;
    file_.Print("{}\n", TumLine(record.timestamp, record.pose));
    ++lines_;
  }

  std::vector<std::string> Finish(const PointCloud&) override {
    file_.Commit();
    CheckLines(path_, lines_);
    return {kTrajectoryName};
  }

 private:
  fs::path path_;
  BufferedFile file_;
  int64_t lines_ = 0;
};

// The poses of the KITTI odometry benchmark: [R | c] of world_from_camera, row by row. Readers of
// this format allow no comment; times go to a file of their own, as there.
class KittiExporter : public Exporter {
 public:
  explicit KittiExporter(const fs::path& folder)
      : poses_path_(folder / kKittiName),
        times_path_(folder / kKittiTimesName),
        poses_(poses_path_),
        times_(times_path_) {}

  void AddFrame(const FrameRecord& record) override {
    if (!IsFinitePose(record.pose)) return;
    const WorldFromCamera pose = WorldFromCameraOf(record.pose);
    for (size_t row = 0; row < 3; ++row) {
      const double* r = &pose.rotation[3 * row];
      poses_.Print("{:.12g} {:.12g} {:.12g} {:.9g}{}", r[0] + 0.0, r[1] + 0.0, r[2] + 0.0,
                   pose.center[row] + 0.0, row < 2 ? ' ' : '\n');
    }
    times_.Print("{:.9f}\n", record.timestamp);
    ++lines_;
  }

  std::vector<std::string> Finish(const PointCloud&) override {
    poses_.Commit();
    times_.Commit();
    CheckLines(poses_path_, lines_);
    CheckLines(times_path_, lines_);
    return {kKittiName, kKittiTimesName};
  }

 private:
  fs::path poses_path_, times_path_;
  BufferedFile poses_, times_;
  int64_t lines_ = 0;
};

}  // namespace

std::unique_ptr<Exporter> MakeTumExporter(const fs::path& folder) {
  return std::make_unique<TumExporter>(folder);
}

std::unique_ptr<Exporter> MakeKittiExporter(const fs::path& folder) {
  return std::make_unique<KittiExporter>(folder);
}

}  // namespace lingbot
