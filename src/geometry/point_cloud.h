#ifndef LINGBOT_GEOMETRY_POINT_CLOUD_H_
#define LINGBOT_GEOMETRY_POINT_CLOUD_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/byte_stream.h"
#include "geometry/point_filter.h"
#include "lingbot/camera.h"

namespace lingbot {

struct PointCloudOptions {
  PointFilterOptions filter;
  double voxel_size =
      0.0;  // > 0: one point, the most confident, per cube of this side (world units)
  int64_t point_budget = 2'000'000;  // at most so many points; a random choice of them beyond
  uint64_t seed = 0;                 // of that choice; same input, options and seed: same cloud
  bool keep_origins = false;         // 8 bytes per candidate more
};

// One frame as the model sees it. All maps are row-major.
struct PointCloudFrame {
  int height = 0;
  int width = 0;
  std::span<const float> depth;       // [height, width]
  std::span<const float> confidence;  // [height, width]
  std::span<const uint8_t> rgb;       // [height, width, 3], the resized image
  PoseEncoding pose = {};
  Intrinsics intrinsics = {};          // of the resized image
  std::span<const uint8_t> mask = {};  // [height, width], 0 drops the pixel; empty: keep all
};

struct ColoredPoint {
  float x, y, z;  // world, OpenCV axes
  uint8_t red, green, blue;
};

// The pixel that a point was made of.
struct PointOrigin {
  uint32_t frame;  // how many frames were added before its own
  uint32_t pixel;  // row * width + column
};

// What happened to the pixels, for messages and manifests.
struct PointCloudReport {
  int64_t frames = 0;
  int64_t frames_without_camera =
      0;  // pose not finite or focal length infinite (field of view 0): no points
  int64_t frames_with_odd_camera = 0;  // field of view outside (0, pi): points of no meaning
  int64_t pixels = 0;
  int64_t dropped_depth = 0;  // depth not finite and positive, or the point not finite
  int64_t dropped_mask = 0;
  int64_t dropped_edge = 0;        // depth edge
  int64_t dropped_confidence = 0;  // not finite, or below min_confidence
  int64_t candidates = 0;          // pixels that passed all of these
  int64_t points = 0;
  float threshold = 0.0f;  // the confidence a point has at least; 0 if there are no points
  // The distance from its camera that a point has at most; 0 without a distance quantile.
  float farthest = 0.0f;
  // Of the finite confidences of pixels with usable depth; the median from a sample of at most
  // 65,536.
  float min_confidence = 0.0f;
  float median_confidence = 0.0f;
  float max_confidence = 0.0f;
};

struct PointCloud {
  std::vector<ColoredPoint> points;  // finite, at most point_budget
  std::vector<PointOrigin> origins;  // one per point with keep_origins, else empty
  PointCloudReport report;
  std::string problem;  // why there are no points, and what to do; empty if there are some
};

// Collects the points of a stream of any length in bounded memory.
//
// Candidates (pixels that pass every filter but the quantile) go through a reservoir: a uniform
// random sample of all candidates so far. With a quantile q it holds point_budget / (1 - q) of
// them, so that about the budget is left after the quantile (a distance quantile likewise); at most
// 4 * point_budget, 20 bytes each, with origins 8 more, with a distance quantile 4 more. The
// quantile is one of the whole stream, not per frame: its threshold is the q-quantile of the
// reservoir's confidences. That is exact while all candidates fit, and an estimate beyond (of 4
// million sampled, q = 0.5 is met within 0.1 %). Frames of low confidence thus give few points, as
// they should. The voxel grid and the budget are applied at the end, in this order.
class PointCloudBuilder {
 public:
  // Throws kInvalidArgument.
  explicit PointCloudBuilder(const PointCloudOptions& options);

  // Takes the memory for this many candidates now (never more than the reservoir holds), so that it
  // does not grow later.
  void Reserve(int64_t candidates);

  // Throws kShapeMismatch if the maps do not match height and width; then nothing was added.
  void Add(const PointCloudFrame& frame);

  // The cloud so far; more frames may follow. Takes 4 to 24 bytes per candidate besides the result.
  PointCloud Build() const;

  // The state, and back: a builder of the same options then makes the same cloud of the frames to
  // come. Load throws kCorruptFile and what `source` throws; the builder is then of no more use.
  void Save(ByteSink& sink) const;
  void Load(ByteSource& source);

  int64_t capacity() const { return capacity_; }  // candidates the reservoir holds at most

  // Of the memory of one candidate, at most, while frames are added and while the cloud is built.
  int64_t candidate_bytes() const;

 private:
  struct Candidate {
    float x, y, z;
    float confidence;
    uint8_t red, green, blue;
  };

  bool PassesFilters(const PointCloudFrame& frame, int row, int column);
  void NoteConfidence(float confidence);
  void AddCandidate(const Candidate& candidate, const PointOrigin& origin, float distance);
  void StoreCandidate(size_t slot, const Candidate& candidate, const PointOrigin& origin,
                      float distance);
  uint64_t NextRandomBelow(uint64_t bound);
  std::vector<uint32_t> SelectByConfidence(float* threshold) const;
  void DropFarthest(std::vector<uint32_t>* selected, float* farthest) const;
  void KeepBestPerVoxel(std::vector<uint32_t>* selected) const;
  void ReduceToBudget(std::vector<uint32_t>* selected) const;
  std::string ExplainEmpty(const PointCloudReport& report) const;

  PointCloudOptions options_;
  int64_t capacity_;
  std::vector<Candidate> candidates_;
  std::vector<PointOrigin> origins_;      // as candidates_, or empty
  std::vector<float> distances_;          // as candidates_, or empty
  std::vector<float> confidence_sample_;  // a reservoir of its own, before the confidence filter
  int64_t confidences_ = 0;               // finite confidences seen
  uint64_t random_state_;
  PointCloudReport report_;
};

}  // namespace lingbot

#endif  // LINGBOT_GEOMETRY_POINT_CLOUD_H_
