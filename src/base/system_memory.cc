#include "base/system_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <utility>

#include "base/check.h"

namespace lingbot {
namespace {

// Value in bytes of a "Key:   123 kB" line of a /proc file; 0 if absent.
uint64_t ProcKilobytes(const char* file, const std::string& key) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    if (line.compare(0, key.size(), key) == 0 && line[key.size()] == ':') {
      return std::strtoull(line.c_str() + key.size() + 1, nullptr, 10) * 1024;
    }
  }
  return 0;
}

// A number from a cgroup file; false for "max", absent or unreadable.
bool ReadNumber(const std::string& file, uint64_t* value) {
  std::ifstream in(file);
  return static_cast<bool>(in >> *value);
}

// The smallest room that this process's version 2 cgroup or one of its ancestors leaves.
uint64_t CgroupRoom() {
  constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();
  std::ifstream in("/proc/self/cgroup");
  std::string line;
  uint64_t room = kUnlimited;
  while (std::getline(in, line)) {
    if (line.rfind("0::", 0) != 0) continue;
    std::string group = line.substr(3);
    while (true) {
      const std::string folder = "/sys/fs/cgroup" + group;
      uint64_t limit = 0;
      uint64_t used = 0;
      if (ReadNumber(folder + "/memory.max", &limit) &&
          ReadNumber(folder + "/memory.current", &used)) {
        room = std::min(room, limit > used ? limit - used : 0);
      }
      if (group.empty() || group == "/") break;
      group = group.substr(0, group.rfind('/'));
    }
  }
  return room;
}

}  // namespace

uint64_t AvailableMemory() {
  const uint64_t available = ProcKilobytes("/proc/meminfo", "MemAvailable");
  return available == 0 ? 0 : std::min(available, CgroupRoom());
}

uint64_t ResidentMemory() { return ProcKilobytes("/proc/self/status", "VmRSS"); }

uint64_t PeakResidentMemory() { return ProcKilobytes("/proc/self/status", "VmHWM"); }

std::string FormatBytes(uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  int unit = -1;
  while (value >= 999.5 && unit < 4) {
    value /= 1000;
    ++unit;
  }
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}B", value, decimals, "kMGTP"[unit]);
}

LazyMemory::LazyMemory(size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  Check(mapped != MAP_FAILED, ErrorCode::kOutOfMemory, "cannot reserve {} of address space: {}",
        FormatBytes(bytes), std::strerror(errno));
  data_ = static_cast<std::byte*>(mapped);
}

LazyMemory::~LazyMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

LazyMemory::LazyMemory(LazyMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

LazyMemory& LazyMemory::operator=(LazyMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void LazyMemory::Discard(size_t offset, size_t length) {
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t first = (offset + page - 1) / page * page;
  const size_t last = std::min(offset + length, size_) / page * page;
  if (data_ != nullptr && first < last) ::madvise(data_ + first, last - first, MADV_DONTNEED);
}

}  // namespace lingbot
