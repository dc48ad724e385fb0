#include "ops/cpu/linear.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "ops/cpu/convert.h"
#include "ops/cpu/state.h"

namespace lingbot::ops {
namespace {

using dnnl::memory;
using Type = memory::data_type;
using Tag = memory::format_tag;

// Rows for which the library is asked which weight layout it likes: about one frame's tokens.
constexpr int64_t kTypicalRows = 1024;

// bf16 weights are widened to f32 in panels of this many bytes where bf16 products are not native:
// small enough to stay in the outer cache between widening and product, large enough for full speed
// of the product.
constexpr int64_t kPanelBytes = 4 << 20;

int64_t PanelColumns(int64_t in, int64_t out) {
  const int64_t columns = kPanelBytes / (in * static_cast<int64_t>(sizeof(float))) / 64 * 64;
  return std::clamp<int64_t>(columns, std::min<int64_t>(64, out), out);
}

bool Widens(DType storage) { return storage == DType::kBF16 && !HasNativeBFloat16(); }

Type TypeOf(DType storage) { return storage == DType::kBF16 ? Type::bf16 : Type::f32; }

// Weights are stored [out, in]; the product wants [in, out]: the same memory, read column-major.
memory::desc PlainWeights(int64_t out, int64_t in, DType storage) {
  return memory::desc({in, out}, TypeOf(storage), Tag::ba);
}

memory::desc PreferredWeights(int64_t out, int64_t in, DType storage) {
  const auto desc = cpu::MatmulDesc(
      {{kTypicalRows, in}, TypeOf(storage), Tag::ab}, {{in, out}, TypeOf(storage), Tag::any},
      {{1, out}, Type::f32, Tag::ab}, {{kTypicalRows, out}, Type::f32, Tag::ab}, {});
  return desc.weights_desc();
}

Buffer ToStorage(std::span<const float> values, DType storage) {
  Buffer buffer(storage, {static_cast<int64_t>(values.size())});
  if (storage == DType::kF32) {
    std::copy(values.begin(), values.end(), buffer.data<float>());
  } else {
    BFloat16* target = buffer.data<BFloat16>();
    for (size_t i = 0; i < values.size(); ++i) target[i] = ToBFloat16(values[i]);
  }
  return buffer;
}

// Moves `packed` from [out, in] to the layout that the library prefers, unless that is the same.
void Reorder(LinearWeights::Packed& packed) {
  const DType storage = packed.storage;
  const memory::desc plain = PlainWeights(packed.out, packed.in, storage);
  const memory::desc preferred = PreferredWeights(packed.out, packed.in, storage);
  if (preferred == plain ||
      preferred == memory::desc({packed.in, packed.out}, TypeOf(storage), Tag::ab)) {
    return;
  }
  Buffer target(DType::kU8, {static_cast<int64_t>(preferred.get_size())});
  memory from(plain, cpu::DnnlEngine(), packed.weight.view().raw());
  memory to(preferred, cpu::DnnlEngine(), target.view().raw());
  dnnl::stream stream(cpu::DnnlEngine());
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  packed.weight = std::move(target);
  packed.opaque = true;
}

}  // namespace

bool HasNativeBFloat16() {
  static const bool native = [] {
    const auto isa = dnnl::get_effective_cpu_isa();
    return isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx;
  }();
  return native;
}

size_t LinearWorkspaceBytes(const Setup& setup, int64_t rows, int64_t in, int64_t out) {
  if (setup.on_gpu() || setup.storage == DType::kF32) return 0;
  if (Widens(setup.storage)) return Arena::BytesFor(DType::kF32, PanelColumns(in, out) * in);
  return Arena::BytesFor(DType::kBF16, rows * in);
}

namespace cpu {

void PackLinear(std::span<const float> weight, std::span<const float> out_scale,
                LinearWeights::Packed& packed) {
  const DType storage = packed.storage;
  if (out_scale.empty()) {
    packed.weight = ToStorage(weight, storage);
  } else {
    const Buffer scaled(DType::kF32, {packed.out, packed.in});
    float* target = scaled.data<float>();
    const int64_t out = packed.out, in = packed.in;
    for (int64_t o = 0; o < out; ++o) {
      for (int64_t i = 0; i < in; ++i) target[o * in + i] = weight[o * in + i] * out_scale[o];
    }
    packed.weight = ToStorage({target, static_cast<size_t>(packed.out * packed.in)}, storage);
  }
  if (!Widens(storage)) Reorder(packed);
}

namespace {

// One product of `rows` by the weights described by `weights`, `columns` wide.
struct Product {
  int64_t rows, in, columns, source_stride, target_stride;
  LinearEpilogue epilogue;
  DType storage;  // of source and weights
  bool opaque;
};

CpuState::Entry BuildProduct(const Product& p) {
  const Type type = TypeOf(p.storage);
  dnnl::post_ops post_ops;
  if (p.epilogue == LinearEpilogue::kGelu) AppendGelu(post_ops);
  if (p.epilogue == LinearEpilogue::kAccumulate) post_ops.append_sum(1.0f);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(post_ops);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto desc = MatmulDesc(
      memory::desc({p.rows, p.in}, type, memory::dims{p.source_stride, 1}),
      p.opaque ? PreferredWeights(p.columns, p.in, p.storage)
               : PlainWeights(p.columns, p.in, p.storage),
      memory::desc({1, p.columns}, Type::f32, Tag::ab),
      memory::desc({p.rows, p.columns}, Type::f32, memory::dims{p.target_stride, 1}), attributes);
  return {dnnl::matmul(desc), desc.src_desc(), desc.weights_desc(), desc.dst_desc(),
          desc.scratchpad_desc()};
}

void Multiply(CpuState& state, const Product& p, const void* source, const void* weights,
              const float* bias, float* target) {
  const CpuState::Key key = {0,
                             p.rows,
                             p.in,
                             p.columns,
                             p.source_stride,
                             p.target_stride,
                             static_cast<int64_t>(p.epilogue),
                             static_cast<int64_t>(p.storage),
                             p.opaque};
  const CpuState::Entry& entry = state.Find(key, [&] { return BuildProduct(p); });
  const auto wrap = [](const memory::desc& desc, const void* data) {
    return memory(desc, DnnlEngine(), const_cast<void*>(data));
  };
  entry.primitive.execute(
      state.stream(),
      {{DNNL_ARG_SRC, wrap(entry.source, source)},
       {DNNL_ARG_WEIGHTS, wrap(entry.weights, weights)},
       {DNNL_ARG_BIAS, wrap(memory::desc({1, p.columns}, Type::f32, Tag::ab), bias)},
       {DNNL_ARG_DST, wrap(entry.target, target)},
       {DNNL_ARG_SCRATCHPAD, wrap(entry.scratch, state.scratch())}});
}

void MultiplyWidened(Context& context, Product p, const Rows& x,
                     const LinearWeights::Packed& weights, const Rows& y) {
  const int64_t panel = PanelColumns(p.in, weights.out);
  const Arena::Scope scope(context.arena());
  float* wide = context.arena().Floats({panel, p.in}).data<float>();
  p.storage = DType::kF32;
  for (int64_t begin = 0; begin < weights.out; begin += panel) {
    p.columns = std::min(panel, weights.out - begin);
    const BFloat16* narrow = weights.weight.data<BFloat16>() + begin * p.in;
    context.team().ForRange(p.columns * p.in, 1 << 14, [&](int64_t first, int64_t last) {
      Widen(narrow + first, last - first, wide + first);
    });
    Multiply(context.cpu(), p, x.data, wide, weights.bias.data<float>() + begin, y.data + begin);
  }
}

void MultiplyNarrowed(Context& context, Product p, const Rows& x,
                      const LinearWeights::Packed& weights, const Rows& y) {
  const Arena::Scope scope(context.arena());
  BFloat16* narrow = context.arena().Allocate(DType::kBF16, {x.count, p.in}).data<BFloat16>();
  context.team().ForRange(x.count, 8, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      Narrow(x.data + row * x.stride, p.in, narrow + row * p.in);
    }
  });
  p.source_stride = p.in;
  Multiply(context.cpu(), p, narrow, weights.weight.view().raw(), weights.bias.data<float>(),
           y.data);
}

}  // namespace

void Linear(Context& context, Rows x, const LinearWeights::Packed& weights, LinearEpilogue epilogue,
            Rows y) {
  const ThreadTeam::Scope threads(context.team());
  const Product p{x.count,  weights.in, weights.out,     x.stride,
                  y.stride, epilogue,   weights.storage, weights.opaque};
  if (Widens(weights.storage)) {
    MultiplyWidened(context, p, x, weights, y);
  } else if (weights.storage == DType::kBF16) {
    MultiplyNarrowed(context, p, x, weights, y);
  } else {
    Multiply(context.cpu(), p, x.data, weights.weight.view().raw(), weights.bias.data<float>(),
             y.data);
  }
}

}  // namespace cpu
}  // namespace lingbot::ops
