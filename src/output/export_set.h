#ifndef LINGBOT_OUTPUT_EXPORT_SET_H_
#define LINGBOT_OUTPUT_EXPORT_SET_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_stream.h"
#include "geometry/point_cloud.h"
#include "output/export_formats.h"
#include "output/exporter.h"
#include "output/frame_record.h"
#include "output/mask_source.h"

namespace lingbot {

struct ExportSetOptions {
  std::vector<ExportKind> kinds;
  PointCloudOptions cloud;
  std::shared_ptr<MaskSource> masks;  // may be null
  int64_t expected_frames = 0;  // 0 = unknown; lets the cloud's memory be taken at the first frame
};

struct ExportedFiles {
  ExportKind kind;
  std::vector<std::string> files;  // relative to the folder; none: not written, see cloud_problem
};

struct ExportReport {
  int64_t frames = 0;
  int64_t points = 0;
  std::string cloud_problem;  // not empty: a cloud was asked for and has no points
  std::vector<ExportedFiles> files;
  nlohmann::ordered_json cloud;  // for the manifest; null without a cloud
  std::vector<std::string> warnings;
};

// {"ply": ["points.ply"], ...}, for manifests and summaries.
nlohmann::ordered_json ExportsJson(const std::vector<ExportedFiles>& files);

// The exporters of a run and the cloud that they share, fed frame by frame in bounded memory.
class ExportSet {
 public:
  // Throws kInvalidArgument for options of the cloud that make no sense; touches no file.
  explicit ExportSet(const ExportSetOptions& options);

  // Whether any of the kinds needs points, and what a cloud for them must remember.
  static bool WantsCloud(const std::vector<ExportKind>& kinds);
  static PointCloudOptions CloudOptionsFor(const std::vector<ExportKind>& kinds,
                                           PointCloudOptions options);

  // Begins the files. `folder` must exist. Throws kFileUnwritable.
  void Open(const std::filesystem::path& folder);

  // The state of the cloud, and back before Open: a set of the same options then goes on after the
  // frames of the one that was saved, once Replay has been given each of them. Load throws
  // kCorruptFile.
  void Save(ByteSink& sink) const;
  void Load(ByteSource& source);
  // An earlier frame, without its maps: what exporters remember of it.
  void Replay(const FrameRecord& record);

  // The record's colours may be missing: points are grey then. Throws kFileUnwritable.
  void AddFrame(const FrameRecord& record);

  // Writes what remains, opens it again and checks it. To be called once. Throws kFileUnwritable,
  // kInvalidArgument.
  ExportReport Finish();

 private:
  void AddToCloud(const FrameRecord& record);
  void ReserveCloud(const FrameRecord& record);
  std::vector<std::string> Warnings(const PointCloudReport& cloud) const;

  ExportSetOptions options_;
  std::optional<PointCloudBuilder> cloud_;
  std::vector<std::pair<ExportKind, std::unique_ptr<Exporter>>> exporters_;
  std::vector<uint8_t> grey_;
  bool cloud_reserved_ = false;
  int64_t frames_ = 0;
  int64_t frames_without_colors_ = 0;
  int64_t frames_without_camera_ = 0;
};

}  // namespace lingbot

#endif  // LINGBOT_OUTPUT_EXPORT_SET_H_
