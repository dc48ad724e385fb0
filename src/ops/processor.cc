#include "lingbot/processor.h"

#include <hwy/highway.h>
#include <dnnl.hpp>
#include <fstream>

#include <fmt/format.h>

#include "base/thread_team.h"
#include "ops/linear.h"

namespace lingbot {
namespace {

// The first "model name" of the kernel's list; other architectures than x86 have none.
std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const size_t colon = line.find(':');
    if (line.rfind("model name", 0) == 0 && colon + 2 < line.size()) return line.substr(colon + 2);
  }
  return {};
}

const char* NameOf(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::sse41:
      return "SSE4.1";
    case dnnl::cpu_isa::avx:
      return "AVX";
    case dnnl::cpu_isa::avx2:
      return "AVX2";
    case dnnl::cpu_isa::avx512_core:
      return "AVX-512";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "AVX-512 VNNI";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "AVX-512 BF16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "AMX";
    default:
      return "other";
  }
}

// Highway numbers targets so that a better one has a lower bit; of those compiled in, the best that
// runs here is taken.
std::string BestTarget() {
  const int64_t usable = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(usable & -usable);
}

}  // namespace

ProcessorInfo DescribeProcessor() {
  ProcessorInfo info;
  info.name = ProcessorName();
  info.cores = ThreadTeam().size();
  info.kernels = BestTarget();
  info.native_bfloat16 = ops::HasNativeBFloat16();
  const dnnl_version_t* version = dnnl_version();
  info.matrix_library =
      fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
  info.matrix_kernels = NameOf(dnnl::get_effective_cpu_isa());
  return info;
}

}  // namespace lingbot
