#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "geometry/point_cloud.h"

namespace lingbot {
namespace {

constexpr size_t kRecordBytes = 20;  // x, y, z, confidence; red, green, blue, 0
constexpr size_t kChunk = 4096;      // records
constexpr uint64_t kMostConfidences = 65'536;

}  // namespace

void PointCloudBuilder::Save(ByteSink& sink) const {
  WriteValue(sink, random_state_);
  WriteValue(sink, confidences_);
  for (const int64_t number :
       {report_.frames, report_.frames_without_camera, report_.frames_with_odd_camera,
        report_.pixels, report_.dropped_depth, report_.dropped_mask, report_.dropped_edge,
        report_.dropped_confidence, report_.candidates}) {
    WriteValue(sink, number);
  }
  WriteValue(sink, report_.min_confidence);
  WriteValue(sink, report_.max_confidence);
  WriteList(sink, confidence_sample_.data(), confidence_sample_.size());
  WriteValue(sink, static_cast<uint64_t>(candidates_.size()));
  std::vector<char> chunk(kChunk * kRecordBytes);
  for (size_t first = 0; first < candidates_.size(); first += kChunk) {
    const size_t count = std::min(kChunk, candidates_.size() - first);
    for (size_t i = 0; i < count; ++i) {
      const Candidate& candidate = candidates_[first + i];
      const float floats[] = {candidate.x, candidate.y, candidate.z, candidate.confidence};
      const uint8_t bytes[] = {candidate.red, candidate.green, candidate.blue, 0};
      std::memcpy(&chunk[i * kRecordBytes], floats, sizeof(floats));
      std::memcpy(&chunk[i * kRecordBytes + sizeof(floats)], bytes, sizeof(bytes));
    }
    sink.Write(chunk.data(), count * kRecordBytes);
  }
  for (const PointOrigin& origin : origins_) {
    WriteValue(sink, origin.frame);
    WriteValue(sink, origin.pixel);
  }
  WriteList(sink, distances_.data(), distances_.size());
}

void PointCloudBuilder::Load(ByteSource& source) {
  random_state_ = ReadValue<uint64_t>(source);
  confidences_ = ReadInRange<int64_t>(source, "the number of confidences", 0, INT64_MAX / 2);
  for (int64_t* number :
       {&report_.frames, &report_.frames_without_camera, &report_.frames_with_odd_camera,
        &report_.pixels, &report_.dropped_depth, &report_.dropped_mask, &report_.dropped_edge,
        &report_.dropped_confidence, &report_.candidates}) {
    *number = ReadInRange<int64_t>(source, "a count of the point cloud", 0, INT64_MAX / 2);
  }
  report_.min_confidence = ReadValue<float>(source);
  report_.max_confidence = ReadValue<float>(source);
  confidence_sample_ = ReadList<float>(source, "the sample of confidences", kMostConfidences);
  const auto size =
      ReadInRange<uint64_t>(source, "the number of points", 0,
                            static_cast<uint64_t>(std::min(capacity_, report_.candidates)));
  Check(size <= source.left() / kRecordBytes, ErrorCode::kCorruptFile,
        "{} is damaged: it ends before its {} points", source.name(), size);
  candidates_.clear();
  candidates_.reserve(static_cast<size_t>(size));
  std::vector<char> chunk(kChunk * kRecordBytes);
  while (candidates_.size() < size) {
    const size_t count = std::min(kChunk, static_cast<size_t>(size) - candidates_.size());
    source.Read(chunk.data(), count * kRecordBytes);
    for (size_t i = 0; i < count; ++i) {
      float floats[4];
      uint8_t bytes[4];
      std::memcpy(floats, &chunk[i * kRecordBytes], sizeof(floats));
      std::memcpy(bytes, &chunk[i * kRecordBytes + sizeof(floats)], sizeof(bytes));
      candidates_.push_back(
          {floats[0], floats[1], floats[2], floats[3], bytes[0], bytes[1], bytes[2]});
    }
  }
  origins_.clear();
  for (uint64_t i = 0; options_.keep_origins && i < size; ++i) {
    const auto frame = ReadValue<uint32_t>(source);
    const auto pixel = ReadValue<uint32_t>(source);
    Check(frame < report_.frames, ErrorCode::kCorruptFile,
          "{} is damaged: a point comes from frame {} of {}", source.name(), frame, report_.frames);
    origins_.push_back({frame, pixel});
  }
  distances_ = ReadList<float>(source, "the distances of points", size);
  const uint64_t distances = options_.filter.distance_quantile > 0.0 ? size : 0;
  Check(distances_.size() == distances, ErrorCode::kCorruptFile,
        "{} is damaged: there are {} distances of {} points", source.name(), distances_.size(),
        size);
}

}  // namespace lingbot
