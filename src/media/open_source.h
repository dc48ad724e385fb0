#ifndef LINGBOT_MEDIA_OPEN_SOURCE_H_
#define LINGBOT_MEDIA_OPEN_SOURCE_H_

#include <functional>
#include <memory>
#include <string>

#include "media/frame_source.h"
#include "media/video_source.h"

namespace lingbot {

// How the frames of any input are chosen.
struct SourceOptions {
  Sampling sampling;                            // its times are for videos alone
  bool skip_bad = false;                        // leave out images that cannot be read
  std::function<void(const std::string&)> log;  // one line each, from any thread
};

// Opens a folder of images, one image or one video file; the content decides, not the name. Errors
// as of ImageFolderSource and VideoSource.
std::unique_ptr<FrameSource> OpenSource(const std::string& input, const SourceOptions& options);

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_OPEN_SOURCE_H_
