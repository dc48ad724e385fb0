#include "ops/elementwise.h"

#include "base/check.h"
#include "ops/cpu/elementwise.h"

namespace lingbot::ops {
namespace {

void CheckFits(bool fits, const char* name, const TensorView& x, const TensorView& y) {
  Check(fits && x.contiguous() && y.contiguous(), ErrorCode::kInternal,
        "{}: tensors {} and {} do not fit", name, x.shape(), y.shape());
}

}  // namespace

void Relu(Context& context, const TensorView& x) {
  CheckFits(true, "Relu", x, x);
  cpu::Relu(context, x.data<float>(), x.elements());
}

void Add(Context& context, const TensorView& x, const TensorView& y) {
  CheckFits(x.shape() == y.shape(), "Add", x, y);
  cpu::Add(context, x.data<float>(), x.elements(), y.data<float>());
}

void Silu(Context& context, const TensorView& x) {
  CheckFits(true, "Silu", x, x);
  cpu::Silu(context, x.data<float>(), x.elements());
}

void AddRows(Context& context, const TensorView& table, const TensorView& y) {
  CheckFits(table.rank() == 2 && y.rank() == 2 && table.dim(1) == y.dim(1) && table.dim(0) > 0,
            "AddRows", table, y);
  cpu::AddRows(context, table, y);
}

void AddPositionMap(Context& context, const TensorView& across, const TensorView& down,
                    const TensorView& x) {
  CheckFits(x.rank() == 3 && across.shape() == Shape{x.dim(1), x.dim(2) / 2} &&
                down.shape() == Shape{x.dim(0), x.dim(2) / 2} && x.dim(2) % 2 == 0,
            "AddPositionMap", across, x);
  cpu::AddPositionMap(context, across, down, x);
}

void ExtractPatches(Context& context, const TensorView& image, int patch, const float mean[3],
                    const float deviation[3], const TensorView& out) {
  CheckFits(image.rank() == 3 && image.dim(0) == 3 && image.dim(1) % patch == 0 &&
                image.dim(2) % patch == 0 &&
                out.shape() == Shape{image.dim(1) / patch * (image.dim(2) / patch),
                                     int64_t{3} * patch * patch},
            "ExtractPatches", image, out);
  cpu::ExtractPatches(context, image, patch, mean, deviation, out);
}

void DepthToSpace(Context& context, const TensorView& x, int size, const TensorView& y) {
  CheckFits(x.rank() == 3 && y.rank() == 3 && x.dim(2) == size * size * y.dim(2) &&
                y.dim(0) == x.dim(0) * size && y.dim(1) == x.dim(1) * size,
            "DepthToSpace", x, y);
  cpu::DepthToSpace(context, x, size, y);
}

void DepthActivation(Context& context, const TensorView& x, const TensorView& depth,
                     const TensorView& confidence) {
  CheckFits(x.rank() == 2 && x.dim(1) == 2 && depth.shape() == Shape{x.dim(0)} &&
                confidence.shape() == depth.shape() && confidence.contiguous(),
            "DepthActivation", x, depth);
  cpu::DepthActivation(context, x, depth.data<float>(), confidence.data<float>());
}

}  // namespace lingbot::ops
