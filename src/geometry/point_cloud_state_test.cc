// A cloud that was saved half-way and goes on is the cloud that was never saved.

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/check.h"
#include "geometry/point_cloud.h"

namespace lingbot {
namespace {

class StateBytes : public ByteSink, public ByteSource {
 public:
  void Write(const void* data, size_t bytes) override {
    const char* begin = static_cast<const char*>(data);
    bytes_.insert(bytes_.end(), begin, begin + bytes);
  }
  void Read(void* data, size_t bytes) override {
    Check(bytes <= left(), ErrorCode::kCorruptFile, "the end");
    std::memcpy(data, bytes_.data() + position_, bytes);
    position_ += bytes;
  }
  uint64_t left() const override { return bytes_.size() - position_; }
  const std::string& name() const override { return name_; }
  std::vector<char>& bytes() { return bytes_; }

 private:
  std::vector<char> bytes_;
  size_t position_ = 0;
  std::string name_ = "memory";
};

void AddFrameTo(PointCloudBuilder& builder, int index) {
  constexpr int kSide = 16;
  std::vector<float> depth, confidence;
  std::vector<uint8_t> rgb;
  for (int i = 0; i < kSide * kSide; ++i) {
    depth.push_back(1.0f + 0.01f * static_cast<float>((i * 7 + index) % 31));
    confidence.push_back(1.0f + static_cast<float>((i * 13 + index * 5) % 101));
    for (int c = 0; c < 3; ++c) rgb.push_back(static_cast<uint8_t>(i + index + c));
  }
  const PoseEncoding pose = {static_cast<float>(index), 0, 0, 0, 0, 0, 1, 1.0f, 1.0f};
  builder.Add({kSide, kSide, depth, confidence, rgb, pose, IntrinsicsOf(pose, kSide, kSide)});
}

bool SamePoints(const PointCloud& a, const PointCloud& b) {
  if (a.points.size() != b.points.size()) return false;
  for (size_t i = 0; i < a.points.size(); ++i) {
    const ColoredPoint &p = a.points[i], &q = b.points[i];
    if (p.x != q.x || p.y != q.y || p.z != q.z || p.red != q.red || p.green != q.green ||
        p.blue != q.blue) {
      return false;
    }
  }
  return a.report.candidates == b.report.candidates && a.report.threshold == b.report.threshold &&
         a.report.median_confidence == b.report.median_confidence &&
         a.report.pixels == b.report.pixels && a.report.frames == b.report.frames;
}

// Before, at and long after the reservoir (2,000 candidates) is full.
TEST(PointCloudState, GoesOnAsIfNothingHadHappened) {
  PointCloudOptions options;
  options.point_budget = 1000;
  options.filter.confidence_quantile = 0.5;
  options.voxel_size = 0.05;
  constexpr int kFrames = 40;
  PointCloudBuilder whole(options);
  for (int i = 0; i < kFrames; ++i) AddFrameTo(whole, i);
  for (const int cut : {0, 1, 7, 8, 30, kFrames}) {
    PointCloudBuilder first(options);
    for (int i = 0; i < cut; ++i) AddFrameTo(first, i);
    StateBytes state;
    first.Save(state);
    PointCloudBuilder second(options);
    second.Load(state);
    EXPECT_EQ(state.left(), 0u);
    for (int i = cut; i < kFrames; ++i) AddFrameTo(second, i);
    EXPECT_TRUE(SamePoints(second.Build(), whole.Build())) << cut;
  }
}

TEST(PointCloudState, DamageIsAnError) {
  PointCloudOptions options;
  options.point_budget = 50;
  PointCloudBuilder builder(options);
  AddFrameTo(builder, 0);
  StateBytes state;
  builder.Save(state);
  for (size_t length = 0; length < state.bytes().size(); length += 7) {
    StateBytes cut;
    cut.Write(state.bytes().data(), length);
    PointCloudBuilder other(options);
    EXPECT_THROW(other.Load(cut), Error) << length;
  }
  for (size_t i = 0; i + 8 <= 100; ++i) {
    StateBytes changed;
    changed.Write(state.bytes().data(), state.bytes().size());
    std::memset(changed.bytes().data() + i, 0xFF, 8);
    PointCloudBuilder other(options);
    try {
      other.Load(changed);
      AddFrameTo(other, 1);
      other.Build();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCorruptFile) << error.what();
    }
  }
}

}  // namespace
}  // namespace lingbot
