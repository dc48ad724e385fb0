#ifndef LINGBOT_OPS_CPU_ELEMENTWISE_H_
#define LINGBOT_OPS_CPU_ELEMENTWISE_H_

#include "ops/context.h"

namespace lingbot::ops::cpu {

void Relu(Context& context, float* x, int64_t count);
void Add(Context& context, const float* x, int64_t count, float* y);
void Silu(Context& context, float* x, int64_t count);
void AddRows(Context& context, const TensorView& table, const TensorView& y);
void AddPositionMap(Context& context, const TensorView& across, const TensorView& down,
                    const TensorView& x);
void ExtractPatches(Context& context, const TensorView& image, int patch, const float* mean,
                    const float* deviation, const TensorView& out);
void DepthToSpace(Context& context, const TensorView& x, int size, const TensorView& y);
void DepthActivation(Context& context, const TensorView& x, float* depth, float* confidence);

void Modulate(const TensorView& modulation, const TensorView& plain, const TensorView& normed,
              const TensorView& x);
void ActivatePose(const TensorView& raw, const TensorView& poses);

}  // namespace lingbot::ops::cpu

#endif  // LINGBOT_OPS_CPU_ELEMENTWISE_H_
