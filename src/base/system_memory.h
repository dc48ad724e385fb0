#ifndef LINGBOT_BASE_SYSTEM_MEMORY_H_
#define LINGBOT_BASE_SYSTEM_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace lingbot {

// Bytes that can still be allocated without swapping: the kernel's MemAvailable, or what a cgroup
// limit leaves if that is less. 0 if unknown.
uint64_t AvailableMemory();

uint64_t ResidentMemory();      // bytes of this process in RAM now
uint64_t PeakResidentMemory();  // highest ResidentMemory so far

// "3.21 GB", "12.5 MB": powers of ten, three digits.
std::string FormatBytes(uint64_t bytes);

// Address space that costs memory only where it has been written. Zero-filled. The pages of a range
// can be given back with Discard (they read as zero afterwards).
class LazyMemory {
 public:
  LazyMemory() = default;
  explicit LazyMemory(size_t bytes);  // throws kOutOfMemory if the address space cannot be had
  ~LazyMemory();
  LazyMemory(LazyMemory&& other) noexcept;
  LazyMemory& operator=(LazyMemory&& other) noexcept;
  LazyMemory(const LazyMemory&) = delete;
  LazyMemory& operator=(const LazyMemory&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  void Discard(size_t offset, size_t length);

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace lingbot

#endif  // LINGBOT_BASE_SYSTEM_MEMORY_H_
