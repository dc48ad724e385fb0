#ifndef LINGBOT_MEDIA_PATIENCE_H_
#define LINGBOT_MEDIA_PATIENCE_H_

#include <atomic>
#include <chrono>

namespace lingbot {

// Ends waiting, from any thread or after a silence.
class Patience {
 public:
  // seconds: of silence; 0 = for ever.
  explicit Patience(double seconds) : seconds_(seconds) { Begin(); }

  void Cancel() { cancelled_ = true; }
  bool cancelled() const { return cancelled_; }

  void Begin(double more_seconds = 0);  // of a wait
  bool over() const;                    // cancelled or silent for too long
  bool silent() const { return silent_; }
  void Forgive() { silent_ = false; }
  double seconds() const { return seconds_; }

 private:
  using Clock = std::chrono::steady_clock;

  double seconds_;
  std::atomic<bool> cancelled_ = false;
  mutable std::atomic<bool> silent_ = false;
  std::atomic<Clock::time_point> deadline_;
};

// Waits until something can be read from `descriptor`, or it has ended; false if patience is over
// before.
bool WaitForInput(int descriptor, Patience* patience);

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_PATIENCE_H_
