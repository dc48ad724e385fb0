// A build without FFmpeg.

#include "base/check.h"
#include "media/printable.h"
#include "media/video_source.h"

namespace lingbot {

bool VideoIsAvailable() { return false; }

class VideoSource::Impl {};

VideoSource::VideoSource(const std::filesystem::path& path, const VideoOptions&) {
  Fail(ErrorCode::kUnavailable,
       "{}: this build reads no videos; extract images first, or build with FFmpeg "
       "(LINGBOT_VIDEO=ON)",
       Printable(path));
}
VideoSource::~VideoSource() = default;

std::vector<FrameInfo> VideoSource::Verify(const ThreadTeam&) { return {}; }
std::optional<int64_t> VideoSource::frame_count() const { return std::nullopt; }
bool VideoSource::Next(Image*) { return false; }
std::string VideoSource::description() const { return {}; }
std::string VideoSource::problems() const { return {}; }

}  // namespace lingbot
