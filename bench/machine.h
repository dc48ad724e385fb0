#ifndef LINGBOT_BENCH_MACHINE_H_
#define LINGBOT_BENCH_MACHINE_H_

#include <cstdint>
#include <string>

namespace lingbot {

// What a measurement ran on.
struct Machine {
  std::string processor;       // model name, "unknown" where the system does not say
  int cores = 0;               // that this process may use
  double load = 0.0;           // processes that wanted to run over the last minute; -1 = unknown
  uint64_t free_memory = 0;    // bytes; 0 = unknown
  std::string matrix_library;  // name and version
  bool native_bf16 = false;    // bfloat16 products in hardware
};

Machine DescribeMachine();

}  // namespace lingbot

#endif  // LINGBOT_BENCH_MACHINE_H_
