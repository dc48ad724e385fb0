#include "ops/kv_store.h"

#include <cstring>

#include "base/check.h"

namespace lingbot::ops {
namespace {

// Fewer bytes than this are not worth waking a thread for.
constexpr int64_t kBytesPerThread = 64 * 1024;

void CheckInput(const char* name, const TensorView& input, const KvDestination& to) {
  Check(input.raw() != nullptr && input.device() == Device::kCpu && input.dtype() == DType::kF32 &&
            input.rank() == 3 && input.dim(0) == to.rows && input.dim(1) == to.heads &&
            input.dim(2) == to.head_dim && (to.head_dim == 1 || input.stride(2) == 1),
        ErrorCode::kInternal,
        "the cache was given {} of shape {}, strides {}, {}; expected float32 [{}, {}, {}] on the "
        "CPU with contiguous channels",
        name, input.shape(), input.strides(), NameOf(input.dtype()), to.rows, to.heads,
        to.head_dim);
}

void Convert(const float* source, int64_t count, float* target) {
  std::memcpy(target, source, static_cast<size_t>(count) * sizeof(float));
}

void Convert(const float* source, int64_t count, BFloat16* target) {
  for (int64_t i = 0; i < count; ++i) target[i] = ToBFloat16(source[i]);
}

template <typename T>
void StoreRows(const TensorView& source, const KvDestination& to, void* base, int64_t begin,
               int64_t end) {
  const int64_t head_stride = source.stride(1);
  for (int64_t row = begin; row < end; ++row) {
    const float* from = source.data<float>() + row * source.stride(0);
    T* target = static_cast<T*>(base) + to.offsets[row];
    if (head_stride == to.head_dim) {
      Convert(from, to.heads * to.head_dim, target);
      continue;
    }
    for (int64_t head = 0; head < to.heads; ++head) {
      Convert(from + head * head_stride, to.head_dim, target + head * to.head_dim);
    }
  }
}

}  // namespace

void StoreKv(const ThreadTeam& team, const TensorView& k, const TensorView& v,
             const KvDestination& destination) {
  CheckInput("K", k, destination);
  CheckInput("V", v, destination);
  const int64_t row_bytes =
      destination.heads * destination.head_dim * static_cast<int64_t>(SizeOf(destination.dtype));
  team.ForRange(destination.rows, kBytesPerThread / (2 * row_bytes) + 1,
                [&](int64_t begin, int64_t end) {
                  const auto store =
                      destination.dtype == DType::kF32 ? StoreRows<float> : StoreRows<BFloat16>;
                  store(k, destination, destination.k, begin, end);
                  store(v, destination, destination.v, begin, end);
                });
}

}  // namespace lingbot::ops
