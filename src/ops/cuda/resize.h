#ifndef LINGBOT_OPS_CUDA_RESIZE_H_
#define LINGBOT_OPS_CUDA_RESIZE_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype.h"

namespace lingbot::ops::cuda {

struct ResizeShape {
  int64_t in_rows = 0, in_columns = 0;
  int64_t out_rows = 0, out_columns = 0;
  int64_t channels = 0;
};

// A position map to add to the result (see AddPositionMap); none if `across` is null.
struct PositionAddend {
  const float* across = nullptr;  // [out_columns, channels/2]
  const float* down = nullptr;    // [out_rows, channels/2]
};

// Bilinear resize with aligned corners. x [in_rows, in_columns, channels], y [out_rows,
// out_columns, channels], both `dtype` (float32 or f16), contiguous, no overlap. Interpolates in
// float32.
void ResizeBilinear(const ResizeShape& shape, const void* x, DType dtype,
                    const PositionAddend& addend, void* y, cudaStream_t stream);

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_RESIZE_H_
