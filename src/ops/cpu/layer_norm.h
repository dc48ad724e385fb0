#ifndef LINGBOT_OPS_CPU_LAYER_NORM_H_
#define LINGBOT_OPS_CPU_LAYER_NORM_H_

#include <cstdint>

namespace lingbot::ops::cpu {

// One row of a layer normalisation: two passes over the row, so that the variance does not cancel.
void NormalizeRow(const float* source, int64_t channels, const float* gamma, const float* beta,
                  float eps, float* target);

}  // namespace lingbot::ops::cpu

#endif  // LINGBOT_OPS_CPU_LAYER_NORM_H_
