#include "geometry/point_cloud.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "geometry/unproject.h"

namespace lingbot {
namespace {

constexpr int64_t kLargestBudget = 1'000'000'000;  // 4 times this still fits an index of 32 bits
constexpr size_t kConfidenceSample = 65'536;

// SplitMix64: one addition and a mix per number, and the state is a counter.
uint64_t NextRandom(uint64_t* state) {
  uint64_t z = (*state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// In [0, bound). 53 random bits: bounds here stay far below, so the bias is negligible.
uint64_t RandomBelow(uint64_t* state, uint64_t bound) {
  const double unit = static_cast<double>(NextRandom(state) >> 11) * 0x1p-53;
  return std::min(static_cast<uint64_t>(unit * static_cast<double>(bound)), bound - 1);
}

int64_t CapacityOf(const PointCloudOptions& options) {
  const PointFilterOptions& filter = options.filter;
  const double near_part = 1.0 - filter.distance_quantile;
  const double sure_part = filter.min_confidence ? 1.0 : 1.0 - filter.confidence_quantile;
  const double wanted = static_cast<double>(options.point_budget) / (sure_part * near_part);
  return static_cast<int64_t>(
      std::min(std::ceil(wanted), 4.0 * static_cast<double>(options.point_budget)));
}

void CheckMaps(const PointCloudFrame& frame) {
  Check(frame.height > 0 && frame.width > 0, ErrorCode::kShapeMismatch,
        "a frame for the point cloud is {}x{} pixels; both sides must be positive", frame.width,
        frame.height);
  const size_t pixels = static_cast<size_t>(frame.height) * static_cast<size_t>(frame.width);
  Check(frame.depth.size() == pixels && frame.confidence.size() == pixels &&
            frame.rgb.size() == 3 * pixels,
        ErrorCode::kShapeMismatch,
        "a frame of {}x{} pixels for the point cloud needs {} depths, {} confidences and {} colour "
        "values, "
        "but has {}, {} and {}",
        frame.width, frame.height, pixels, pixels, 3 * pixels, frame.depth.size(),
        frame.confidence.size(), frame.rgb.size());
  Check(frame.mask.empty() || frame.mask.size() == pixels, ErrorCode::kShapeMismatch,
        "a frame of {}x{} pixels for the point cloud comes with a mask of {} values", frame.width,
        frame.height, frame.mask.size());
}

using VoxelIndex = std::array<double, 3>;

// Kept as doubles: tiny voxels give indices beyond any integer type, and whole doubles compare
// exactly.
VoxelIndex VoxelOf(float x, float y, float z, double size) {
  return {std::floor(x / size), std::floor(y / size), std::floor(z / size)};
}

}  // namespace

PointCloudBuilder::PointCloudBuilder(const PointCloudOptions& options)
    : options_(options), random_state_(options.seed) {
  CheckPointFilterOptions(options.filter);
  Check(options.point_budget >= 1 && options.point_budget <= kLargestBudget,
        ErrorCode::kInvalidArgument, "the point budget is {}, but must be between 1 and {}",
        options.point_budget, kLargestBudget);
  Check(
      options.voxel_size == 0.0 || (options.voxel_size > 0.0 && std::isnormal(options.voxel_size)),
      ErrorCode::kInvalidArgument,
      "the voxel size is {}, but must be 0 (off) or positive and finite, in the unit of the depths",
      options.voxel_size);
  capacity_ = CapacityOf(options);
}

void PointCloudBuilder::Reserve(int64_t candidates) {
  const int64_t wanted = std::clamp<int64_t>(candidates, 0, capacity_);
  if (wanted <= static_cast<int64_t>(candidates_.capacity())) return;
  // Reserved pages count as resident only once written, so they are written.
  const size_t used = candidates_.size();
  const auto touch = [&](auto* values) {
    values->resize(static_cast<size_t>(wanted));
    values->resize(used);
  };
  touch(&candidates_);
  if (options_.keep_origins) touch(&origins_);
  if (options_.filter.distance_quantile > 0.0) touch(&distances_);
}

int64_t PointCloudBuilder::candidate_bytes() const {
  const bool far = options_.filter.distance_quantile > 0.0;
  const size_t kept = sizeof(Candidate) + (options_.keep_origins ? sizeof(PointOrigin) : 0) +
                      (far ? sizeof(float) : 0);
  // An index, the point itself, and its origin; before, indices and values for a quantile.
  const size_t built = sizeof(uint32_t) + sizeof(ColoredPoint) +
                       (options_.keep_origins ? sizeof(PointOrigin) : 0) + sizeof(float);
  return static_cast<int64_t>(kept + built);
}

uint64_t PointCloudBuilder::NextRandomBelow(uint64_t bound) {
  return RandomBelow(&random_state_, bound);
}

void PointCloudBuilder::NoteConfidence(float confidence) {
  report_.min_confidence =
      confidences_ == 0 ? confidence : std::min(report_.min_confidence, confidence);
  report_.max_confidence =
      confidences_ == 0 ? confidence : std::max(report_.max_confidence, confidence);
  ++confidences_;
  if (confidence_sample_.size() < kConfidenceSample) {
    confidence_sample_.push_back(confidence);
    return;
  }
  const uint64_t slot = NextRandomBelow(static_cast<uint64_t>(confidences_));
  if (slot < confidence_sample_.size()) confidence_sample_[slot] = confidence;
}

bool PointCloudBuilder::PassesFilters(const PointCloudFrame& frame, int row, int column) {
  const size_t pixel = static_cast<size_t>(row) * frame.width + column;
  if (!IsUsableDepth(frame.depth[pixel])) {
    ++report_.dropped_depth;
    return false;
  }
  if (!frame.mask.empty() && frame.mask[pixel] == 0) {
    ++report_.dropped_mask;
    return false;
  }
  const float confidence = frame.confidence[pixel];
  if (std::isfinite(confidence)) NoteConfidence(confidence);
  const PointFilterOptions& filter = options_.filter;
  if (!std::isfinite(confidence) ||
      (filter.min_confidence && confidence < *filter.min_confidence)) {
    ++report_.dropped_confidence;
    return false;
  }
  if (filter.depth_edge > 0.0 &&
      IsDepthEdge(frame.depth, frame.height, frame.width, row, column, filter.depth_edge)) {
    ++report_.dropped_edge;
    return false;
  }
  return true;
}

// Algorithm R (Vitter, "Random sampling with a reservoir", 1985).
void PointCloudBuilder::AddCandidate(const Candidate& candidate, const PointOrigin& origin,
                                     float distance) {
  ++report_.candidates;
  if (static_cast<int64_t>(candidates_.size()) < capacity_) {
    candidates_.emplace_back();
    if (options_.keep_origins) origins_.emplace_back();
    if (options_.filter.distance_quantile > 0.0) distances_.emplace_back();
    StoreCandidate(candidates_.size() - 1, candidate, origin, distance);
    return;
  }
  const uint64_t slot = NextRandomBelow(static_cast<uint64_t>(report_.candidates));
  if (slot < candidates_.size()) StoreCandidate(slot, candidate, origin, distance);
}

void PointCloudBuilder::StoreCandidate(size_t slot, const Candidate& candidate,
                                       const PointOrigin& origin, float distance) {
  candidates_[slot] = candidate;
  if (options_.keep_origins) origins_[slot] = origin;
  if (options_.filter.distance_quantile > 0.0) distances_[slot] = distance;
}

void PointCloudBuilder::Add(const PointCloudFrame& frame) {
  CheckMaps(frame);
  ++report_.frames;
  report_.pixels += int64_t{frame.height} * frame.width;
  if (!CanUnproject(frame.intrinsics) || !IsFinitePose(frame.pose)) {
    ++report_.frames_without_camera;
    return;
  }
  if (!IsPhysicalFieldOfView(frame.pose)) ++report_.frames_with_odd_camera;
  const RigidPose pose = RigidPoseOf(frame.pose);
  const Unprojector unproject(pose, frame.intrinsics);
  const auto frame_number = static_cast<uint32_t>(report_.frames - 1);
  for (int row = 0; row < frame.height; ++row) {
    for (int column = 0; column < frame.width; ++column) {
      if (!PassesFilters(frame, row, column)) continue;
      const size_t pixel = static_cast<size_t>(row) * frame.width + column;
      const Eigen::Vector3d exact = unproject(column, row, frame.depth[pixel]);
      const Eigen::Vector3f world = exact.cast<float>();
      if (!world.allFinite()) {
        ++report_.dropped_depth;
        continue;
      }
      const uint8_t* rgb = &frame.rgb[3 * pixel];
      AddCandidate(
          {world.x(), world.y(), world.z(), frame.confidence[pixel], rgb[0], rgb[1], rgb[2]},
          {frame_number, static_cast<uint32_t>(pixel)},
          static_cast<float>((exact - pose.center).norm()));
    }
  }
}

std::vector<uint32_t> PointCloudBuilder::SelectByConfidence(float* threshold) const {
  *threshold = 0.0f;
  if (candidates_.empty()) return {};
  if (options_.filter.min_confidence) {
    *threshold = *options_.filter.min_confidence;
  } else {
    std::vector<float> confidences(candidates_.size());
    std::transform(candidates_.begin(), candidates_.end(), confidences.begin(),
                   [](const Candidate& candidate) { return candidate.confidence; });
    *threshold = QuantileOf(confidences, options_.filter.confidence_quantile);
  }
  std::vector<uint32_t> selected;
  for (uint32_t i = 0; i < candidates_.size(); ++i) {
    if (candidates_[i].confidence >= *threshold) selected.push_back(i);
  }
  return selected;
}

void PointCloudBuilder::DropFarthest(std::vector<uint32_t>* selected, float* farthest) const {
  const double quantile = options_.filter.distance_quantile;
  if (quantile == 0.0 || selected->empty()) return;
  std::vector<float> distances;
  distances.reserve(selected->size());
  for (const uint32_t i : *selected) distances.push_back(distances_[i]);
  // A little less than a whole number is one: 0.9 * 10 must leave 9, not 10.
  const double wanted = (1.0 - quantile) * static_cast<double>(distances.size());
  const auto kept = static_cast<size_t>(std::max(1.0, std::ceil(wanted - 1e-6)));
  const auto last = distances.begin() + static_cast<std::ptrdiff_t>(kept - 1);
  std::nth_element(distances.begin(), last, distances.end());
  *farthest = *last;
  const auto end = std::remove_if(selected->begin(), selected->end(),
                                  [&](uint32_t i) { return distances_[i] > *farthest; });
  selected->erase(end, selected->end());
}

void PointCloudBuilder::KeepBestPerVoxel(std::vector<uint32_t>* selected) const {
  const auto voxel = [this](uint32_t i) {
    const Candidate& c = candidates_[i];
    return VoxelOf(c.x, c.y, c.z, options_.voxel_size);
  };
  std::sort(selected->begin(), selected->end(), [&](uint32_t a, uint32_t b) {
    const VoxelIndex voxel_a = voxel(a);
    const VoxelIndex voxel_b = voxel(b);
    if (voxel_a != voxel_b) return voxel_a < voxel_b;
    if (candidates_[a].confidence != candidates_[b].confidence) {
      return candidates_[a].confidence > candidates_[b].confidence;
    }
    return a < b;
  });
  const auto end = std::unique(selected->begin(), selected->end(),
                               [&](uint32_t a, uint32_t b) { return voxel(a) == voxel(b); });
  selected->erase(end, selected->end());
}

// Selection sampling (Knuth, TAOCP 3.4.2, algorithm S): keeps the order, exact count.
void PointCloudBuilder::ReduceToBudget(std::vector<uint32_t>* selected) const {
  uint64_t needed = static_cast<uint64_t>(options_.point_budget);
  if (selected->size() <= needed) return;
  uint64_t state = ~options_.seed;
  size_t kept = 0;
  for (size_t i = 0; i < selected->size() && needed > 0; ++i) {
    if (RandomBelow(&state, selected->size() - i) < needed) {
      (*selected)[kept++] = (*selected)[i];
      --needed;
    }
  }
  selected->resize(kept);
}

std::string PointCloudBuilder::ExplainEmpty(const PointCloudReport& report) const {
  if (report.frames == 0) return "the point cloud is empty because no frame was added";
  if (report.frames_without_camera == report.frames) {
    return fmt::format(
        "the point cloud is empty because none of the {} frames has a usable camera: the pose is "
        "not finite, "
        "or the field of view is 0, which makes the focal length infinite; check that the weights "
        "belong to "
        "this model",
        report.frames);
  }
  const std::string counts = fmt::format(
      "of {} pixels in {} frames ({} without a camera), {} have no finite positive depth, {} are "
      "masked, {} lie on depth edges and {} are below the confidence threshold",
      report.pixels, report.frames, report.frames_without_camera, report.dropped_depth,
      report.dropped_mask, report.dropped_edge, report.dropped_confidence);
  if (confidences_ == 0) return fmt::format("the point cloud is empty: {}", counts);
  const std::string range =
      fmt::format("confidences are min {:.6g}, median {:.6g}, max {:.6g}", report.min_confidence,
                  report.median_confidence, report.max_confidence);
  if (options_.filter.min_confidence) {
    return fmt::format(
        "the point cloud is empty with confidence threshold {:.6g}: {}; {}; lower the threshold or "
        "use a "
        "quantile, e.g. 0.5 for the upper half",
        *options_.filter.min_confidence, counts, range);
  }
  return fmt::format("the point cloud is empty: {}; {}; loosen or switch off the depth edge filter",
                     counts, range);
}

PointCloud PointCloudBuilder::Build() const {
  PointCloud cloud;
  cloud.report = report_;
  if (confidences_ > 0) {
    std::vector<float> sample = confidence_sample_;
    cloud.report.median_confidence = QuantileOf(sample, 0.5);
  }
  std::vector<uint32_t> selected = SelectByConfidence(&cloud.report.threshold);
  DropFarthest(&selected, &cloud.report.farthest);
  if (options_.voxel_size > 0.0) KeepBestPerVoxel(&selected);
  ReduceToBudget(&selected);
  cloud.points.reserve(selected.size());
  for (const uint32_t i : selected) {
    const Candidate& c = candidates_[i];
    cloud.points.push_back({c.x, c.y, c.z, c.red, c.green, c.blue});
  }
  if (options_.keep_origins) {
    cloud.origins.reserve(selected.size());
    for (const uint32_t i : selected) cloud.origins.push_back(origins_[i]);
  }
  cloud.report.points = static_cast<int64_t>(cloud.points.size());
  if (cloud.points.empty()) cloud.problem = ExplainEmpty(cloud.report);
  return cloud;
}

}  // namespace lingbot
