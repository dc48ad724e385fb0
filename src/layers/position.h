#ifndef LINGBOT_LAYERS_POSITION_H_
#define LINGBOT_LAYERS_POSITION_H_

#include "ops/rotary.h"
#include "tensor/buffer.h"

namespace lingbot {

// A frame's patches: rows x columns of them, behind `specials` special tokens.
struct PatchGrid {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t specials = 6;
  int64_t patches() const { return rows * columns; }
  int64_t tokens() const { return specials + patches(); }
};

// Positions inside a frame: 2-D rotary embedding with base 100. The first half of a head's channels
// turns with the row, the second with the column. Special tokens sit at (0, 0), patch (r, c) at (r
// + 1, c + 1).
class FramePositions {
 public:
  FramePositions(const PatchGrid& grid, int64_t head_dim, const ops::Setup& setup = {});
  ops::RotaryTable table() const;  // [tokens, head_dim/2]

 private:
  Buffer cos_;
  Buffer sin_;
};

// Positions in the stream: 3-D rotary embedding with base 10000 over time, row and column; 20, 22
// and 22 of 64 channels. Special token s sits at row s, column s; patch (r, c) at row 6 + r, column
// 6 + c. Angles are computed in double for any time.
class StreamPositions {
 public:
  // In memory of the context's device; its step inputs must have room for StepInputBytes more.
  // Throws kInvalidArgument if head_dim cannot be split in three even parts by the rule above.
  StreamPositions(const PatchGrid& grid, int64_t head_dim, int64_t max_frames,
                  ops::Context& context);

  static size_t StepInputBytes(int64_t head_dim, int64_t max_frames);

  // Sets the time of the next step's frames, the first at `time`; before UploadStepInputs.
  void SetTime(int64_t time, int64_t frames);
  // Table of the step's frames: [frames * tokens, head_dim/2]. Valid until the next call.
  ops::RotaryTable Table(ops::Context& context, int64_t frames);

 private:
  PatchGrid grid_;
  int64_t pairs_;
  int64_t time_pairs_;
  Mirrored<float> angles_;  // [max_frames, 2, time_pairs]: cosines, sines
  Buffer cos_;              // [max_frames * tokens, pairs]; the row and column part never changes
  Buffer sin_;
};

}  // namespace lingbot

#endif  // LINGBOT_LAYERS_POSITION_H_
