#ifndef LINGBOT_MEDIA_FRAME_SELECTOR_H_
#define LINGBOT_MEDIA_FRAME_SELECTOR_H_

#include <cstdint>
#include <limits>
#include <optional>

namespace lingbot {

// Which frames of a video are used.
struct Sampling {
  double start = 0;                                      // seconds from the beginning of the video
  double end = std::numeric_limits<double>::infinity();  // the first moment that is left out
  double frames_per_second = 0;                          // at most so many, evenly in time; 0 = all
  int64_t stride = 1;                                    // of these every n-th, from the first
  int64_t max_frames = 0;                                // of these so many; 0 = all
};

// Throws kInvalidArgument.
void ValidateSampling(const Sampling& sampling);

// Decides frame by frame. With a rate, time from the first frame in range on is cut into slots of
// 1 / frames_per_second, and the first frame of each slot is used: a variable frame rate comes out
// even, and nothing is repeated where the video has fewer frames.
class FrameSelector {
 public:
  // `tick` is the resolution of the times in seconds: a frame whose rounded time falls short of a
  // slot by less than half of it belongs to that slot.
  FrameSelector(const Sampling& sampling, double tick);

  enum class Verdict { kSkip, kTake, kDone };  // kDone: neither this one nor any later

  // Times must not go back.
  Verdict Look(double seconds);

  int64_t taken() const { return taken_; }
  // Frames per second between the first and the last that were taken; 0 for fewer than two.
  double AchievedRate() const;

 private:
  bool StartsSlot(double seconds);

  Sampling sampling_;
  double tolerance_;
  std::optional<double> origin_;  // of the slots
  double next_slot_ = 0;          // number of the first slot without a frame
  int64_t in_range_ = 0;          // frames that stride counts
  int64_t taken_ = 0;
  double first_time_ = 0, last_time_ = 0;
};

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_FRAME_SELECTOR_H_
