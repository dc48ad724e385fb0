#ifndef LINGBOT_OPS_ELEMENTWISE_H_
#define LINGBOT_OPS_ELEMENTWISE_H_

#include "ops/context.h"
#include "ops/linear.h"

namespace lingbot::ops {

// Tensors are contiguous and, unless said otherwise, float32; feature maps (marked F) are float32
// or, on a GPU, float16.

void Relu(Context& context, const TensorView& x);                      // F: x = max(x, 0)
void Add(Context& context, const TensorView& x, const TensorView& y);  // F: y += x; same shape

// x = silu(x) = x / (1 + exp(-x)).
void Silu(Context& context, const TensorView& x);

// y[row] = x[row], y [rows, channels], x the same or one row for all of them. Channels contiguous,
// any row strides.
void CopyRows(Context& context, const TensorView& x, const TensorView& y);

// y[row] += table[row mod table rows]: position embeddings. y [rows, channels], table [n,
// channels].
void AddRows(Context& context, const TensorView& table, const TensorView& y);

// Separable position map: x[r, c] += [across[c], down[r]]. x [rows, columns, channels] F, across
// [columns, channels/2], down [rows, channels/2] float32.
void AddPositionMap(Context& context, const TensorView& across, const TensorView& down,
                    const TensorView& x);

// Patches of a normalised image as rows: out [rows*columns, 3*patch*patch] in the order channel,
// row, column (the order of a convolution's kernel), out = (image - mean) / deviation per channel.
// image [3, H, W] float32 in [0, 1]; out float32 or, on a GPU, bfloat16.
void ExtractPatches(Context& context, const TensorView& image, int patch, const float mean[3],
                    const float deviation[3], const TensorView& out);

// Rearranges the result of a transposed convolution with stride = kernel size: x [rows, columns,
// size*size*channels] (kernel row, kernel column, channel) into y [rows*size, columns*size,
// channels]; F.
void DepthToSpace(Context& context, const TensorView& x, int size, const TensorView& y);

// The depth head's last product and its activation: c = x W^T + b, depth = exp(c0), confidence = 1
// + exp(c1). x [pixels, in] F, weights [2, in]; depth and confidence [pixels] float32.
void PredictDepth(Context& context, const TensorView& x, const LinearWeights& weights,
                  const TensorView& depth, const TensorView& confidence);

// Temporary bytes of PredictDepth.
size_t PredictDepthWorkspaceBytes(const Setup& setup, int64_t pixels);

// x = gate * (plain * (1 + scale) + shift) + normed; all [rows, channels] but modulation [rows, 3 *
// channels], which holds shift, scale, gate.
void Modulate(Context& context, const TensorView& modulation, const TensorView& plain,
              const TensorView& normed, const TensorView& x);

// Pose encodings [rows, 9]: translation and quaternion as they are, fields of view rectified.
void ActivatePose(Context& context, const TensorView& raw, const TensorView& poses);

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_ELEMENTWISE_H_
