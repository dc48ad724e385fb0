#ifndef LINGBOT_ENGINE_SESSION_IMPL_H_
#define LINGBOT_ENGINE_SESSION_IMPL_H_

#include <optional>

#include "engine/snapshot.h"
#include "engine/stream.h"
#include "geometry/induced_motion.h"
#include "lingbot/session.h"

namespace lingbot {

// Queueing and keyframe policy around a Stream.
class Session::Impl {
 public:
  Impl(const Model& model, int height, int width, const SessionOptions& options);

  void Add(std::span<const float> rgb, const ResultCallback& on_result);
  void Finish(const ResultCallback& on_result);
  void Reset();
  FrameResult Localize(std::span<const float> rgb);

  // What a snapshot of this session depends on and how far it has come.
  SnapshotInfo Describe() const;
  // The state itself. After an exception of LoadState the session is empty.
  void SaveState(ByteSink& sink);
  void LoadState(ByteSource& source);

  // Throws unless `rgb` can be a frame of this session.
  void CheckFrame(std::span<const float> rgb) const;

  Stream& stream() { return stream_; }
  const Stream& stream() const { return stream_; }
  const MemoryPlan& memory_plan() const { return memory_; }
  CacheOccupancy occupancy() const;

 private:
  bool collecting() const { return next_frame_ == 0; }
  // By position in the stream; by motion, only scale frames are keyframes beforehand.
  StepKind KindOf(int64_t frame) const;
  // Whether the undecided frame that has just been computed is to be stored.
  bool KeepByMotion() const;
  // Processes the first `frames` frames of the stream's input; true if they were stored.
  bool Compute(int frames);
  FrameResult ResultOf(int frame, int64_t index, bool keyframe) const;
  // Passes on the results of the last Compute.
  void Deliver(int frames, bool stored, const ResultCallback& on_result);
  void SaveKeyframe(ByteSink& sink) const;
  void LoadKeyframe(ByteSource& source);

  // The last stored frame, where motion decides about the next.
  struct Keyframe {
    int64_t index = 0;
    MotionReference reference;
  };

  SessionOptions options_;
  MemoryPlan memory_;
  Stream stream_;
  int held_ = 0;            // scale frames collected so far
  int64_t next_frame_ = 0;  // frames processed so far
  bool finished_ = false;
  std::optional<Keyframe> keyframe_;  // with keyframe_motion
};

}  // namespace lingbot

#endif  // LINGBOT_ENGINE_SESSION_IMPL_H_
