#include "output/run_reader.h"

#include <cmath>
#include <limits>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "output/npy.h"
#include "output/png_reader.h"
#include "output/run_folder.h"

namespace lingbot {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr size_t kLongestLine = 1 << 20;
constexpr int64_t kMostPixels = int64_t{1} << 28;
constexpr double kLargestWhole = 9007199254740992.0;  // 2^53: every whole number below is a double

bool IsFile(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

const Json& Member(const Json& json, const char* key) {
  Check(json.is_object() && json.contains(key), ErrorCode::kCorruptFile, "\"{}\" is missing", key);
  return json[key];
}

// NaN for null, as which numbers that are none are written.
double NumberOf(const Json& json, const char* what) {
  if (json.is_null()) return std::numeric_limits<double>::quiet_NaN();
  Check(json.is_number(), ErrorCode::kCorruptFile, "\"{}\" is no number", what);
  return json.get<double>();
}

int64_t WholeOf(const Json& json, const char* what, double least, double most) {
  const double value = NumberOf(json, what);
  Check(value >= least && value <= most && value == std::floor(value), ErrorCode::kCorruptFile,
        "\"{}\" is no whole number from {} to {}", what, least, most);
  return static_cast<int64_t>(value);
}

const Json& ElementOf(const Json& json, const char* what, size_t index, size_t count) {
  Check(json.is_array() && json.size() == count, ErrorCode::kCorruptFile,
        "\"{}\" does not hold {} numbers", what, count);
  return json[index];
}

PoseEncoding PoseOf(const Json& json) {
  PoseEncoding pose = {};
  const Json& center = Member(json, "center");
  const Json& quaternion = Member(json, "quaternion");
  const Json& fov = Member(json, "fov");
  for (size_t i = 0; i < 3; ++i) {
    pose[i] = static_cast<float>(NumberOf(ElementOf(center, "center", i, 3), "center"));
  }
  for (size_t i = 0; i < 4; ++i) {
    pose[3 + i] =
        static_cast<float>(NumberOf(ElementOf(quaternion, "quaternion", i, 4), "quaternion"));
  }
  pose[7] = static_cast<float>(NumberOf(Member(fov, "vertical"), "vertical"));
  pose[8] = static_cast<float>(NumberOf(Member(fov, "horizontal"), "horizontal"));
  return pose;
}

// Unknown (original_width 0) where the record does not say.
ImageMapping MappingOf(const Json& json) {
  ImageMapping mapping;
  const auto original = json.find("intrinsics_original");
  const auto found = json.find("mapping");
  if (original == json.end() || !original->is_object() || found == json.end()) return mapping;
  constexpr double kLargestSide = 1 << 30;
  const Json& scale = Member(*found, "scale");
  const Json& offset = Member(*found, "offset");
  mapping.original_width =
      static_cast<int>(WholeOf(Member(*original, "width"), "width", 1, kLargestSide));
  mapping.original_height =
      static_cast<int>(WholeOf(Member(*original, "height"), "height", 1, kLargestSide));
  mapping.scale_x = NumberOf(ElementOf(scale, "scale", 0, 2), "scale");
  mapping.scale_y = NumberOf(ElementOf(scale, "scale", 1, 2), "scale");
  mapping.offset_x = NumberOf(ElementOf(offset, "offset", 0, 2), "offset");
  mapping.offset_y = NumberOf(ElementOf(offset, "offset", 1, 2), "offset");
  return mapping;
}

FrameRecord RecordOf(const Json& json) {
  FrameRecord record;
  record.index = WholeOf(Member(json, "index"), "index", 0, kLargestWhole);
  record.timestamp = NumberOf(Member(json, "timestamp"), "timestamp");
  Check(std::isfinite(record.timestamp), ErrorCode::kCorruptFile, "\"timestamp\" is no number");
  const auto source = json.find("source");
  if (source != json.end() && source->is_string()) record.source_name = source->get<std::string>();
  const auto position = json.find("source_index");
  record.source_index =
      position == json.end() ? record.index : WholeOf(*position, "source_index", 0, kLargestWhole);
  record.keyframe = json.value("keyframe", Json(false)) == Json(true);
  record.pose = PoseOf(json);
  const Json& size = Member(json, "intrinsics_resized");
  const auto most = static_cast<double>(kMostPixels);
  record.height = static_cast<int>(WholeOf(Member(size, "height"), "height", 1, most));
  record.width = static_cast<int>(WholeOf(Member(size, "width"), "width", 1, most));
  Check(record.height <= kMostPixels / record.width, ErrorCode::kCorruptFile,
        "{}x{} pixels are more than a frame can have", record.width, record.height);
  record.mapping = MappingOf(json);
  return record;
}

bool Names(const Json& json, const char* kind) {
  const auto files = json.find("files");
  return files != json.end() && files->is_object() && files->contains(kind);
}

void CheckSize(const fs::path& path, const FloatImage& image, const FrameRecord& record) {
  Check(image.height == record.height && image.width == record.width, ErrorCode::kShapeMismatch,
        "{} has {} rows of {} values instead of {} of {}", path.string(), image.height, image.width,
        record.height, record.width);
}

}  // namespace

RunReader::RunReader(fs::path folder) : folder_(std::move(folder)) {
  std::error_code ignored;
  Check(fs::exists(folder_, ignored), ErrorCode::kFileNotFound, "the run {} does not exist",
        folder_.string());
  Check(fs::is_directory(folder_, ignored) && IsFile(folder_ / kFramesName), ErrorCode::kNoInput,
        "{} is no folder of lingbot-map run: it holds no {}", folder_.string(), kFramesName);
  ReadManifest();
  file_.open(folder_ / kFramesName, std::ios::binary);
  Check(file_.is_open(), ErrorCode::kFileUnreadable, "{} cannot be opened",
        (folder_ / kFramesName).string());
  buffer_.resize(kLongestLine);
  Scan();
}

void RunReader::ReadManifest() {
  const fs::path path = folder_ / kManifestName;
  if (!IsFile(path)) return;
  std::error_code problem;
  const uintmax_t size = fs::file_size(path, problem);
  std::ifstream file(path, std::ios::binary);
  Check(!problem && file.is_open(), ErrorCode::kFileUnreadable, "{} cannot be opened",
        path.string());
  Check(size <= kLargestManifest, ErrorCode::kCorruptFile, "{} is too large for a manifest",
        path.string());
  manifest_ = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  Check(manifest_.is_object(), ErrorCode::kCorruptFile,
        "{} is no JSON object, as the manifest of a run is; restore or remove it", path.string());
  Check(manifest_.value("format", Json(kRunFormat)) == Json(kRunFormat), ErrorCode::kNoInput,
        "{} is the manifest of something else than a run", path.string());
}

std::string RunReader::status() const {
  const auto status = manifest_.find("status");
  return status != manifest_.end() && status->is_string() ? status->get<std::string>() : "unknown";
}

std::string RunReader::Where(int64_t line) const {
  return fmt::format("line {} of {}", line, (folder_ / kFramesName).string());
}

bool RunReader::NextLine(std::string* line) {
  file_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  const std::streamsize count = file_.gcount();
  if (count == 0 && !file_.good()) {
    Check(file_.eof(), ErrorCode::kFileUnreadable, "{} cannot be read: it breaks off",
          Where(line_ + 1));
    return false;
  }
  ++line_;
  Check(!file_.fail(), ErrorCode::kCorruptFile, "{} is longer than any record of a frame",
        Where(line_));
  // The line feed counts as read, but is not stored.
  line->assign(buffer_.data(), static_cast<size_t>(count) - (file_.eof() ? 0 : 1));
  return true;
}

FrameRecord RunReader::ParseRecord(const std::string& line, Json* json) const {
  try {
    *json = Json::parse(line);
    return RecordOf(*json);
  } catch (const std::exception& error) {
    Fail(ErrorCode::kCorruptFile, "{} is no record of a frame: {}", Where(line_), error.what());
  }
}

void RunReader::NoteRecord(const FrameRecord& record, const Json& json) {
  Check(record.index > last_index_, ErrorCode::kCorruptFile,
        "{} is about frame {} although the line before was about frame {}", Where(line_),
        record.index, last_index_);
  Check(frames_ == 0 || (record.height == height_ && record.width == width_),
        ErrorCode::kCorruptFile, "{} is about {}x{} pixels, those before about {}x{}", Where(line_),
        record.width, record.height, width_, height_);
  last_index_ = record.index;
  height_ = record.height;
  width_ = record.width;
  has_images_ &= Names(json, "image");
  has_depth_ &= Names(json, "depth_npy") || Names(json, "depth_png");
  has_confidence_ &= Names(json, "confidence_npy");
  ++frames_;
}

// What a killed process leaves of a line does not parse or has no line feed; only the last line can
// be such a one.
void RunReader::Scan() {
  std::string line;
  while (NextLine(&line)) {
    const bool ended = !file_.eof();
    const bool last = !ended || file_.peek() == std::ifstream::traits_type::eof();
    if (last && !Json::accept(line)) {
      cut_short_ = true;
      break;
    }
    Json json;
    NoteRecord(ParseRecord(line, &json), json);
    record_bytes_ += line.size() + (ended ? 1 : 0);
  }
  Rewind();
}

void RunReader::Rewind() {
  file_.clear();
  file_.seekg(0);
  line_ = 0;
}

fs::path RunReader::PathOf(const Json& json, const char* kind) const {
  const auto& name = json["files"][kind];
  Check(name.is_string(), ErrorCode::kCorruptFile, "{} does not say where its {} is", Where(line_),
        kind);
  const fs::path relative = name.get<std::string>();
  bool inside = relative.is_relative() && !relative.empty();
  for (const fs::path& part : relative) inside = inside && part != "..";
  Check(inside, ErrorCode::kCorruptFile, "{} names {}, which is not inside the run's folder",
        Where(line_), relative.string());
  return folder_ / relative;
}

void RunReader::LoadDepth(LoadedFrame* frame) const {
  const FrameRecord& record = frame->record;
  const Json& json = frame->json;
  const bool npy = Names(json, "depth_npy");
  const bool png = Names(json, "depth_png");
  Check(npy || png, ErrorCode::kNoInput,
        "{} names no depth file: the run kept no depth (--no-depth), and what is made from it "
        "cannot be made",
        Where(line_));
  if (npy && (!png || IsFile(PathOf(json, "depth_npy")))) {
    const fs::path path = PathOf(json, "depth_npy");
    FloatImage image = ReadNpy(path);
    CheckSize(path, image, record);
    frame->depth = std::move(image.values);
    return;
  }
  const fs::path path = PathOf(json, "depth_png");
  const auto note = manifest_.find("depth_png");
  const bool known = note != manifest_.end() && note->is_object() && note->contains("unit") &&
                     (*note)["unit"].is_number();
  const double unit = known ? (*note)["unit"].get<double>() : 0.0;
  Check(std::isfinite(unit) && unit > 0.0, ErrorCode::kCorruptFile,
        "{} does not say in \"depth_png\" what one step of {} is worth",
        (folder_ / kManifestName).string(), path.string());
  const PngImage<uint16_t> image = ReadPng16(path, record.height, record.width);
  frame->depth.clear();
  for (const uint16_t value : image.values) {
    frame->depth.push_back(static_cast<float>(value * unit));
  }
}

bool RunReader::Next(const FrameParts& parts, LoadedFrame* frame) {
  // Lines that came after the folder was opened are not known to be whole.
  std::string line;
  if (line_ >= frames_ || !NextLine(&line)) return false;
  frame->record = ParseRecord(line, &frame->json);
  frame->depth.clear();
  frame->confidence.clear();
  frame->rgb.clear();
  if (parts.depth) LoadDepth(frame);
  if (parts.confidence) {
    Check(Names(frame->json, "confidence_npy"), ErrorCode::kNoInput,
          "{} names no confidence file, and what is made from it cannot be made", Where(line_));
    const fs::path path = PathOf(frame->json, "confidence_npy");
    FloatImage image = ReadNpy(path);
    CheckSize(path, image, frame->record);
    frame->confidence = std::move(image.values);
  }
  if (parts.rgb && Names(frame->json, "image")) {
    const fs::path path = PathOf(frame->json, "image");
    frame->rgb = ReadPngRgb(path, frame->record.height, frame->record.width).values;
  }
  frame->record.depth = frame->depth;
  frame->record.confidence = frame->confidence;
  frame->record.rgb = frame->rgb;
  return true;
}

}  // namespace lingbot
