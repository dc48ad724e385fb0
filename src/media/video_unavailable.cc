// A build without FFmpeg.

#include "base/check.h"
#include "media/live_source.h"
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

class LiveSource::Impl {};

bool IsStreamAddress(const std::string& text) { return text.find("://") != std::string::npos; }

LiveSource::LiveSource(LiveInput input, const LiveOptions&) {
  Fail(ErrorCode::kUnavailable,
       "{}: this build reads no cameras or streams but raw RGB; build with FFmpeg "
       "(LINGBOT_VIDEO=ON)",
       input.label);
}
LiveSource::~LiveSource() = default;

std::vector<FrameInfo> LiveSource::Verify(const ThreadTeam&) { return {}; }
bool LiveSource::Next(Image*) { return false; }
std::string LiveSource::description() const { return {}; }
std::string LiveSource::problems() const { return {}; }
void LiveSource::Cancel() {}

}  // namespace lingbot
