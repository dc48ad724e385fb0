#include "geometry/induced_motion.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "geometry/unproject.h"

namespace lingbot {
namespace {

// Samples begin in the middle of the first stride or, where that is longer than the side, of that.
int FirstSample(int side, int stride) { return std::min(stride / 2, (side - 1) / 2); }

int SamplesOf(int side, int stride) { return (side - 1 - FirstSample(side, stride)) / stride + 1; }

// Of the finest grid with no more than kMostSamples points.
int StrideOf(int height, int width) {
  int stride = 1;
  const auto samples = [&](int s) { return int64_t{SamplesOf(height, s)} * SamplesOf(width, s); };
  while (samples(stride) > MotionReference::kMostSamples) ++stride;
  return stride;
}

bool IsUsable(const PoseEncoding& pose) {
  return IsFinitePose(pose) && IsPhysicalFieldOfView(pose);
}

}  // namespace

MotionReference::MotionReference(int height, int width) : height_(height), width_(width) {
  Check(height > 0 && width > 0, ErrorCode::kInvalidArgument,
        "motion was to be measured in an image of {}x{} pixels", width, height);
  stride_ = StrideOf(height, width);
  first_row_ = FirstSample(height, stride_);
  first_column_ = FirstSample(width, stride_);
  rows_ = SamplesOf(height, stride_);
  columns_ = SamplesOf(width, stride_);
  samples_.assign(static_cast<size_t>(rows_) * columns_, 0.0f);
}

void MotionReference::Set(const PoseEncoding& pose, std::span<const float> depth) {
  Check(depth.size() == static_cast<size_t>(height_) * width_, ErrorCode::kInternal,
        "motion in an image of {}x{} pixels was given {} depths", width_, height_, depth.size());
  pose_ = pose;
  auto sample = samples_.begin();
  for (int row = 0; row < rows_; ++row) {
    const size_t line = (static_cast<size_t>(row) * stride_ + first_row_) * width_;
    for (int column = 0; column < columns_; ++column) {
      *sample++ = depth[line + static_cast<size_t>(column) * stride_ + first_column_];
    }
  }
}

void MotionReference::Restore(const PoseEncoding& pose, std::span<const float> samples) {
  Check(samples.size() == samples_.size(), ErrorCode::kInternal,
        "a grid of {} depths was to be restored from {}", samples_.size(), samples.size());
  pose_ = pose;
  std::copy(samples.begin(), samples.end(), samples_.begin());
}

std::optional<double> MotionReference::MotionTo(const PoseEncoding& pose) const {
  if (!IsUsable(pose_) || !IsUsable(pose)) return std::nullopt;
  const Unprojector unproject(RigidPoseOf(pose_), IntrinsicsOf(pose_, height_, width_));
  const RigidPose camera = RigidPoseOf(pose);
  const Eigen::Matrix3d camera_from_world = camera.rotation.conjugate().toRotationMatrix();
  const Intrinsics k = IntrinsicsOf(pose, height_, width_);
  double sum = 0.0;
  int64_t count = 0;
  for (int row = 0; row < rows_; ++row) {
    for (int column = 0; column < columns_; ++column) {
      const double depth = samples_[static_cast<size_t>(row) * columns_ + column];
      if (!std::isfinite(depth) || depth <= 0) continue;
      const double u = column * stride_ + first_column_;
      const double v = row * stride_ + first_row_;
      const Eigen::Vector3d point = camera_from_world * (unproject(u, v, depth) - camera.center);
      const double moved = std::hypot(k.fx * point.x() / point.z() + k.cx - u,
                                      k.fy * point.y() / point.z() + k.cy - v);
      const bool in_sight = point.z() > 0 && moved < width_;
      sum += in_sight ? moved / width_ : 1.0;
      ++count;
    }
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

}  // namespace lingbot
