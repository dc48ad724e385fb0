#ifndef LINGBOT_GEOMETRY_INDUCED_MOTION_H_
#define LINGBOT_GEOMETRY_INDUCED_MOTION_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lingbot/camera.h"

namespace lingbot {

// A frame by which the motion of later frames is measured: its pose, and its depth on a fixed grid
// of at most kMostSamples pixels. Of one size of image for ever; allocates when it is made and
// never again.
class MotionReference {
 public:
  static constexpr int64_t kMostSamples = 4096;

  // Throws kInvalidArgument unless both sides are positive.
  MotionReference(int height, int width);

  // Takes a frame over. depth [height * width]; another size throws kInternal.
  void Set(const PoseEncoding& pose, std::span<const float> depth);

  // How far the points that the reference's depth and pose say it shows move in the image when the
  // camera goes over to `pose`: the mean over the grid of the distance in pixels, as a fraction of
  // the image's width. A point that is carried further than that width, or behind the camera,
  // counts with 1: how much further out of sight it is says nothing about the image. Points without
  // a depth (not finite, not positive) do not count.
  // None where that means nothing: no point has a depth, a pose is not finite, a field of view is
  // none of a pinhole camera.
  std::optional<double> MotionTo(const PoseEncoding& pose) const;

  // What has been taken over, to be stored and taken back; samples() has a fixed size.
  const PoseEncoding& pose() const { return pose_; }
  std::span<const float> samples() const { return samples_; }
  void Restore(const PoseEncoding& pose, std::span<const float> samples);

 private:
  int height_, width_;
  int stride_;  // of the grid
  int first_row_, first_column_;
  int rows_, columns_;
  PoseEncoding pose_{};
  std::vector<float> samples_;  // [rows_, columns_] depths
};

}  // namespace lingbot

#endif  // LINGBOT_GEOMETRY_INDUCED_MOTION_H_
