#ifndef LINGBOT_OUTPUT_COLMAP_MODEL_H_
#define LINGBOT_OUTPUT_COLMAP_MODEL_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "geometry/point_cloud.h"
#include "output/export_camera.h"

namespace lingbot {

// One camera and one image of a COLMAP model; both have the id position + 1.
struct ColmapImage {
  std::string name;  // within images/
  int width, height;
  double parameters[4];  // PINHOLE: fx fy cx cy, pixel centres at half integers
  double quaternion[4];  // w x y z, camera_from_world
  double translation[3];
  // Points seen, as a range of ColmapModel::observed.
  size_t begin = 0, end = 0;
};

// A run as COLMAP sees it: world-to-camera poses, a camera for each image (fields of view differ
// from frame to frame), and points that were each seen once, by the pixel that they were made of.
// Axes are those of COLMAP, which are OpenCV's.
class ColmapModel {
 public:
  void AddFrame(const FrameRecord& record);

  // Takes the points of frames that have a camera. Their ids are position + 1. `cloud` must have
  // origins and outlive this object.
  void SetPoints(const PointCloud& cloud);

  std::span<const ColmapImage> images() const { return images_; }
  // Positions in the cloud, image by image, in the order of pixels.
  std::span<const uint32_t> Observed(const ColmapImage& image) const;
  // Column and row of where a point was seen, pixel centres at half integers.
  std::pair<double, double> PixelOf(uint32_t point) const;

  struct Track {
    uint32_t image;     // id
    uint32_t position;  // among the points that the image saw
  };
  size_t point_count() const { return observed_.size(); }
  bool HasTrack(uint32_t point) const { return tracks_[point].image != 0; }
  const Track& TrackOf(uint32_t point) const { return tracks_[point]; }
  const PointCloud& cloud() const { return *cloud_; }

 private:
  std::vector<ColmapImage> images_;
  std::vector<uint32_t> image_of_frame_;  // id, 0 = none; by order of AddFrame
  const PointCloud* cloud_ = nullptr;
  std::vector<uint32_t> observed_;
  std::vector<Track> tracks_;  // by point
};

}  // namespace lingbot

#endif  // LINGBOT_OUTPUT_COLMAP_MODEL_H_
