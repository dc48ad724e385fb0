#include "base/thread_team.h"

#include <gtest/gtest.h>

#include <vector>

#include "lingbot/error.h"

namespace lingbot {
namespace {

TEST(ThreadTeam, VisitsEveryItemOnce) {
  for (int threads : {1, 2, 3, 7}) {
    const ThreadTeam team(threads);
    std::vector<int> seen(1001, 0);
    team.ForEach(1001, [&](int64_t i) { ++seen[i]; });
    team.ForRange(1001, 10, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++seen[i];
    });
    EXPECT_EQ(seen, std::vector<int>(1001, 2)) << threads;
    team.ForRange(0, 1, [&](int64_t, int64_t) { FAIL(); });
  }
}

TEST(ThreadTeam, RejectsNonsense) {
  EXPECT_THROW(ThreadTeam(-1), Error);
  EXPECT_THROW(ThreadTeam(100000), Error);
  EXPECT_GE(ThreadTeam(0).size(), 1);
}

TEST(ThreadTeam, ScopeRestoresTheDefault) {
  const int before = omp_get_max_threads();
  {
    const ThreadTeam::Scope scope(ThreadTeam(3));
    EXPECT_EQ(omp_get_max_threads(), 3);
  }
  EXPECT_EQ(omp_get_max_threads(), before);
}

}  // namespace
}  // namespace lingbot
