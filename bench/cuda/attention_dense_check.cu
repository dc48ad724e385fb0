// Checks and times the dense attention kernels on the device at hand:
//   attention_dense_check sweep    every kernel against a float reference, NaN in all unused rows
//   attention_dense_check time     milliseconds and TFLOP/s at the released model's sizes
// Ends with status 1 where a check failed.

#include "bench/cuda/attention_dense_check.h"

#include <cstdio>
#include <exception>
#include <string>

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode != "sweep" && mode != "time") {
    std::fprintf(stderr, "usage: attention_dense_check sweep|time\n");
    return 2;
  }
  try {
    if (!lingbot::ops::cuda::DenseSupported(0)) {
      std::fprintf(stderr, "attention_dense_check: device 0 or this build has no Hopper kernels\n");
      return 2;
    }
    if (mode == "time") {
      lingbot::ops::cuda::dense::Time();
      return 0;
    }
    return lingbot::ops::cuda::dense::Sweep() == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attention_dense_check: %s\n", error.what());
    return 1;
  }
}
