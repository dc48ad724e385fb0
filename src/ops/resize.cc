#include "ops/resize.h"

#include "base/check.h"
#include "ops/cpu/resize.h"
#include "ops/cuda/backend.h"
#include "ops/elementwise.h"

namespace lingbot::ops {
namespace {

void CheckImages(const char* name, const TensorView& x, const TensorView& y) {
  const bool fits = x.rank() == 3 && y.rank() == 3 && x.dim(2) == y.dim(2) && x.contiguous() &&
                    y.contiguous() && x.elements() > 0 && y.elements() > 0;
  Check(fits, ErrorCode::kInternal, "{}: x {} and y {} do not fit", name, x.shape(), y.shape());
}

}  // namespace

void ResizeBilinear(Context& context, const TensorView& x, const TensorView& y) {
  CheckImages("ResizeBilinear", x, y);
  if (context.setup().on_gpu()) return cuda::ResizeBilinear(context, x, nullptr, nullptr, y);
  cpu::ResizeBilinear(context, x, y);
}

void ResizeBilinearAddMap(Context& context, const TensorView& x, const TensorView& across,
                          const TensorView& down, const TensorView& y) {
  CheckImages("ResizeBilinearAddMap", x, y);
  if (context.setup().on_gpu()) return cuda::ResizeBilinear(context, x, &across, &down, y);
  cpu::ResizeBilinear(context, x, y);
  AddPositionMap(context, across, down, y);
}

void ResizeBicubicAntialiased(const TensorView& x, const TensorView& y) {
  CheckImages("ResizeBicubicAntialiased", x, y);
  cpu::ResizeBicubicAntialiased(x, y);
}

}  // namespace lingbot::ops
