#ifndef LINGBOT_OUTPUT_EXPORTER_H_
#define LINGBOT_OUTPUT_EXPORTER_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "geometry/point_cloud.h"
#include "output/export_formats.h"
#include "output/frame_record.h"

namespace lingbot {

// Writes the frames of a run, and its cloud, in one format. Frames come one by one and are not
// kept: what is remembered of each is a camera at most. Files appear complete or not at all, and
// only once Finish has written, opened again and checked them.
class Exporter {
 public:
  virtual ~Exporter() = default;

  // Throws kFileUnwritable.
  virtual void AddFrame(const FrameRecord& record) = 0;

  // To be called once. `cloud` has origins if the format asks for them; without points, formats
  // that are points and nothing else write no file. Returns the paths of the files (or of the
  // folder that they are in), relative to the export's folder. Throws kFileUnwritable;
  // kInvalidArgument if the format cannot hold so much.
  virtual std::vector<std::string> Finish(const PointCloud& cloud) = 0;
};

// Makes the sub-folders that the format needs. Throws kFileUnwritable.
std::unique_ptr<Exporter> MakeExporter(ExportKind kind, const std::filesystem::path& folder);

// One for each format, behind MakeExporter.
std::unique_ptr<Exporter> MakeMapExporter(ExportKind kind, const std::filesystem::path& folder);
std::unique_ptr<Exporter> MakeTumExporter(const std::filesystem::path& folder);
std::unique_ptr<Exporter> MakeKittiExporter(const std::filesystem::path& folder);
std::unique_ptr<Exporter> MakePlyExporter(const std::filesystem::path& folder);
std::unique_ptr<Exporter> MakeGlbExporter(const std::filesystem::path& folder);
std::unique_ptr<Exporter> MakeColmapTextExporter(const std::filesystem::path& folder);
std::unique_ptr<Exporter> MakeColmapBinExporter(const std::filesystem::path& folder);
std::unique_ptr<Exporter> MakeNerfstudioExporter(const std::filesystem::path& folder);
std::unique_ptr<Exporter> MakeNpzExporter(const std::filesystem::path& folder);

// Throws kInvalidArgument, with advice, for what is too large for a GLB file.
void CheckGlbSize(const std::filesystem::path& path, uint64_t bytes, uint64_t points);

}  // namespace lingbot

#endif  // LINGBOT_OUTPUT_EXPORTER_H_
