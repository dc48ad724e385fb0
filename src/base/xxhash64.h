#ifndef LINGBOT_BASE_XXHASH64_H_
#define LINGBOT_BASE_XXHASH64_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace lingbot {

// The published XXH64 checksum (https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md) with seed
// 0, of bytes that come in pieces. It runs at the speed of memory and sees every change within one
// 8-byte word; it does not protect against a forger.
class XxHash64 {
 public:
  XxHash64() { Reset(); }

  void Reset();
  void Add(const void* data, size_t bytes);
  // Of everything added so far; more may follow.
  uint64_t value() const;

 private:
  static constexpr size_t kStripe = 32;

  void AddStripe(const unsigned char* stripe);

  std::array<uint64_t, 4> lanes_;
  std::array<unsigned char, kStripe> rest_;  // bytes that do not fill a stripe yet
  size_t rest_bytes_;
  uint64_t total_;
};

}  // namespace lingbot

#endif  // LINGBOT_BASE_XXHASH64_H_
