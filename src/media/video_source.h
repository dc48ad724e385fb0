#ifndef LINGBOT_MEDIA_VIDEO_SOURCE_H_
#define LINGBOT_MEDIA_VIDEO_SOURCE_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "media/frame_selector.h"
#include "media/frame_source.h"

namespace lingbot {

struct VideoOptions {
  Sampling sampling;
  int threads = 0;  // of the decoder, 0 = as many as are useful; frames in flight cost memory
  // Larger frames are refused before any memory is allocated for their pixels.
  int64_t max_pixels = 8192 * 8192;
};

// Whether this build reads video.
bool VideoIsAvailable();

// The frames of a video file, upright, as they are shown: Image::timestamp is the presentation
// time in seconds since the beginning of the video, Image::source_index the number of the frame
// in it, Image::name "FILE frame NUMBER". Damaged frames are left out and counted (problems()).
//
// Nothing that the file refers to is opened, and nothing is written.
class VideoSource : public FrameSource {
 public:
  // Reads the header. Throws kFileNotFound, kFileUnreadable, kUnsupportedFormat (no video, no
  // decoder, too large), kCorruptFile (empty, damaged, cut off), kInvalidArgument (options),
  // kUnavailable (a build without FFmpeg).
  VideoSource(const std::filesystem::path& path, const VideoOptions& options);
  ~VideoSource() override;

  // Walks over the file's packets to learn how many frames there are, and decodes the first one
  // that is used: it alone is returned. Throws kNoInput if there is none.
  std::vector<FrameInfo> Verify(const ThreadTeam& team) override;

  // Counted in packets by Verify, exact at the end.
  std::optional<int64_t> frame_count() const override;
  bool Next(Image* image) override;
  std::string description() const override;
  std::string problems() const override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_VIDEO_SOURCE_H_
