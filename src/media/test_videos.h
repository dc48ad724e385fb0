#ifndef LINGBOT_MEDIA_TEST_VIDEOS_H_
#define LINGBOT_MEDIA_TEST_VIDEOS_H_

// Small video files, made by FFmpeg's encoders for tests.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace lingbot::testing_videos {

struct VideoSpec {
  // mpeg4, mjpeg, ffv1 and rawvideo come with every FFmpeg; libx264 and others may be missing.
  std::string codec = "mpeg4";
  std::string pixel_format = "yuv420p";
  std::string container;  // such as mp4, matroska, avi, mpegts; empty = by the file's name
  int width = 64, height = 48;
  int frames = 10;
  int rate = 10;                      // frames per second
  std::vector<int64_t> milliseconds;  // presentation times instead of an even rate, one a frame
  int group = 12;                     // frames from one that stands alone to the next
  int b_frames = 0;
  int rotation = 0;                    // degrees clockwise by which players turn the picture
  bool mirrored = false;               // after that, left and right exchanged
  int aspect_num = 1, aspect_den = 1;  // of the pixels
  bool full_range = false;
  std::string matrix = "smpte170m";  // as FFmpeg calls it
  bool faststart = false;            // MP4: the index at the front
  bool sound = false;                // add a track of silence
  bool picture = true;               // false: nothing but sound
  // RGB of frame `index`, [height, width, 3].
  std::function<std::vector<uint8_t>(int index)> draw;
  // Changes the coded picture `index` (in the order of coding) before it goes into the file; it may
  // also become shorter.
  std::function<void(int index, std::vector<uint8_t>* coded)> damage;
  int codec_level = -1;                                            // the encoder's own
  std::vector<std::pair<std::string, std::string>> codec_options;  // of the encoder, by its names
};

// Whether this FFmpeg has the encoder.
bool HasEncoder(const std::string& codec);

// Throws std::runtime_error if FFmpeg cannot do it.
void WriteVideo(const std::filesystem::path& path, const VideoSpec& spec);

// One colour.
std::vector<uint8_t> Plain(int width, int height, int red, int green, int blue);

// A card without symmetry: red top left, green top right, blue bottom left, white bottom right.
std::vector<uint8_t> Card(int width, int height);

}  // namespace lingbot::testing_videos

#endif  // LINGBOT_MEDIA_TEST_VIDEOS_H_
