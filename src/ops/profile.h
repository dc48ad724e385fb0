#ifndef LINGBOT_OPS_PROFILE_H_
#define LINGBOT_OPS_PROFILE_H_

#include <array>
#include <chrono>

#include "ops/context.h"

namespace lingbot::ops {

// Parts of a step whose time is reported.
enum class Stage {
  kTokens,
  kFrameBlocks,
  kGlobalAttention,
  kGlobalOther,
  kCamera,
  kDepth,
  kTransfers,  // between host and GPU
};
inline constexpr int kStages = 7;

// Milliseconds per stage. Stages nest: time spent in an inner stage does not count for the outer
// one. On a GPU, whose work runs later than its launch, stages are marked between launches and read
// after the step; that costs a little and is done only if asked for.
class Profile {
 public:
  Profile() = default;
  Profile(Context& context, bool on_gpu_too)
      : gpu_(context.setup().on_gpu() ? &context : nullptr),
        enabled_(gpu_ == nullptr || on_gpu_too) {}

  void Clear() { milliseconds_.fill(0.0); }
  // Around everything that a step launches: what lies outside its stages are transfers.
  void BeginStep() { MarkStepOnGpu(true); }
  void EndStep() { MarkStepOnGpu(false); }
  // After Synchronize: reads the marks of a GPU.
  void Collect();
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
    if (!enabled_) return;
    if (gpu_ != nullptr) {
      MarkOnGpu(stage);
      current_ = stage;
      return;
    }
    const Clock::time_point now = Clock::now();
    if (current_ != kNone) {
      milliseconds_[current_] += std::chrono::duration<double, std::milli>(now - since_).count();
    }
    current_ = stage;
    since_ = now;
  }

  void MarkOnGpu(int stage);
  void MarkStepOnGpu(bool begin);

  Context* gpu_ = nullptr;
  bool enabled_ = true;
  std::array<double, kStages> milliseconds_{};
  int current_ = kNone;
  Clock::time_point since_;
};

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_PROFILE_H_
