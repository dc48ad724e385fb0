#include "output/colmap_model.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace lingbot {

void ColmapModel::AddFrame(const FrameRecord& record) {
  const auto camera = ExportCameraOf(record);
  image_of_frame_.push_back(camera ? static_cast<uint32_t>(images_.size() + 1) : 0);
  if (!camera) return;
  ColmapImage image;
  image.name = ImageNameOf(camera->index);
  image.width = camera->width;
  image.height = camera->height;
  const Intrinsics k = WithHalfPixel(camera->intrinsics);
  const double parameters[4] = {k.fx, k.fy, k.cx, k.cy};
  std::copy_n(parameters, 4, image.parameters);
  const Eigen::Quaterniond q = UnitQuaternion(camera->pose.rotation.conjugate());
  const Eigen::Vector3d t = -(q * camera->pose.center);
  const double quaternion[4] = {q.w(), q.x(), q.y(), q.z()};
  std::copy_n(quaternion, 4, image.quaternion);
  for (int i = 0; i < 3; ++i) image.translation[i] = t[i] + 0.0;
  images_.push_back(std::move(image));
}

void ColmapModel::SetPoints(const PointCloud& cloud) {
  Check(cloud.origins.size() == cloud.points.size(), ErrorCode::kInternal,
        "{} points come with {} origins", cloud.points.size(), cloud.origins.size());
  cloud_ = &cloud;
  const auto image_of = [&](uint32_t point) {
    return image_of_frame_.at(cloud.origins[point].frame);
  };
  tracks_.assign(cloud.points.size(), {0, 0});
  for (uint32_t i = 0; i < cloud.points.size(); ++i) {
    if (image_of(i) != 0) observed_.push_back(i);
  }
  std::sort(observed_.begin(), observed_.end(), [&](uint32_t a, uint32_t b) {
    const PointOrigin& first = cloud.origins[a];
    const PointOrigin& second = cloud.origins[b];
    return first.frame != second.frame ? first.frame < second.frame : first.pixel < second.pixel;
  });
  for (size_t i = 0; i < observed_.size(); ++i) {
    const uint32_t id = image_of(observed_[i]);
    ColmapImage& image = images_[id - 1];
    if (image.begin == image.end) image.begin = i;
    image.end = i + 1;
    tracks_[observed_[i]] = {id, static_cast<uint32_t>(i - image.begin)};
  }
}

std::span<const uint32_t> ColmapModel::Observed(const ColmapImage& image) const {
  return std::span(observed_).subspan(image.begin, image.end - image.begin);
}

std::pair<double, double> ColmapModel::PixelOf(uint32_t point) const {
  const auto width = static_cast<uint32_t>(images_[tracks_[point].image - 1].width);
  const uint32_t pixel = cloud_->origins[point].pixel;
  return {pixel % width + 0.5, pixel / width + 0.5};
}

}  // namespace lingbot
