#ifndef LINGBOT_BENCH_STAGE_TIMES_H_
#define LINGBOT_BENCH_STAGE_TIMES_H_

#include <array>
#include <span>
#include <utility>

#include "lingbot/session.h"

namespace lingbot {

// The parts of a step, by the names under which they are reported.
inline constexpr std::array<std::pair<const char*, double StageTimes::*>, 8> kStageFields = {{
    {"total", &StageTimes::total},
    {"tokens", &StageTimes::tokens},
    {"frame_blocks", &StageTimes::frame_blocks},
    {"global_attention", &StageTimes::global_attention},
    {"global_other", &StageTimes::global_other},
    {"camera", &StageTimes::camera},
    {"depth", &StageTimes::depth},
    {"transfers", &StageTimes::transfers},
}};

// Every stage's own quantile.
StageTimes QuantileOf(std::span<const StageTimes> times, double quantile);

}  // namespace lingbot

#endif  // LINGBOT_BENCH_STAGE_TIMES_H_
