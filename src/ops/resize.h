#ifndef LINGBOT_OPS_RESIZE_H_
#define LINGBOT_OPS_RESIZE_H_

#include "ops/context.h"

namespace lingbot::ops {

// Bilinear resize with aligned corners (PyTorch's interpolate, align_corners=True): corner pixels
// map to corner pixels. x [rows, columns, channels], y [rows', columns', channels]; float32 (on
// a GPU also float16), contiguous, no overlap.
void ResizeBilinear(Context& context, const TensorView& x, const TensorView& y);

// The same, then AddPositionMap (ops/elementwise.h) of `across` and `down` on y.
void ResizeBilinearAddMap(Context& context, const TensorView& x, const TensorView& across,
                          const TensorView& down, const TensorView& y);

// Bicubic resize with antialiasing, kernel a = -0.5, half-pixel centres, window widened when
// shrinking and weights normalised at the borders (PyTorch's interpolate, mode bicubic,
// antialias=True). For tables, not for frames: on the CPU, single-threaded, float32 with double
// weights. Shapes
// as above.
void ResizeBicubicAntialiased(const TensorView& x, const TensorView& y);

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_RESIZE_H_
