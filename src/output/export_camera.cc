#include "output/export_camera.h"

#include <fmt/format.h>

#include "geometry/unproject.h"

namespace lingbot {

std::optional<ExportCamera> ExportCameraOf(const FrameRecord& record) {
  const Intrinsics intrinsics = IntrinsicsOf(record.pose, record.height, record.width);
  if (!IsFinitePose(record.pose) || !CanUnproject(intrinsics) ||
      !IsPhysicalFieldOfView(record.pose)) {
    return std::nullopt;
  }
  return ExportCamera{record.index, RigidPoseOf(record.pose), record.width, record.height,
                      intrinsics};
}

std::string ImageNameOf(int64_t index) { return fmt::format("{:06}.png", index); }

Intrinsics WithHalfPixel(const Intrinsics& intrinsics) {
  return {intrinsics.fx, intrinsics.fy, intrinsics.cx + 0.5, intrinsics.cy + 0.5};
}

}  // namespace lingbot
