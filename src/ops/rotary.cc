#include "ops/rotary.h"

#include <algorithm>

#include "base/check.h"
#include "ops/cpu/rotary.h"
#include "ops/cuda/backend.h"

namespace lingbot::ops {
namespace {

void CheckHead(const char* name, const TensorView& x, const HeadNorm& norm,
               const RotaryTable& table) {
  const bool fits =
      x.rank() == 3 && x.stride(2) == 1 && x.dim(2) % 4 == 0 && x.dim(2) > 0 &&
      norm.gamma.shape() == Shape{x.dim(2)} && norm.beta.shape() == norm.gamma.shape() &&
      table.cos.rank() == 2 && table.cos.dim(1) == x.dim(2) / 2 && table.cos.dim(0) > 0 &&
      table.sin.shape() == table.cos.shape() && table.cos.contiguous() && table.sin.contiguous();
  Check(fits, ErrorCode::kInternal, "NormRotate: {} {}, gamma {}, table {} do not fit", name,
        x.shape(), norm.gamma.shape(), table.cos.shape());
}

void CheckQkv(const Qkv& qkv, const HeadNorm& q_norm, const HeadNorm& k_norm,
              const RotaryTable& table) {
  CheckHead("q", qkv.q, q_norm, table);
  CheckHead("k", qkv.k, k_norm, table);
  Check(qkv.k.shape() == qkv.q.shape() && qkv.v.shape() == qkv.q.shape(), ErrorCode::kInternal,
        "NormRotate: q {}, k {}, v {} differ", qkv.q.shape(), qkv.k.shape(), qkv.v.shape());
}

TensorView Retyped(const TensorView& x, DType dtype) {
  return {x.raw(), dtype, x.shape(), x.strides(), x.device()};
}

Qkv Retyped(const Qkv& qkv, DType dtype) {
  return {Retyped(qkv.q, dtype), Retyped(qkv.k, dtype), Retyped(qkv.v, dtype)};
}

void NormRotateOnCpu(Context& context, const Qkv& qkv, const HeadNorm& q_norm,
                     const HeadNorm& k_norm, const RotaryTable& table) {
  cpu::NormRotate(context, qkv.q, q_norm, table);
  cpu::NormRotate(context, qkv.k, k_norm, table);
}

}  // namespace

Qkv NormRotate(Context& context, const Qkv& qkv, const HeadNorm& q_norm, const HeadNorm& k_norm,
               const RotaryTable& table) {
  CheckQkv(qkv, q_norm, k_norm, table);
  const DType result = context.setup().activations();
  if (context.setup().on_gpu()) {
    cuda::NormRotate(context, qkv, q_norm, k_norm, table, nullptr, result);
  } else {
    NormRotateOnCpu(context, qkv, q_norm, k_norm, table);
  }
  return Retyped(qkv, result);
}

TensorView NormRotateStore(Context& context, const Qkv& qkv, const HeadNorm& q_norm,
                           const HeadNorm& k_norm, const RotaryTable& table,
                           const KvDestination& destination) {
  CheckQkv(qkv, q_norm, k_norm, table);
  Check(destination.device == context.setup().device, ErrorCode::kInternal,
        "the cache is on another device than the activations");
  const DType result = context.setup().activations();
  if (context.setup().on_gpu()) {
    cuda::NormRotate(context, qkv, q_norm, k_norm, table, &destination, result);
  } else {
    NormRotateOnCpu(context, qkv, q_norm, k_norm, table);
    StoreKv(context.team(), qkv.k, qkv.v, destination);
  }
  return Retyped(qkv.q, result);
}

Qkv AsTheyAre(Context& context, const Qkv& qkv) {
  const DType result = context.setup().activations();
  if (qkv.q.dtype() == result) return qkv;
  const Shape product = {qkv.q.dim(0), 3 * qkv.q.dim(1) * qkv.q.dim(2)};
  Check(qkv.q.stride(0) == product[1] && SizeOf(qkv.q.dtype()) == SizeOf(result),
        ErrorCode::kInternal, "q {} of {} cannot become {} in place", qkv.q.shape(),
        NameOf(qkv.q.dtype()), NameOf(result));
  cuda::ConvertInPlace(context, {qkv.q.raw(), qkv.q.dtype(), product, qkv.q.device()}, result);
  return Retyped(qkv, result);
}

void SetTimeAngles(Context& context, const float* angles, int64_t frames, int64_t pairs,
                   const RotaryTable& table) {
  const int64_t rows = table.cos.dim(0);
  Check(rows % frames == 0 && pairs <= table.cos.dim(1), ErrorCode::kInternal,
        "SetTimeAngles: {} frames of {} pairs do not fit a table {}", frames, pairs,
        table.cos.shape());
  if (context.setup().on_gpu()) {
    return cuda::SetTimeAngles(context, angles, frames, pairs, table);
  }
  for (int64_t row = 0; row < rows; ++row) {
    const float* of_frame = angles + 2 * pairs * (row / (rows / frames));
    std::copy_n(of_frame, pairs, table.cos[row].data<float>());
    std::copy_n(of_frame + pairs, pairs, table.sin[row].data<float>());
  }
}

}  // namespace lingbot::ops
