#ifndef LINGBOT_BASE_THREAD_TEAM_H_
#define LINGBOT_BASE_THREAD_TEAM_H_

#include <cstdint>
#include <utility>

#include <omp.h>

namespace lingbot {

// A number of threads that work on one frame together. OpenMP supplies them, because the matrix
// library does too: two pools would fight for the same cores. Results depend on the number of
// threads at most, never on timing: work is cut into parts by index alone.
class ThreadTeam {
 public:
  // `threads` = 0 takes every core this process may run on.
  explicit ThreadTeam(int threads = 0);
  int size() const { return size_; }

  // While alive, code on this thread that asks OpenMP for its default team gets `size()` threads.
  class Scope {
   public:
    explicit Scope(const ThreadTeam& team);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    int previous_;
  };

  // Calls body(i) for every i in [0, count), spread over the team; for items of unequal cost.
  // `body` must not throw. Each item must write its own outputs.
  template <typename Body>
  void ForEach(int64_t count, Body&& body) const {
    if (count <= 0) return;
    if (size_ == 1 || count == 1) {
      for (int64_t i = 0; i < count; ++i) body(i);
      return;
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(size_)
    for (int64_t i = 0; i < count; ++i) body(i);
  }

  // Calls body(begin, end) for at most size() contiguous parts of [0, count), each of at least
  // `grain` items; for many cheap items.
  template <typename Body>
  void ForRange(int64_t count, int64_t grain, Body&& body) const {
    const int64_t parts = Parts(count, grain);
    if (parts <= 1) {
      if (count > 0) body(int64_t{0}, count);
      return;
    }
#pragma omp parallel for schedule(static, 1) num_threads(static_cast <int>(parts))
    for (int64_t part = 0; part < parts; ++part) {
      body(count * part / parts, count * (part + 1) / parts);
    }
  }

  // Index of the calling thread inside ForEach/ForRange, in [0, size()); 0 outside.
  static int Index() { return omp_get_thread_num(); }

 private:
  int64_t Parts(int64_t count, int64_t grain) const;

  int size_;
};

}  // namespace lingbot

#endif  // LINGBOT_BASE_THREAD_TEAM_H_
