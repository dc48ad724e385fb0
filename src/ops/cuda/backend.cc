#include "ops/cuda/backend.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "ops/cuda/check.h"
#include "ops/cuda/elementwise.h"
#include "ops/cuda/layer_norm.h"
#include "ops/cuda/memory_kernels.h"
#include "ops/cuda/norm_rotate.h"
#include "ops/cuda/resize.h"
#include "ops/cuda/state.h"
#include "tensor/device_memory.h"

namespace lingbot::ops::cuda {
namespace {

Buffer OnGpu(std::span<const float> values) {
  Buffer buffer(DType::kF32, {static_cast<int64_t>(values.size())}, MemoryKind::kCuda);
  CopyToCuda(buffer.view().raw(), values.data(), values.size_bytes());
  return buffer;
}

// Of integers it vectorises, and NaN counts as more than infinity.
float LargestMagnitude(std::span<const float> values) {
  uint32_t largest = 0;
  for (const float value : values) {
    largest = std::max(largest, std::bit_cast<uint32_t>(value) & 0x7FFFFFFFu);
  }
  return std::bit_cast<float>(largest);
}

// [rows, columns] float32 on the host, scaled by rows, as `dtype` on the GPU.
Buffer PackRowsOfWeights(std::span<const float> values, std::span<const float> scale, int64_t rows,
                         int64_t columns, DType dtype) {
  Buffer source = OnGpu(values);
  if (scale.empty() && dtype == DType::kF32) return source;
  const Buffer factors = scale.empty() ? Buffer() : OnGpu(scale);
  Buffer target(dtype, {rows, columns}, MemoryKind::kCuda);
  ScaleRows(source.data<float>(), factors.empty() ? nullptr : factors.data<float>(), rows, columns,
            target.view().raw(), dtype, nullptr);
  CheckCuda(cudaStreamSynchronize(nullptr), "the conversion of weights");
  return target;
}

// Half precision has few small numbers: multiplies the row factors so that the largest weight comes
// to lie at kLargestHalf, below which 2^25 is left before digits go, and returns what undoes it.
float Centre(std::span<const float> weight, std::vector<float>& factors, int64_t rows) {
  constexpr float kLargestHalf = 1024.0f;
  const size_t columns = weight.size() / static_cast<size_t>(std::max<int64_t>(rows, 1));
  if (factors.empty()) factors.assign(static_cast<size_t>(rows), 1.0f);
  float largest = 0.0f;
  for (size_t row = 0; row < factors.size(); ++row) {
    const float of_row = LargestMagnitude(weight.subspan(row * columns, columns));
    largest = std::max(largest, of_row * std::abs(factors[row]));
  }
  if (!(largest > 0.0f) || !std::isfinite(largest)) return 1.0f;
  const float power = std::exp2(std::floor(std::log2(kLargestHalf / largest)));
  for (float& factor : factors) factor *= power;
  return 1.0f / power;
}

Epilogue EpilogueOf(LinearEpilogue epilogue) {
  switch (epilogue) {
    case LinearEpilogue::kStore:
      return Epilogue::kStore;
    case LinearEpilogue::kGelu:
      return Epilogue::kGelu;
    case LinearEpilogue::kAccumulate:
      return Epilogue::kAccumulate;
  }
  FailUnsupported("Linear", "this epilogue");
}

Epilogue EpilogueOf(ConvEpilogue epilogue) {
  switch (epilogue) {
    case ConvEpilogue::kStore:
      return Epilogue::kStore;
    case ConvEpilogue::kRelu:
      return Epilogue::kRelu;
    case ConvEpilogue::kAccumulate:
      return Epilogue::kAccumulate;
  }
  FailUnsupported("Conv2d", "this epilogue");
}

cudaStream_t StreamOf(Context& context) { return context.cuda().stream(); }

}  // namespace

void PackLinear(std::span<const float> weight, std::span<const float> out_scale,
                LinearWeights::Packed& packed) {
  std::vector<float> factors(out_scale.begin(), out_scale.end());
  if (packed.storage == DType::kF16) packed.factor = Centre(weight, factors, packed.out);
  packed.weight = PackRowsOfWeights(weight, factors, packed.out, packed.in, packed.storage);
  if (packed.storage != DType::kF32) {
    packed.narrow_bias =
        PackRowsOfWeights({packed.bias.data<float>(), static_cast<size_t>(packed.out)}, {},
                          packed.out, 1, packed.storage);
  }
  packed.bias = packed.bias.CopyTo(Device::kCuda);
}

void PackConv(std::span<const float> weight, ConvWeights::Packed& packed) {
  const std::vector<float> ordered = ChannelsLastKernel(weight, packed.out, packed.in, packed.size);
  packed.weight = PackRowsOfWeights(ordered, {}, packed.out, packed.in * packed.size * packed.size,
                                    packed.storage);
  packed.bias = packed.bias.CopyTo(Device::kCuda);
}

void Linear(Context& context, const TensorView& x, const LinearWeights::Packed& weights,
            LinearEpilogue epilogue, const TensorView& y) {
  Check(x.dtype() == weights.storage && (y.dtype() == x.dtype() || y.dtype() == DType::kF32),
        ErrorCode::kInternal, "Linear on a GPU: x is {}, the weights are {}, y is {}",
        NameOf(x.dtype()), NameOf(weights.storage), NameOf(y.dtype()));
  LinearCall call;
  call.rows = x.dim(0);
  call.in = weights.in;
  call.out = weights.out;
  call.x = x.raw();
  call.x_dtype = x.dtype();
  call.x_stride = x.stride(0);
  call.weight = weights.weight.view().raw();
  call.bias = weights.bias.data<float>();
  if (y.dtype() == weights.storage && !weights.narrow_bias.empty()) {
    call.narrow_bias = weights.narrow_bias.view().raw();
  }
  call.y = y.raw();
  call.y_dtype = y.dtype();
  call.y_stride = y.stride(0);
  call.epilogue = EpilogueOf(epilogue);
  call.alpha = weights.factor;
  context.cuda().linears().Run(call, StreamOf(context));
}

void Conv2d(Context& context, const TensorView& x, const ConvWeights::Packed& weights,
            ConvEpilogue epilogue, const TensorView& y) {
  Check(x.dtype() == weights.storage && y.dtype() == weights.storage, ErrorCode::kInternal,
        "Conv2d on a GPU: x is {}, the weights are {}, y is {}", NameOf(x.dtype()),
        NameOf(weights.storage), NameOf(y.dtype()));
  ConvShape shape;
  shape.rows = x.dim(0);
  shape.columns = x.dim(1);
  shape.in = weights.in;
  shape.out = weights.out;
  shape.size = weights.size;
  shape.stride = weights.stride;
  shape.dtype = weights.storage;
  shape.bias = weights.has_bias;
  shape.epilogue = EpilogueOf(epilogue);
  context.cuda().convolutions().Run(
      shape, {x.raw(), weights.weight.view().raw(), weights.bias.data<float>(), y.raw()},
      StreamOf(context));
}

void LayerNorm(Context& context, const TensorView& x, const TensorView& gamma,
               const TensorView& beta, float eps, const TensorView& y) {
  LayerNormShape shape;
  shape.rows = x.dim(0);
  shape.channels = x.dim(1);
  shape.x.stride = x.stride(0);
  shape.y.stride = y.stride(0);
  LayerNorm(shape, x.data<float>(), gamma.data<float>(), beta.data<float>(), eps, y.raw(),
            y.dtype(), StreamOf(context));
}

void NormRotate(Context& context, const Qkv& qkv, const HeadNorm& q_norm, const HeadNorm& k_norm,
                const RotaryTable& table, const KvDestination* destination, DType result) {
  const int64_t channels = qkv.q.dim(1) * qkv.q.dim(2);
  const auto* q = static_cast<const std::byte*>(qkv.q.raw());
  const auto part = static_cast<std::ptrdiff_t>(channels * SizeOf(qkv.q.dtype()));
  Check(qkv.q.stride(0) == 3 * channels && qkv.k.raw() == q + part && qkv.v.raw() == q + 2 * part &&
            q_norm.eps == k_norm.eps && k_norm.scale == 1.0f,
        ErrorCode::kInternal,
        "NormRotate on a GPU takes the parts of one product [rows, 3, {}, {}]", qkv.q.dim(1),
        qkv.q.dim(2));
  const QkvRows rows{qkv.q.raw(), qkv.q.dtype(), result, qkv.q.dim(0), qkv.q.dim(1), qkv.q.dim(2)};
  const HeadNorms norms{q_norm.gamma.data<float>(),
                        q_norm.beta.data<float>(),
                        k_norm.gamma.data<float>(),
                        k_norm.beta.data<float>(),
                        q_norm.eps,
                        q_norm.scale};
  const RotaryRows angles{
      table.pairing == RotaryPairing::kAdjacent ? Pairing::kAdjacent : Pairing::kHalvesOfHalf,
      table.cos.data<float>(), table.sin.data<float>(), table.cos.dim(0)};
  if (destination == nullptr) return NormRotate(rows, norms, angles, StreamOf(context));
  NormRotateToCache(rows, norms, angles,
                    {destination->k, destination->v, destination->dtype, destination->offsets},
                    StreamOf(context));
}

void ConvertInPlace(Context& context, const TensorView& x, DType result) {
  Convert(x.raw(), x.dtype(), x.raw(), result, x.elements(), StreamOf(context));
}

void SetTimeAngles(Context& context, const float* angles, int64_t frames, int64_t pairs,
                   const RotaryTable& table) {
  WriteTimeAngles(angles, frames, table.cos.dim(0) / frames, pairs, table.cos.dim(1),
                  table.cos.data<float>(), table.sin.data<float>(), StreamOf(context));
}

void ResizeBilinear(Context& context, const TensorView& x, const TensorView* across,
                    const TensorView* down, const TensorView& y) {
  PositionAddend map;
  if (across != nullptr) map = {across->data<float>(), down->data<float>()};
  ResizeBilinear({x.dim(0), x.dim(1), y.dim(0), y.dim(1), x.dim(2)}, x.raw(), x.dtype(), map,
                 y.raw(), StreamOf(context));
}

void Relu(Context& context, const TensorView& x) {
  Relu(x.raw(), x.dtype(), x.elements(), StreamOf(context));
}

void Add(Context& context, const TensorView& x, const TensorView& y) {
  Add(x.raw(), y.raw(), x.dtype(), x.elements(), StreamOf(context));
}

void Silu(Context& context, const TensorView& x) {
  Silu(x.data<float>(), x.elements(), StreamOf(context));
}

void CopyRows(Context& context, const TensorView& x, const TensorView& y) {
  CopyRows(x.data<float>(), x.dim(0) == 1 ? 0 : x.stride(0), y.data<float>(), y.stride(0), y.dim(0),
           y.dim(1), StreamOf(context));
}

void AddRows(Context& context, const TensorView& table, const TensorView& y) {
  AddRows(table.data<float>(), table.dim(0), y.data<float>(), y.dim(0), y.dim(1), y.stride(0),
          StreamOf(context));
}

void AddPositionMap(Context& context, const TensorView& across, const TensorView& down,
                    const TensorView& x) {
  AddPositionMap(across.data<float>(), down.data<float>(), x.raw(), x.dtype(), x.dim(0), x.dim(1),
                 x.dim(2), StreamOf(context));
}

void ExtractPatches(Context& context, const TensorView& image, int patch, const float* mean,
                    const float* deviation, const TensorView& out) {
  Normalization normalization;
  std::copy_n(mean, 3, normalization.mean);
  std::copy_n(deviation, 3, normalization.deviation);
  ExtractPatches(image.data<float>(), image.dim(1), image.dim(2), patch, normalization, out.raw(),
                 out.dtype(), out.stride(0), StreamOf(context));
}

void DepthToSpace(Context& context, const TensorView& x, int size, const TensorView& y) {
  DepthToSpace(x.raw(), x.dtype(), x.dim(0), x.dim(1), size, y.dim(2), y.raw(), StreamOf(context));
}

void PredictDepth(Context& context, const TensorView& x, const LinearWeights::Packed& weights,
                  const TensorView& depth, const TensorView& confidence) {
  PredictDepth(x.raw(), x.dtype(), x.dim(0), x.dim(1), weights.weight.data<float>(),
               weights.bias.data<float>(), depth.data<float>(), confidence.data<float>(),
               StreamOf(context));
}

void Modulate(Context& context, const TensorView& modulation, const TensorView& plain,
              const TensorView& normed, const TensorView& x) {
  Modulate(modulation.data<float>(), plain.data<float>(), normed.data<float>(), x.data<float>(),
           x.dim(0), x.dim(1), StreamOf(context));
}

void ActivatePose(Context& context, const TensorView& raw, const TensorView& poses) {
  constexpr int64_t kLinear = 7;  // translation and quaternion
  ActivatePose(raw.data<float>(), poses.data<float>(), raw.dim(0), raw.dim(1), kLinear,
               StreamOf(context));
}

void StoreEntries(Context& context, const TensorView& k, const TensorView& v, float* k_entries,
                  float* v_entries, int64_t stride, const int32_t* first) {
  StoreRowsBehind(k.data<float>(), v.data<float>(), k.stride(0), k.dim(0), k.dim(1) * k.dim(2),
                  first, k_entries, v_entries, stride, StreamOf(context));
}

void FillBytes(Context& context, void* target, int value, size_t bytes) noexcept {
  cudaMemsetAsync(target, value, bytes, StreamOf(context));
}

// In pieces that fit the workspace, which is free between steps: rows of later pieces are not yet
// overwritten, for every row moves towards the front of its sequence.
void MoveRows(Context& context, std::span<std::byte* const> planes, size_t row_bytes,
              std::span<const int64_t> from, std::span<const int64_t> to) noexcept {
  try {
    Arena& arena = context.arena();
    const size_t room = arena.capacity() - arena.used();
    const size_t per_row = row_bytes + 2 * sizeof(int64_t);
    const auto piece = std::max<int64_t>(
        1, static_cast<int64_t>((room - std::min(room, 4 * kGpuAlignment)) / per_row));
    for (int64_t begin = 0; begin < static_cast<int64_t>(from.size()); begin += piece) {
      const int64_t count = std::min<int64_t>(piece, static_cast<int64_t>(from.size()) - begin);
      const Arena::Scope scope(arena);
      const TensorView offsets = arena.Allocate(DType::kI64, {2, count});
      const TensorView packed =
          arena.Allocate(DType::kU8, {count * static_cast<int64_t>(row_bytes)});
      const auto upload = [&](std::span<const int64_t> values, int64_t row) {
        CheckCuda(cudaMemcpyAsync(offsets[row].raw(), values.data() + begin,
                                  static_cast<size_t>(count) * sizeof(int64_t),
                                  cudaMemcpyHostToDevice, StreamOf(context)),
                  "cudaMemcpyAsync");
      };
      upload(from, 0);
      upload(to, 1);
      auto* rows = static_cast<std::byte*>(packed.raw());
      for (std::byte* plane : planes) {
        PackRows(plane, offsets[0].data<int64_t>(), count, static_cast<int64_t>(row_bytes), rows,
                 StreamOf(context));
        UnpackRows(rows, offsets[1].data<int64_t>(), count, static_cast<int64_t>(row_bytes), plane,
                   StreamOf(context));
      }
    }
  } catch (...) {
    // A GPU in error stays so: the next Synchronize reports it.
  }
}

}  // namespace lingbot::ops::cuda
