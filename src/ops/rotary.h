#ifndef LINGBOT_OPS_ROTARY_H_
#define LINGBOT_OPS_ROTARY_H_

#include "ops/context.h"
#include "tensor/buffer.h"

namespace lingbot::ops {

// Which two channels of a head form a pair.
enum class RotaryPairing {
  kAdjacent,      // pair j: channels 2j and 2j+1
  kHalvesOfHalf,  // the head's channels are cut in two halves of n = head_dim/2; pair j < n/2 of
                  // half h is channels h*n + j and h*n + j + n/2
};

// Cosines and sines of every token's rotation angles: [tokens, head_dim/2] each, float32. Pair p of
// the pairing, counted through both halves, takes column p.
struct RotaryTable {
  RotaryPairing pairing;
  TensorView cos;
  TensorView sin;
};

// Layer normalisation of every head of every token, then rotation: a pair (a, b) at angle t becomes
// (a cos t - b sin t, b cos t + a sin t). In place on x [tokens, heads, head_dim] float32, channels
// contiguous. gamma and beta [head_dim]. Token t uses row t mod table rows, so that one table
// serves several frames.
void NormRotate(Context& context, const TensorView& x, const TensorView& gamma,
                const TensorView& beta, float eps, const RotaryTable& table);

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_ROTARY_H_
