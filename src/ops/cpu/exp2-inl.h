// Included once for each vector instruction set, hence no ordinary guard.
#if defined(LINGBOT_OPS_CPU_EXP2_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LINGBOT_OPS_CPU_EXP2_INL_H_
#undef LINGBOT_OPS_CPU_EXP2_INL_H_
#else
#define LINGBOT_OPS_CPU_EXP2_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace lingbot::ops::HWY_NAMESPACE {

// 2^x for x <= 0, with a relative error below 1.3e-7; exactly 1 at 0, and 2^-125 below -125. NaN
// stays NaN.
//
// x = n + f with |f| <= 1/2. Adding 1.5 * 2^23 rounds to an integer, which then lies in the low
// bits of the sum, here with the exponent's bias of 127 already added. 2^f is 1 + f P(f), P the
// polynomial of degree 5 of least relative error (Remez), 2.0e-9 before rounding of its
// coefficients and 1.6e-8 after.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V Exp2(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToSigned<D> di;
  // Not Max, which drops NaN on some processors.
  const V low = hn::Set(d, -125.0f);
  x = hn::IfThenElse(hn::Lt(x, low), low, x);
  const V magic = hn::Set(d, 12582912.0f + 127.0f);
  const V shifted = hn::Add(x, magic);
  const V f = hn::Sub(x, hn::Sub(shifted, magic));
  V p = hn::Set(d, 0.00015353362f);
  p = hn::MulAdd(p, f, hn::Set(d, 0.00133988739f));
  p = hn::MulAdd(p, f, hn::Set(d, 0.00961843692f));
  p = hn::MulAdd(p, f, hn::Set(d, 0.0555033237f));
  p = hn::MulAdd(p, f, hn::Set(d, 0.240226477f));
  p = hn::MulAdd(p, f, hn::Set(d, 0.693147182f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
  return hn::Mul(p, power);
}

}  // namespace lingbot::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
