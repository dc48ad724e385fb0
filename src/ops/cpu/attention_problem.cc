#include "ops/cpu/attention_problem.h"

namespace lingbot::ops {

void CopyRows(const KvPlane& plane, int64_t page, int64_t first_token, int64_t tokens, int64_t head,
              int64_t head_dim, float* target) {
  for (int64_t token = 0; token < tokens; ++token) {
    ConvertToFloat(plane.At(page, first_token + token, head), plane.dtype,
                   static_cast<size_t>(head_dim), target + token * head_dim);
  }
}

}  // namespace lingbot::ops
