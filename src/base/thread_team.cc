#include "base/thread_team.h"

#include <sched.h>

#include <algorithm>
#include <thread>

#include "base/check.h"

namespace lingbot {
namespace {

int UsableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

ThreadTeam::ThreadTeam(int threads) : size_(threads == 0 ? UsableCores() : threads) {
  // Many more threads than cores only wait for each other.
  const int most = std::max(64, 4 * UsableCores());
  Check(size_ >= 1 && size_ <= most, ErrorCode::kInvalidArgument,
        "threads must be between 1 and {}, or 0 for all cores; got {}", most, threads);
}

ThreadTeam::Scope::Scope(const ThreadTeam& team) : previous_(omp_get_max_threads()) {
  omp_set_num_threads(team.size());
}

ThreadTeam::Scope::~Scope() { omp_set_num_threads(previous_); }

int64_t ThreadTeam::Parts(int64_t count, int64_t grain) const {
  return std::min<int64_t>(size_, count / std::max<int64_t>(grain, 1));
}

}  // namespace lingbot
