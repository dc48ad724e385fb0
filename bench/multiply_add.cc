#include "bench/multiply_add.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/multiply_add.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace lingbot::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Twelve chains: latency 4 times two units is 8, and 12 accumulators fit 16 registers.
int64_t MultiplyAddsOn(int64_t rounds, float* result) {
  const hn::CappedTag<float, 16> d;
  constexpr int kChains = 12;
  hn::Vec<decltype(d)> sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = hn::Set(d, result[0] + i);
  const auto factor = hn::Set(d, 0.999f);
  const auto term = hn::Set(d, 1e-3f);
  for (int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < kChains; ++i) sums[i] = hn::MulAdd(sums[i], factor, term);
  }
  for (int i = 1; i < kChains; ++i) sums[0] = hn::Add(sums[0], sums[i]);
  *result = hn::GetLane(sums[0]);
  return 2 * rounds * kChains * static_cast<int64_t>(hn::Lanes(d));
}

}  // namespace lingbot::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lingbot {

HWY_EXPORT(MultiplyAddsOn);

int64_t MultiplyAdds(int64_t rounds, float* result) {
  return HWY_DYNAMIC_DISPATCH(MultiplyAddsOn)(rounds, result);
}

}  // namespace lingbot
#endif  // HWY_ONCE
