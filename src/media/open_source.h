#ifndef LINGBOT_MEDIA_OPEN_SOURCE_H_
#define LINGBOT_MEDIA_OPEN_SOURCE_H_

#include <functional>
#include <memory>
#include <string>

#include "media/frame_selector.h"
#include "media/frame_source.h"

namespace lingbot {

// How the frames of any input are chosen, and what an input cannot say of itself.
struct SourceOptions {
  Sampling sampling;      // its times are for inputs that carry times
  bool skip_bad = false;  // leave out images that cannot be read

  // Of standard input: "rgb24" (bare frames), "mjpeg", or "" = by content.
  std::string format;
  int width = 0, height = 0;  // bare frames; asked of a camera; 0 = not said
  double rate = 0;            // frames per second of streams without times; asked of a camera
  double timeout = 10;        // seconds of silence that end a live input; 0 = wait for ever

  std::function<void(const std::string&)> log;  // one line each, from any thread
};

// Opens what `input` names:
//   -                              standard input: bare RGB, motion JPEG or any container
//   rtsp://..., http://..., ...    a network stream
//   /dev/video0                    a camera
//   "photos/*.jpg"                 the images that the pattern matches, in natural order
//   a folder, an image, a video    the content decides, not the name
// Errors as of the sources.
std::unique_ptr<FrameSource> OpenSource(const std::string& input, const SourceOptions& options);

// The input as it may be shown and stored: without the name and the password of a network address.
std::string InputLabel(const std::string& input);

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_OPEN_SOURCE_H_
