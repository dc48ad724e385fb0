#include "ops/cpu/conv.h"

#include <algorithm>

#include "base/check.h"
#include "ops/cpu/state.h"

namespace lingbot::ops {
namespace {

using dnnl::memory;
using Type = memory::data_type;
using Tag = memory::format_tag;

// Size of the image for which the library is asked which layouts it likes.
constexpr int64_t kTypicalSize = 64;

struct Sizes {
  int64_t in, out, rows, columns, out_rows, out_columns;
  int size, stride;
};

memory::desc Image(int64_t channels, int64_t rows, int64_t columns, Tag tag) {
  return memory::desc({1, channels, rows, columns}, Type::f32, tag);
}

memory::desc BiasDesc(int64_t out) { return memory::desc({out}, Type::f32, Tag::a); }

// The library picks the layouts of both images: on processors with AVX2 only, its blocked layout
// is 1.5 to 3 times as fast as channels-last, which pays for the two conversions many times over
// (docs/benchmarks.md).
dnnl::convolution_forward::primitive_desc Describe(const Sizes& s, const memory::desc& weights,
                                                   const dnnl::primitive_attr& attributes) {
  return cpu::ConvolutionDesc(Image(s.in, s.rows, s.columns, Tag::any), weights, BiasDesc(s.out),
                              Image(s.out, s.out_rows, s.out_columns, Tag::any), s.stride,
                              s.size / 2, attributes);
}

// The packed layout must not depend on the image, or weights could not be packed before a session
// starts.
memory::desc PreferredWeights(int64_t out, int64_t in, int size, int stride) {
  const int64_t out_size = ConvOutputSize(kTypicalSize, size, stride);
  const Sizes sizes{in, out, kTypicalSize, kTypicalSize, out_size, out_size, size, stride};
  return Describe(sizes, memory::desc({out, in, size, size}, Type::f32, Tag::any), {})
      .weights_desc();
}

}  // namespace

size_t Conv2dWorkspaceBytes(const Setup& setup, int64_t rows, int64_t columns, int64_t in,
                            int64_t out, int size, int stride) {
  if (setup.on_gpu()) return 0;
  // Blocked layouts round channels up to a multiple of at most 16.
  const auto padded = [](int64_t channels) { return (channels + 15) / 16 * 16; };
  const int64_t out_pixels =
      ConvOutputSize(rows, size, stride) * ConvOutputSize(columns, size, stride);
  return Arena::BytesFor(DType::kF32, rows * columns * padded(in)) +
         Arena::BytesFor(DType::kF32, out_pixels * padded(out));
}

namespace cpu {

void PackConv(std::span<const float> weight, ConvWeights::Packed& packed) {
  const memory::desc preferred =
      PreferredWeights(packed.out, packed.in, packed.size, packed.stride);
  packed.weight = Buffer(DType::kU8, {static_cast<int64_t>(preferred.get_size())});
  memory from(memory::desc({packed.out, packed.in, packed.size, packed.size}, Type::f32, Tag::oihw),
              cpu::DnnlEngine(), const_cast<float*>(weight.data()));
  memory to(preferred, cpu::DnnlEngine(), packed.weight.view().raw());
  dnnl::stream stream(cpu::DnnlEngine());
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
}

namespace {

CpuState::Entry BuildConvolution(const Sizes& s, bool relu) {
  dnnl::post_ops post_ops;
  if (relu) AppendRelu(post_ops);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(post_ops);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto desc = Describe(s, PreferredWeights(s.out, s.in, s.size, s.stride), attributes);
  return {dnnl::convolution_forward(desc), desc.src_desc(), desc.weights_desc(), desc.dst_desc(),
          desc.scratchpad_desc()};
}

CpuState::Entry BuildReorder(const memory::desc& from, const memory::desc& to, bool accumulate) {
  dnnl::post_ops post_ops;
  if (accumulate) post_ops.append_sum(1.0f);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(post_ops);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::reorder::primitive_desc desc(DnnlEngine(), from, DnnlEngine(), to, attributes);
  return {dnnl::reorder(desc), from, memory::desc(), to, desc.scratchpad_desc()};
}

enum Direction : int64_t { kToLibrary = 2, kFromLibrary = 3, kAddFromLibrary = 4 };

// Copies (or adds) an image between channels-last and the library's layout.
void Relayout(CpuState& state, Direction direction, int64_t channels, int64_t rows, int64_t columns,
              const memory::desc& from, const void* source, const memory::desc& to, void* target) {
  const CpuState::Key key = {direction, channels, rows, columns};
  const CpuState::Entry& entry =
      state.Find(key, [&] { return BuildReorder(from, to, direction == kAddFromLibrary); });
  entry.primitive.execute(
      state.stream(),
      {{DNNL_ARG_FROM, memory(from, DnnlEngine(), const_cast<void*>(source))},
       {DNNL_ARG_TO, memory(to, DnnlEngine(), target)},
       {DNNL_ARG_SCRATCHPAD, memory(entry.scratch, DnnlEngine(), state.scratch())}});
}

TensorView ScratchFor(Context& context, const memory::desc& desc) {
  return context.arena().Allocate(DType::kU8, {static_cast<int64_t>(desc.get_size())});
}

}  // namespace

void Conv2d(Context& context, Plane x, const ConvWeights::Packed& weights, ConvEpilogue epilogue,
            Plane y) {
  const ThreadTeam::Scope threads(context.team());
  const Arena::Scope scope(context.arena());
  CpuState& state = context.cpu();
  const Sizes sizes{weights.in, weights.out, x.rows,       x.columns,
                    y.rows,     y.columns,   weights.size, weights.stride};
  const bool relu = epilogue == ConvEpilogue::kRelu;
  const CpuState::Key key = {1,          sizes.in,     sizes.out, sizes.rows, sizes.columns,
                             sizes.size, sizes.stride, relu};
  const CpuState::Entry& entry = state.Find(key, [&] { return BuildConvolution(sizes, relu); });

  const memory::desc x_last = Image(sizes.in, x.rows, x.columns, Tag::nhwc);
  const memory::desc y_last = Image(sizes.out, y.rows, y.columns, Tag::nhwc);
  void* source = x.data;
  if (entry.source != x_last) {
    source = ScratchFor(context, entry.source).raw();
    Relayout(state, kToLibrary, sizes.in, x.rows, x.columns, x_last, x.data, entry.source, source);
  }
  const bool direct = entry.target == y_last && epilogue != ConvEpilogue::kAccumulate;
  void* target = direct ? y.data : ScratchFor(context, entry.target).raw();
  entry.primitive.execute(
      state.stream(),
      {{DNNL_ARG_SRC, memory(entry.source, DnnlEngine(), source)},
       {DNNL_ARG_WEIGHTS, memory(entry.weights, DnnlEngine(), weights.weight.view().raw())},
       {DNNL_ARG_BIAS, memory(BiasDesc(sizes.out), DnnlEngine(), weights.bias.data<float>())},
       {DNNL_ARG_DST, memory(entry.target, DnnlEngine(), target)},
       {DNNL_ARG_SCRATCHPAD, memory(entry.scratch, DnnlEngine(), state.scratch())}});
  if (!direct) {
    Relayout(state, epilogue == ConvEpilogue::kAccumulate ? kAddFromLibrary : kFromLibrary,
             sizes.out, y.rows, y.columns, entry.target, target, y_last, y.data);
  }
}

}  // namespace cpu
}  // namespace lingbot::ops
