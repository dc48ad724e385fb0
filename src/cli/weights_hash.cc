#include "cli/weights_hash.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/file_mapping.h"

namespace lingbot::cli {
namespace {

constexpr size_t kWholeLimit = size_t{64} << 20;
constexpr size_t kBlocks = 1024;
constexpr size_t kBlockBytes = 16384;

class Fnv1a {
 public:
  void Add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      state_ = (state_ ^ static_cast<uint64_t>(byte)) * 0x100000001B3u;
    }
  }
  void AddLength(uint64_t length) {
    for (int i = 0; i < 8; ++i, length >>= 8) {
      const std::byte byte{static_cast<uint8_t>(length)};
      Add({&byte, 1});
    }
  }
  uint64_t state() const { return state_; }

 private:
  uint64_t state_ = 0xCBF29CE484222325u;
};

}  // namespace

std::string HashOf(std::span<const std::byte> file) {
  Fnv1a hash;
  hash.AddLength(file.size());
  if (file.size() <= kWholeLimit) {
    hash.Add(file);
    return fmt::format("fnv1a64:{:016x}", hash.state());
  }
  const size_t last = file.size() - kBlockBytes;
  for (size_t i = 0; i < kBlocks; ++i) {
    // i * last stays below 2^64 for files up to 2^54 bytes.
    hash.Add(file.subspan(i * last / (kBlocks - 1), kBlockBytes));
  }
  return fmt::format("fnv1a64-sampled:{:016x}", hash.state());
}

std::string HashFile(const std::filesystem::path& path) {
  const FileMapping file(path);
  return HashOf(file.bytes());
}

}  // namespace lingbot::cli
