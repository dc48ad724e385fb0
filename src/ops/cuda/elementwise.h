#ifndef LINGBOT_OPS_CUDA_ELEMENTWISE_H_
#define LINGBOT_OPS_CUDA_ELEMENTWISE_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype.h"

// Launchers of the small operators. Tensors are contiguous, channels last, unless a stride (in
// elements) says otherwise; "feature type" means float32 or f16.
namespace lingbot::ops::cuda {

void Relu(void* x, DType dtype, int64_t count, cudaStream_t stream);                // x = max(x, 0)
void Add(const void* x, void* y, DType dtype, int64_t count, cudaStream_t stream);  // y += x
void Silu(float* x, int64_t count, cudaStream_t stream);

// target = source in another (or the same) type, rounded to nearest.
void Convert(const void* source, DType source_dtype, void* target, DType target_dtype,
             int64_t count, cudaStream_t stream);

// y = epilogue(y + bias) for a product that left these to a pass of its own: y [rows, channels]
// with a row stride, any float type; bias [channels] float32 or nullptr.
void AddBias(void* y, DType dtype, int64_t rows, int64_t channels, int64_t y_stride,
             const float* bias, cudaStream_t stream);
void AddBiasGelu(void* y, DType dtype, int64_t rows, int64_t channels, int64_t y_stride,
                 const float* bias, cudaStream_t stream);
void AddBiasRelu(void* y, DType dtype, int64_t rows, int64_t channels, int64_t y_stride,
                 const float* bias, cudaStream_t stream);

// y[row] += table[row mod table_rows]; float32, y with a row stride.
void AddRows(const float* table, int64_t table_rows, float* y, int64_t rows, int64_t channels,
             int64_t y_stride, cudaStream_t stream);

// y[row] = x[row], `columns` floats each; an x_stride of 0 repeats one row.
void CopyRows(const float* x, int64_t x_stride, float* y, int64_t y_stride, int64_t rows,
              int64_t columns, cudaStream_t stream);

// x[r, c] += [across[c], down[r]]; x [rows, columns, channels] of feature type, across [columns,
// channels/2], down [rows, channels/2] float32.
void AddPositionMap(const float* across, const float* down, void* x, DType dtype, int64_t rows,
                    int64_t columns, int64_t channels, cudaStream_t stream);

// Patches of a normalised image as rows, order channel, row, column; out = (image - mean) /
// deviation. image [3, height, width] float32; out [patches, out_stride >= 3 * patch * patch]
// float32, bf16 or f16; the rest of a row up to the stride is set to zero, so that a product may
// run over a padded width (588 = 3 * 14 * 14 is no multiple of 8; 592 lets matrix units load 16
// bytes).
struct Normalization {
  float mean[3];
  float deviation[3];
};
void ExtractPatches(const float* image, int64_t height, int64_t width, int patch,
                    const Normalization& normalization, void* out, DType out_dtype,
                    int64_t out_stride, cudaStream_t stream);

// x [rows, columns, size*size*channels] (kernel row, kernel column, channel) into y [rows*size,
// columns*size, channels]; feature type.
void DepthToSpace(const void* x, DType dtype, int64_t rows, int64_t columns, int size,
                  int64_t channels, void* y, cudaStream_t stream);

// depth = exp(x[..., 0]), confidence = 1 + exp(x[..., 1]); x [pixels, 2] float32.
void DepthActivation(const float* x, int64_t pixels, float* depth, float* confidence,
                     cudaStream_t stream);

// The last 1x1 convolution and the activation in one pass: logits = x w^T + b with x [pixels,
// channels] of feature type, w [2, channels] and b [2] float32. channels at most 256.
void PredictDepth(const void* x, DType dtype, int64_t pixels, int64_t channels, const float* w,
                  const float* b, float* depth, float* confidence, cudaStream_t stream);

// x = gate * (plain * (1 + scale) + shift) + normed; modulation [frames, 3 * channels] holds shift,
// scale, gate; float32.
void Modulate(const float* modulation, const float* plain, const float* normed, float* x,
              int64_t frames, int64_t channels, cudaStream_t stream);

// Pose vectors [frames, size]: the first `linear` values as they are, the others rectified.
void ActivatePose(const float* raw, float* poses, int64_t frames, int64_t size, int64_t linear,
                  cudaStream_t stream);

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_ELEMENTWISE_H_
