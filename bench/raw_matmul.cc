#include "bench/raw_matmul.h"

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <unordered_map>
#include <vector>

#include "bench/measure.h"
#include "ops/cpu/dnnl_compat.h"

namespace lingbot {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Type = memory::data_type;

// Everything that one product needs, made once.
struct Product {
  Buffer source, bias, target;
  memory weights;
  dnnl::matmul primitive;
  dnnl::stream stream;
  std::unordered_map<int, memory> arguments;
};

memory Wrap(const memory::desc& desc, const Buffer& buffer) {
  return memory(desc, ops::cpu::DnnlEngine(), buffer.view().raw());
}

// Random weights in the layout `preferred`.
memory MakeWeights(const ProductShape& shape, DType dtype, Type type, const memory::desc& preferred,
                   dnnl::stream& stream) {
  const Buffer plain = RandomBuffer(dtype, {shape.in, shape.out});
  memory from = Wrap({{shape.in, shape.out}, type, Tag::ab}, plain);
  memory to(preferred, ops::cpu::DnnlEngine());
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  return to;
}

Tag TagOf(WeightLayout layout) {
  if (layout == WeightLayout::kChosen) return Tag::any;
  return layout == WeightLayout::kInOut ? Tag::ab : Tag::ba;
}

std::shared_ptr<Product> MakeProduct(const ProductShape& shape, DType dtype, WeightLayout layout) {
  const Type type = dtype == DType::kBF16 ? Type::bf16 : Type::f32;
  const memory::desc source({shape.rows, shape.in}, type, Tag::ab);
  const memory::desc bias({1, shape.out}, Type::f32, Tag::ab);
  const memory::desc target({shape.rows, shape.out}, Type::f32, Tag::ab);
  const auto desc = ops::cpu::MatmulDesc(
      source, memory::desc({shape.in, shape.out}, type, TagOf(layout)), bias, target, {});
  auto product = std::make_shared<Product>();
  product->source = RandomBuffer(dtype, {shape.rows, shape.in});
  product->bias = RandomBuffer(DType::kF32, {shape.out});
  product->target = Buffer(DType::kF32, {shape.rows, shape.out});
  product->stream = dnnl::stream(ops::cpu::DnnlEngine());
  product->weights = MakeWeights(shape, dtype, type, desc.weights_desc(), product->stream);
  product->primitive = dnnl::matmul(desc);
  product->arguments = {{DNNL_ARG_SRC, Wrap(source, product->source)},
                        {DNNL_ARG_WEIGHTS, product->weights},
                        {DNNL_ARG_BIAS, Wrap(bias, product->bias)},
                        {DNNL_ARG_DST, Wrap(target, product->target)}};
  return product;
}

}  // namespace

Buffer RandomBuffer(DType dtype, const Shape& shape) {
  Buffer buffer(dtype, shape);
  std::minstd_rand generator(1);
  const auto next = [&generator] {
    return static_cast<float>(generator() & 0xFFFFFF) * 0x1p-23f - 1.0f;
  };
  if (dtype == DType::kF32) {
    std::generate_n(buffer.data<float>(), shape.elements(), next);
  } else {
    std::generate_n(buffer.data<BFloat16>(), shape.elements(), [&] { return ToBFloat16(next()); });
  }
  return buffer;
}

std::function<void()> RawMatmul(ops::Context& context, const ProductShape& shape, DType dtype,
                                WeightLayout layout) {
  const ThreadTeam::Scope threads(context.team());
  return [&context, product = MakeProduct(shape, dtype, layout)] {
    const ThreadTeam::Scope scope(context.team());
    product->primitive.execute(product->stream, product->arguments);
    product->stream.wait();
  };
}

WeightLayout FastestLayout(ops::Context& context, const ProductShape& shape, DType dtype) {
  constexpr std::array kLayouts = {WeightLayout::kChosen, WeightLayout::kInOut,
                                   WeightLayout::kOutIn};
  std::vector<std::function<void()>> calls;
  for (const WeightLayout layout : kLayouts) {
    calls.push_back(RawMatmul(context, shape, dtype, layout));
  }
  const std::vector<Timing> timings = MeasureInTurn(calls, 0.0);
  const auto fastest =
      std::min_element(timings.begin(), timings.end(),
                       [](const Timing& a, const Timing& b) { return a.best < b.best; });
  return kLayouts[static_cast<size_t>(fastest - timings.begin())];
}

}  // namespace lingbot
