#ifndef LINGBOT_ENGINE_FINGERPRINT_H_
#define LINGBOT_ENGINE_FINGERPRINT_H_

#include <map>
#include <string>

#include "model/config.h"
#include "weights/tensor_source.h"

namespace lingbot {

// Passes tensors on and notes what they held: every weight of a network is read once while it is
// loaded, so that knowing exactly which weights these are costs no other pass over the file.
class FingerprintingSource : public TensorSource {
 public:
  explicit FingerprintingSource(const TensorSource& source) : source_(source) {}

  const std::map<std::string, TensorInfo>& tensors() const override { return source_.tensors(); }
  const std::map<std::string, std::string>& metadata() const override { return source_.metadata(); }
  const std::string& name() const override { return source_.name(); }
  void ReadFloats(const std::string& tensor, float* target) const override;

  // Of all tensors read so far, as float32, with their names, and of the sizes that tensors do not
  // say: "xxh64:HEX".
  std::string Fingerprint(const ModelConfig& config) const;

 private:
  const TensorSource& source_;
  mutable std::map<std::string, uint64_t> hashes_;
};

}  // namespace lingbot

#endif  // LINGBOT_ENGINE_FINGERPRINT_H_
