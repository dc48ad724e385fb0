#ifndef LINGBOT_OPS_PROFILE_H_
#define LINGBOT_OPS_PROFILE_H_

#include <array>
#include <chrono>

namespace lingbot::ops {

// Parts of a step whose time is reported.
enum class Stage { kTokens, kFrameBlocks, kGlobalAttention, kGlobalOther, kCamera, kDepth };
inline constexpr int kStages = 6;

// Milliseconds per stage. Stages nest: time spent in an inner stage does not count for the outer
// one.
class Profile {
 public:
  void Clear() { milliseconds_.fill(0.0); }
  double milliseconds(Stage stage) const { return milliseconds_[static_cast<int>(stage)]; }

  class Scope {
   public:
    Scope(Profile& profile, Stage stage) : profile_(profile), outer_(profile.current_) {
      profile_.Switch(static_cast<int>(stage));
    }
    ~Scope() { profile_.Switch(outer_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Profile& profile_;
    int outer_;
  };

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kNone = -1;

  void Switch(int stage) {
    const Clock::time_point now = Clock::now();
    if (current_ != kNone) {
      milliseconds_[current_] += std::chrono::duration<double, std::milli>(now - since_).count();
    }
    current_ = stage;
    since_ = now;
  }

  std::array<double, kStages> milliseconds_{};
  int current_ = kNone;
  Clock::time_point since_;
};

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_PROFILE_H_
