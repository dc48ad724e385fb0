#include "base/xxhash64.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace lingbot {
namespace {

static_assert(std::endian::native == std::endian::little, "words are little-endian");

// Of the specification, in its order.
constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87u;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4Fu;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9u;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63u;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5u;

template <typename Word>
uint64_t Load(const unsigned char* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

uint64_t Round(uint64_t lane, uint64_t word) {
  return std::rotl(lane + word * kPrime2, 31) * kPrime1;
}

uint64_t MergeLane(uint64_t hash, uint64_t lane) {
  return (hash ^ Round(0, lane)) * kPrime1 + kPrime4;
}

}  // namespace

void XxHash64::Reset() {
  lanes_ = {kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
  rest_bytes_ = 0;
  total_ = 0;
}

void XxHash64::AddStripe(const unsigned char* stripe) {
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    lanes_[lane] = Round(lanes_[lane], Load<uint64_t>(stripe + 8 * lane));
  }
}

void XxHash64::Add(const void* data, size_t bytes) {
  const auto* next = static_cast<const unsigned char*>(data);
  total_ += bytes;
  if (rest_bytes_ > 0) {
    const size_t taken = std::min(bytes, kStripe - rest_bytes_);
    std::copy_n(next, taken, rest_.begin() + rest_bytes_);
    rest_bytes_ += taken;
    next += taken;
    bytes -= taken;
    if (rest_bytes_ < kStripe) return;
    AddStripe(rest_.data());
    rest_bytes_ = 0;
  }
  for (; bytes >= kStripe; bytes -= kStripe, next += kStripe) AddStripe(next);
  std::copy_n(next, bytes, rest_.begin());
  rest_bytes_ = bytes;
}

uint64_t XxHash64::value() const {
  uint64_t hash = kPrime5;  // lane 2 of a fresh state is the seed, 0
  if (total_ >= kStripe) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
           std::rotl(lanes_[3], 18);
    for (const uint64_t lane : lanes_) hash = MergeLane(hash, lane);
  }
  hash += total_;
  const unsigned char* next = rest_.data();
  size_t left = rest_bytes_;
  for (; left >= 8; left -= 8, next += 8) {
    hash = std::rotl(hash ^ Round(0, Load<uint64_t>(next)), 27) * kPrime1 + kPrime4;
  }
  if (left >= 4) {
    hash = std::rotl(hash ^ (Load<uint32_t>(next) * kPrime1), 23) * kPrime2 + kPrime3;
    left -= 4;
    next += 4;
  }
  for (; left > 0; --left, ++next) {
    hash = std::rotl(hash ^ (*next * kPrime5), 11) * kPrime1;
  }
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

}  // namespace lingbot
