#ifndef LINGBOT_OPS_ROTARY_H_
#define LINGBOT_OPS_ROTARY_H_

#include "ops/context.h"
#include "ops/kv_store.h"
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

// Learned layer normalisation of a head's channels; what comes of it is multiplied by `scale`.
struct HeadNorm {
  TensorView gamma;  // [head_dim] float32
  TensorView beta;   // [head_dim] float32
  float eps = 0.0f;
  float scale = 1.0f;  // 1 for k
};

// Queries, keys and values of all rows of one product, each [rows, heads, head_dim], channels
// contiguous. They come in the product's type; the functions below return them in the type that
// attention takes, in the same memory.
struct Qkv {
  TensorView q, k, v;
};

// Layer normalisation of every head of every row of q and k, then rotation: a pair (a, b) at angle
// t becomes (a cos t - b sin t, b cos t + a sin t). Row r uses row r mod table rows, so that one
// table serves several frames.
Qkv NormRotate(Context& context, const Qkv& qkv, const HeadNorm& q_norm, const HeadNorm& k_norm,
               const RotaryTable& table);

// The same, but k, normalised and rotated, and v as it is go to the cache at `destination`. Returns
// q; k and v of `qkv` are undefined afterwards.
TensorView NormRotateStore(Context& context, const Qkv& qkv, const HeadNorm& q_norm,
                           const HeadNorm& k_norm, const RotaryTable& table,
                           const KvDestination& destination);

// For attention that neither normalises nor rotates.
Qkv AsTheyAre(Context& context, const Qkv& qkv);

// Writes the angles of time into the first `pairs` columns of a table of `frames` frames: cosines
// and sines of frame f are angles[2 * pairs * f ..], cosines first; in memory of the device.
void SetTimeAngles(Context& context, const float* angles, int64_t frames, int64_t pairs,
                   const RotaryTable& table);

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_ROTARY_H_
