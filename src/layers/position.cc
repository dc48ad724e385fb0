#include "layers/position.h"

#include <cmath>
#include <utility>

#include "base/check.h"
#include "layers/loading.h"

namespace lingbot {
namespace {

// Row and column at which token `t` of a frame sits, given where patches start and how specials are
// placed.
struct Position {
  int64_t row, column;
};

void SetAngle(double angle, float* cos, float* sin) {
  *cos = static_cast<float>(std::cos(angle));
  *sin = static_cast<float>(std::sin(angle));
}

}  // namespace

FramePositions::FramePositions(const PatchGrid& grid, int64_t head_dim, const ops::Setup& setup)
    : cos_(DType::kF32, {grid.tokens(), head_dim / 2}),
      sin_(DType::kF32, {grid.tokens(), head_dim / 2}) {
  Check(head_dim % 4 == 0, ErrorCode::kInvalidArgument,
        "the network's head dimension {} is not a multiple of 4, as 2-D rotary embedding needs",
        head_dim);
  const int64_t per_half = head_dim / 4;
  for (int64_t t = 0; t < grid.tokens(); ++t) {
    const int64_t patch = t - grid.specials;
    const Position at =
        patch < 0 ? Position{0, 0} : Position{patch / grid.columns + 1, patch % grid.columns + 1};
    for (int64_t j = 0; j < per_half; ++j) {
      const double frequency =
          std::pow(100.0, -static_cast<double>(j) / static_cast<double>(per_half));
      const int64_t row = t * 2 * per_half;
      SetAngle(static_cast<double>(at.row) * frequency, cos_.data<float>() + row + j,
               sin_.data<float>() + row + j);
      SetAngle(static_cast<double>(at.column) * frequency, cos_.data<float>() + row + per_half + j,
               sin_.data<float>() + row + per_half + j);
    }
  }
  cos_ = OnDevice(std::move(cos_), setup);
  sin_ = OnDevice(std::move(sin_), setup);
}

ops::RotaryTable FramePositions::table() const {
  return {ops::RotaryPairing::kHalvesOfHalf, cos_.view(), sin_.view()};
}

namespace {

// Frequency of pair j of a part of `pairs` pairs.
double StreamFrequency(int64_t j, int64_t pairs) {
  return std::pow(10000.0, -static_cast<double>(j) / static_cast<double>(pairs));
}

}  // namespace

StreamPositions::StreamPositions(const PatchGrid& grid, int64_t head_dim, int64_t max_frames,
                                 ops::Context& context)
    : grid_(grid), pairs_(head_dim / 2), time_pairs_(head_dim / 6) {
  const int64_t space_pairs = (pairs_ - time_pairs_) / 2;
  Check(head_dim % 2 == 0 && time_pairs_ > 0 && time_pairs_ + 2 * space_pairs == pairs_,
        ErrorCode::kInvalidArgument,
        "the network's head dimension {} cannot be split over time, row and column (64 can)",
        head_dim);
  cos_ = Buffer(DType::kF32, {max_frames * grid.tokens(), pairs_});
  sin_ = Buffer(DType::kF32, {max_frames * grid.tokens(), pairs_});
  for (int64_t t = 0; t < max_frames * grid.tokens(); ++t) {
    const int64_t token = t % grid.tokens();
    const int64_t patch = token - grid.specials;
    const Position at = patch < 0 ? Position{token, token}
                                  : Position{grid.specials + patch / grid.columns,
                                             grid.specials + patch % grid.columns};
    float* cos = cos_.data<float>() + t * pairs_ + time_pairs_;
    float* sin = sin_.data<float>() + t * pairs_ + time_pairs_;
    for (int64_t j = 0; j < space_pairs; ++j) {
      const double frequency = StreamFrequency(j, space_pairs);
      SetAngle(static_cast<double>(at.row) * frequency, cos + j, sin + j);
      SetAngle(static_cast<double>(at.column) * frequency, cos + space_pairs + j,
               sin + space_pairs + j);
    }
  }
  angles_ = context.step_inputs().Allocate<float>(2 * max_frames * time_pairs_);
  cos_ = OnDevice(std::move(cos_), context.setup());
  sin_ = OnDevice(std::move(sin_), context.setup());
}

size_t StreamPositions::StepInputBytes(int64_t head_dim, int64_t max_frames) {
  return static_cast<size_t>(2 * max_frames * (head_dim / 6)) * sizeof(float) + kGpuAlignment;
}

void StreamPositions::SetTime(int64_t time, int64_t frames) {
  for (int64_t frame = 0; frame < frames; ++frame) {
    float* cos = angles_.host + 2 * frame * time_pairs_;
    for (int64_t j = 0; j < time_pairs_; ++j) {
      SetAngle(static_cast<double>(time + frame) * StreamFrequency(j, time_pairs_), cos + j,
               cos + time_pairs_ + j);
    }
  }
}

ops::RotaryTable StreamPositions::Table(ops::Context& context, int64_t frames) {
  const int64_t rows = frames * grid_.tokens();
  const ops::RotaryTable table{ops::RotaryPairing::kAdjacent, cos_.view().Slice(0, 0, rows),
                               sin_.view().Slice(0, 0, rows)};
  ops::SetTimeAngles(context, angles_.device, frames, time_pairs_, table);
  return table;
}

}  // namespace lingbot
