#ifndef LINGBOT_OPS_CPU_STATE_H_
#define LINGBOT_OPS_CPU_STATE_H_

#include <array>
#include <cstdint>
#include <map>

#include "lingbot/options.h"
#include "ops/cpu/dnnl_compat.h"
#include "tensor/buffer.h"

namespace lingbot::ops {

// Primitives of the matrix library, built once per shape and kept for the session, and the scratch
// memory that they share: they run one after the other.
class CpuState {
 public:
  struct Entry {
    dnnl::primitive primitive;
    dnnl::memory::desc source;
    dnnl::memory::desc weights;
    dnnl::memory::desc target;
    dnnl::memory::desc scratch;
  };
  // What distinguishes one primitive from another: its kind and its sizes.
  using Key = std::array<int64_t, 10>;

  // The entry of `key`, made by `build` at its first use.
  template <typename Build>
  const Entry& Find(const Key& key, Build build) {
    const auto found = entries_.find(key);
    if (found != entries_.end()) return found->second;
    const Entry& entry = entries_.emplace(key, build()).first->second;
    GrowScratch(entry.scratch.get_size());
    return entry;
  }

  void* scratch() const { return scratch_.view().raw(); }
  const dnnl::stream& stream() const { return stream_; }

  AttentionBackend last_attention = AttentionBackend::kAuto;

 private:
  void GrowScratch(size_t bytes);

  std::map<Key, Entry> entries_;
  Buffer scratch_;
  dnnl::stream stream_{cpu::DnnlEngine()};
};

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_CPU_STATE_H_
