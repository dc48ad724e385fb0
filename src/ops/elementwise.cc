#include "ops/elementwise.h"

#include <algorithm>

#include "base/check.h"
#include "ops/cpu/elementwise.h"
#include "ops/cuda/backend.h"

namespace lingbot::ops {
namespace {

void CheckFits(bool fits, const char* name, const TensorView& x, const TensorView& y) {
  Check(fits && x.contiguous() && y.contiguous(), ErrorCode::kInternal,
        "{}: tensors {} and {} do not fit", name, x.shape(), y.shape());
}

}  // namespace

void Relu(Context& context, const TensorView& x) {
  CheckFits(true, "Relu", x, x);
  if (context.setup().on_gpu()) return cuda::Relu(context, x);
  cpu::Relu(context, x.data<float>(), x.elements());
}

void Add(Context& context, const TensorView& x, const TensorView& y) {
  CheckFits(x.shape() == y.shape(), "Add", x, y);
  if (context.setup().on_gpu()) return cuda::Add(context, x, y);
  cpu::Add(context, x.data<float>(), x.elements(), y.data<float>());
}

void Silu(Context& context, const TensorView& x) {
  CheckFits(true, "Silu", x, x);
  if (context.setup().on_gpu()) return cuda::Silu(context, x);
  cpu::Silu(context, x.data<float>(), x.elements());
}

void AddRows(Context& context, const TensorView& table, const TensorView& y) {
  CheckFits(table.rank() == 2 && y.rank() == 2 && table.dim(1) == y.dim(1) && table.dim(0) > 0,
            "AddRows", table, y);
  if (context.setup().on_gpu()) return cuda::AddRows(context, table, y);
  cpu::AddRows(context, table, y);
}

void AddPositionMap(Context& context, const TensorView& across, const TensorView& down,
                    const TensorView& x) {
  CheckFits(x.rank() == 3 && across.shape() == Shape{x.dim(1), x.dim(2) / 2} &&
                down.shape() == Shape{x.dim(0), x.dim(2) / 2} && x.dim(2) % 2 == 0,
            "AddPositionMap", across, x);
  if (context.setup().on_gpu()) return cuda::AddPositionMap(context, across, down, x);
  cpu::AddPositionMap(context, across, down, x);
}

void ExtractPatches(Context& context, const TensorView& image, int patch, const float mean[3],
                    const float deviation[3], const TensorView& out) {
  CheckFits(image.rank() == 3 && image.dim(0) == 3 && image.dim(1) % patch == 0 &&
                image.dim(2) % patch == 0 &&
                out.shape() == Shape{image.dim(1) / patch * (image.dim(2) / patch),
                                     int64_t{3} * patch * patch},
            "ExtractPatches", image, out);
  if (context.setup().on_gpu())
    return cuda::ExtractPatches(context, image, patch, mean, deviation, out);
  cpu::ExtractPatches(context, image, patch, mean, deviation, out);
}

void DepthToSpace(Context& context, const TensorView& x, int size, const TensorView& y) {
  CheckFits(x.rank() == 3 && y.rank() == 3 && x.dim(2) == size * size * y.dim(2) &&
                y.dim(0) == x.dim(0) * size && y.dim(1) == x.dim(1) * size,
            "DepthToSpace", x, y);
  if (context.setup().on_gpu()) return cuda::DepthToSpace(context, x, size, y);
  cpu::DepthToSpace(context, x, size, y);
}

void PredictDepth(Context& context, const TensorView& x, const LinearWeights& weights,
                  const TensorView& depth, const TensorView& confidence) {
  CheckFits(x.rank() == 2 && weights.out() == 2 && weights.in() == x.dim(1) &&
                depth.shape() == Shape{x.dim(0)} && confidence.shape() == depth.shape() &&
                confidence.contiguous(),
            "PredictDepth", x, depth);
  if (context.setup().on_gpu()) {
    return cuda::PredictDepth(context, x, weights.packed(), depth, confidence);
  }
  const Arena::Scope scope(context.arena());
  const TensorView logits = context.arena().Floats({x.dim(0), 2});
  Linear(context, x, weights, LinearEpilogue::kStore, logits);
  cpu::DepthActivation(context, logits, depth.data<float>(), confidence.data<float>());
}

size_t PredictDepthWorkspaceBytes(const Setup& setup, int64_t pixels) {
  return setup.on_gpu() ? 0 : Arena::BytesFor(DType::kF32, pixels * 2);
}

void CopyRows(Context& context, const TensorView& x, const TensorView& y) {
  Check(x.rank() == 2 && y.rank() == 2 && x.dim(1) == y.dim(1) && x.stride(1) == 1 &&
            y.stride(1) == 1 && (x.dim(0) == y.dim(0) || x.dim(0) == 1),
        ErrorCode::kInternal, "CopyRows: {} and {} do not fit", x.shape(), y.shape());
  if (context.setup().on_gpu()) return cuda::CopyRows(context, x, y);
  const float* source = x.data<float>();
  float* target = y.data<float>();
  const int64_t source_stride = x.dim(0) == 1 ? 0 : x.stride(0);
  context.team().ForRange(y.dim(0), 32, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      std::copy_n(source + row * source_stride, y.dim(1), target + row * y.stride(0));
    }
  });
}

void Modulate(Context& context, const TensorView& modulation, const TensorView& plain,
              const TensorView& normed, const TensorView& x) {
  CheckFits(x.rank() == 2 && modulation.shape() == Shape{x.dim(0), 3 * x.dim(1)} &&
                plain.shape() == x.shape() && normed.shape() == x.shape() &&
                modulation.contiguous() && plain.contiguous(),
            "Modulate", x, normed);
  if (context.setup().on_gpu()) return cuda::Modulate(context, modulation, plain, normed, x);
  cpu::Modulate(modulation, plain, normed, x);
}

void ActivatePose(Context& context, const TensorView& raw, const TensorView& poses) {
  CheckFits(raw.rank() == 2 && raw.dim(1) == 9 && poses.shape() == raw.shape(), "ActivatePose", raw,
            poses);
  if (context.setup().on_gpu()) return cuda::ActivatePose(context, raw, poses);
  cpu::ActivatePose(raw, poses);
}

}  // namespace lingbot::ops
