#ifndef LINGBOT_BENCH_MULTIPLY_ADD_H_
#define LINGBOT_BENCH_MULTIPLY_ADD_H_

#include <cstdint>

namespace lingbot {

// Does `rounds` rounds of independent multiply-adds in the widest registers, out of registers
// alone, and returns how many floating-point operations that was (a multiply-add is two). `result`
// is the start value and receives the sum, so that the work is not optimised away.
int64_t MultiplyAdds(int64_t rounds, float* result);

}  // namespace lingbot

#endif  // LINGBOT_BENCH_MULTIPLY_ADD_H_
