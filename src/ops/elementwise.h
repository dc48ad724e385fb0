#ifndef LINGBOT_OPS_ELEMENTWISE_H_
#define LINGBOT_OPS_ELEMENTWISE_H_

#include "ops/context.h"

namespace lingbot::ops {

// All tensors are contiguous float32.

void Relu(Context& context, const TensorView& x);                      // x = max(x, 0)
void Add(Context& context, const TensorView& x, const TensorView& y);  // y += x; same shape

// x = silu(x) = x / (1 + exp(-x)).
void Silu(Context& context, const TensorView& x);

// y[row] += table[row mod table rows]: position embeddings. y [rows, channels], table [n,
// channels].
void AddRows(Context& context, const TensorView& table, const TensorView& y);

// Separable position map: x[r, c] += [across[c], down[r]]. x [rows, columns, channels], across
// [columns, channels/2], down [rows, channels/2].
void AddPositionMap(Context& context, const TensorView& across, const TensorView& down,
                    const TensorView& x);

// Patches of a normalised image as rows: out [rows*columns, 3*patch*patch] in the order channel,
// row, column (the order of a convolution's kernel), out = (image - mean) / deviation per channel.
// image [3, H, W] in [0, 1].
void ExtractPatches(Context& context, const TensorView& image, int patch, const float mean[3],
                    const float deviation[3], const TensorView& out);

// Rearranges the result of a transposed convolution with stride = kernel size: x [rows, columns,
// size*size*channels] (kernel row, kernel column, channel) into y [rows*size, columns*size,
// channels].
void DepthToSpace(Context& context, const TensorView& x, int size, const TensorView& y);

// depth = exp(x[..., 0]), confidence = 1 + exp(x[..., 1]). x [pixels, 2]; depth and confidence
// [pixels].
void DepthActivation(Context& context, const TensorView& x, const TensorView& depth,
                     const TensorView& confidence);

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_ELEMENTWISE_H_
