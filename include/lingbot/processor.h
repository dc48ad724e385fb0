#ifndef LINGBOT_PROCESSOR_H_
#define LINGBOT_PROCESSOR_H_

#include <string>

namespace lingbot {

// What this library would compute with here.
struct ProcessorInfo {
  std::string name;     // as the processor calls itself; empty if unknown
  int cores = 0;        // that this process may run on
  std::string kernels;  // instruction set of our own kernels, e.g. "AVX2"
  bool native_bfloat16 = false;
  std::string matrix_library;  // "oneDNN 2.6.0"
  std::string matrix_kernels;  // instruction set it uses
};

ProcessorInfo DescribeProcessor();

}  // namespace lingbot

#endif  // LINGBOT_PROCESSOR_H_
