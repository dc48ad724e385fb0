#include "output/export_set.h"

#include <algorithm>

#include "base/check.h"
#include "output/export_camera.h"
#include "output/manifest.h"

namespace lingbot {
namespace {

// A cloud whose memory is not bigger than this takes it at the start if the stream's length is
// unknown, so that memory does not grow with the stream.
constexpr int64_t kReserveUnasked = 5'000'000;

bool Contains(const std::vector<ExportKind>& kinds, bool ExportFormat::*property) {
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](ExportKind kind) { return FormatOf(kind).*property; });
}

}  // namespace

nlohmann::ordered_json ExportsJson(const std::vector<ExportedFiles>& files) {
  auto json = nlohmann::ordered_json::object();
  for (const ExportedFiles& exported : files) {
    if (!exported.files.empty()) json[FormatOf(exported.kind).word] = exported.files;
  }
  return json;
}

bool ExportSet::WantsCloud(const std::vector<ExportKind>& kinds) {
  return Contains(kinds, &ExportFormat::cloud);
}

PointCloudOptions ExportSet::CloudOptionsFor(const std::vector<ExportKind>& kinds,
                                             PointCloudOptions options) {
  options.keep_origins = Contains(kinds, &ExportFormat::origins);
  return options;
}

ExportSet::ExportSet(const ExportSetOptions& options) : options_(options) {
  std::sort(options_.kinds.begin(), options_.kinds.end());
  if (WantsCloud(options_.kinds)) cloud_.emplace(CloudOptionsFor(options_.kinds, options_.cloud));
}

void ExportSet::Open(const std::filesystem::path& folder) {
  for (const ExportKind kind : options_.kinds) {
    exporters_.emplace_back(kind, MakeExporter(kind, folder));
  }
}

void ExportSet::ReserveCloud(const FrameRecord& record) {
  const int64_t pixels = int64_t{record.height} * record.width;
  const int64_t capacity = cloud_->capacity();
  if (options_.expected_frames > 0) {
    const bool all = options_.expected_frames > capacity / pixels;
    cloud_->Reserve(all ? capacity : options_.expected_frames * pixels);
  } else if (capacity <= kReserveUnasked) {
    cloud_->Reserve(capacity);
  }
}

void ExportSet::AddToCloud(const FrameRecord& record) {
  if (!cloud_reserved_) ReserveCloud(record);
  cloud_reserved_ = true;
  PointCloudFrame frame = {record.height,
                           record.width,
                           record.depth,
                           record.confidence,
                           record.rgb,
                           record.pose,
                           IntrinsicsOf(record.pose, record.height, record.width),
                           {}};
  if (record.rgb.empty()) {
    ++frames_without_colors_;
    grey_.assign(3 * record.depth.size(), 128);
    frame.rgb = grey_;
  }
  if (options_.masks) frame.mask = options_.masks->MaskOf(record);
  cloud_->Add(frame);
}

void ExportSet::AddFrame(const FrameRecord& record) {
  ++frames_;
  if (!ExportCameraOf(record)) ++frames_without_camera_;
  if (cloud_) AddToCloud(record);
  for (const auto& [kind, exporter] : exporters_) exporter->AddFrame(record);
}

void ExportSet::Save(ByteSink& sink) const {
  WriteValue<uint8_t>(sink, cloud_ ? 1 : 0);
  for (const int64_t count : {frames_, frames_without_colors_, frames_without_camera_}) {
    WriteValue(sink, count);
  }
  if (cloud_) cloud_->Save(sink);
}

void ExportSet::Load(ByteSource& source) {
  Check(ReadFlag(source, "whether there is a cloud") == cloud_.has_value(),
        ErrorCode::kInvalidArgument, "{} was saved {} points; go on with the same options",
        source.name(), cloud_ ? "without" : "with");
  for (int64_t* count : {&frames_, &frames_without_colors_, &frames_without_camera_}) {
    *count = ReadInRange<int64_t>(source, "a number of frames", 0, int64_t{1} << 40);
  }
  if (cloud_) cloud_->Load(source);
}

// Files of single frames are there already.
void ExportSet::Replay(const FrameRecord& record) {
  for (const auto& [kind, exporter] : exporters_) {
    if (!FormatOf(kind).maps) exporter->AddFrame(record);
  }
}

std::vector<std::string> ExportSet::Warnings(const PointCloudReport& cloud) const {
  std::vector<std::string> warnings;
  if (cloud.frames_without_camera > 0) {
    warnings.push_back(
        fmt::format("{} of {} frames gave no points: their pose is not finite or their field of "
                    "view is 0 (infinite focal length)",
                    cloud.frames_without_camera, cloud.frames));
  }
  if (cloud.frames_with_odd_camera > 0) {
    warnings.push_back(fmt::format(
        "{} of {} frames have a field of view outside (0, 180) degrees: their points mean nothing",
        cloud.frames_with_odd_camera, cloud.frames));
  }
  std::string missing;
  for (const auto& [kind, exporter] : exporters_) {
    const bool cameras = kind == ExportKind::kGlb || FormatOf(kind).images;
    if (cameras) missing += (missing.empty() ? "" : ", ") + std::string(FormatOf(kind).word);
  }
  if (frames_without_camera_ > 0 && !missing.empty()) {
    warnings.push_back(fmt::format("{} of {} frames have no usable camera and are missing in {}",
                                   frames_without_camera_, frames_, missing));
  }
  if (frames_without_colors_ > 0) {
    warnings.push_back(
        fmt::format("the points of {} of {} frames are grey: the run kept no images (--no-images)",
                    frames_without_colors_, frames_));
  }
  if (options_.masks && cloud_) {
    for (const std::string& warning : options_.masks->Warnings()) warnings.push_back(warning);
  }
  return warnings;
}

ExportReport ExportSet::Finish() {
  ExportReport report;
  report.frames = frames_;
  PointCloud cloud;
  if (cloud_) cloud = cloud_->Build();
  report.points = cloud.report.points;
  report.cloud_problem = cloud.problem;
  for (const auto& [kind, exporter] : exporters_) {
    report.files.push_back({kind, exporter->Finish(cloud)});
  }
  report.warnings = Warnings(cloud.report);
  if (cloud_) report.cloud = PointCloudJson(options_.cloud, cloud.report, cloud.problem);
  return report;
}

}  // namespace lingbot
