#include "engine/fingerprint.h"

#include "base/check.h"
#include "base/xxhash64.h"

namespace lingbot {

void FingerprintingSource::ReadFloats(const std::string& tensor, float* target) const {
  source_.ReadFloats(tensor, target);
  XxHash64 hash;
  hash.Add(target, static_cast<size_t>(source_.Find(tensor).shape.elements()) * sizeof(float));
  hashes_[tensor] = hash.value();
}

std::string FingerprintingSource::Fingerprint(const ModelConfig& config) const {
  XxHash64 all;
  for (const auto& [name, hash] : hashes_) {
    all.Add(name.c_str(), name.size() + 1);
    all.Add(&hash, sizeof(hash));
  }
  for (const int number : {config.patch_size, config.num_heads, config.camera_heads, config.taps[0],
                           config.taps[1], config.taps[2], config.taps[3]}) {
    all.Add(&number, sizeof(number));
  }
  return fmt::format("xxh64:{:016x}", all.value());
}

}  // namespace lingbot
