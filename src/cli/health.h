#ifndef LINGBOT_CLI_HEALTH_H_
#define LINGBOT_CLI_HEALTH_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lingbot/session.h"

namespace lingbot::cli {

// What a frame says about how well the camera is being tracked.
struct HealthSample {
  bool finite = true;              // its pose
  std::array<double, 3> center{};  // of the camera
  double depth = 0;                // mean over the image; 0 = it has none
  double confidence = 0;           // mean over the image, less its floor of 1
};
HealthSample HealthSampleOf(const FrameResult& result);

// Compares every frame with the median of the frames before it: how far the camera went in one
// step, and how sure the network is of what it sees. Holds a fixed number of numbers.
class TrackingHealth {
 public:
  // Steps that a median is taken over: half a second of a video at 30 a second.
  static constexpr int kMemory = 16;
  // The same of confidences. A longer memory would call it a collapse when a camera walks into an
  // unknown room, which takes a second or two.
  static constexpr int kConfidenceMemory = 8;
  // Before so many nothing is compared.
  static constexpr int kLearning = 8;
  // A step is a leap if it is this many times the median one ...
  static constexpr double kLeap = 5;
  // ... and not small beside the scene: a camera that stood still may start.
  static constexpr double kSmallStep = 0.05;  // of the mean depth
  // Confidence has collapsed below this part of the median, unless that is next to nothing itself.
  static constexpr double kCollapse = 0.5;
  static constexpr double kUnsure = 0.05;
  // So many bad ones in a row are more than a stumble.
  static constexpr int kBad = 2;

  enum class Problem { kNone, kNotFinite, kLeap, kConfidence };

  Problem Add(int64_t index, const HealthSample& sample);

  // Of the last frame, as multiples of the medians; none before there are any.
  std::optional<double> step() const { return step_; }
  std::optional<double> confidence() const { return confidence_; }

  // One sentence with advice; "" = tracking has not degraded so far.
  const std::string& warning() const { return warning_; }

  struct Summary {
    int64_t frames = 0;
    int64_t not_finite = 0;
    int64_t leaps = 0;
    int64_t low_confidence = 0;
    std::optional<int64_t> degraded_at;  // the first frame of the first bad stretch
    double largest_step = 0;             // as a multiple of the median
    double lowest_confidence = 1;
  };
  const Summary& summary() const { return summary_; }

 private:
  // The last `memory` numbers.
  class Recent {
   public:
    explicit Recent(int memory) : memory_(memory) {}
    void Add(double value);
    bool ready() const { return count_ >= kLearning; }
    double Median() const;

   private:
    int memory_;  // at most kMemory
    std::array<double, kMemory> values_{};
    int count_ = 0;
    int next_ = 0;
  };

  Problem Judge(const HealthSample& sample);
  void Warn(int64_t index, Problem problem);

  Recent steps_{kMemory};
  Recent confidences_{kConfidenceMemory};
  std::optional<HealthSample> last_;  // with a finite pose
  std::optional<double> step_, confidence_;
  int bad_ = 0;  // in a row, up to the last frame
  std::string warning_;
  Summary summary_;
};

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_HEALTH_H_
