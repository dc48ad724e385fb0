#ifndef LINGBOT_WEIGHTS_HASHED_WEIGHTS_H_
#define LINGBOT_WEIGHTS_HASHED_WEIGHTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/thread_team.h"
#include "weights/tensor_source.h"

namespace lingbot {

// A value that depends on a seed, a tensor's name and an element's index, uniform in [-1, 1) on a
// grid of 2^-23, exact in float32: FNV-1a-64 of "SEED/NAME" plus the index, finished by SplitMix64.
float HashedUniform(uint64_t seed, std::string_view tensor, uint64_t index);

// What turns a uniform value u into an element: u * scale + offset, in double, rounded to float32.
// Chosen by the kind of tensor so that the activations of a model keep a sane size.
// `fc2_bias_offset` is the offset of the pose branch's last bias. Throws kInvalidArgument for a
// name that no rule covers.
struct HashedRule {
  float scale = 0.0f;
  float offset = 0.0f;
};
HashedRule RuleFor(std::string_view tensor, const Shape& shape, float fc2_bias_offset);

// Weights that need no file: every element is computed from its tensor's name. Means nothing as a
// model, but is the same to the last bit everywhere, for any number of threads.
class HashedWeights final : public TensorSource {
 public:
  // `threads` = 0 takes every core. Throws as RuleFor does.
  HashedWeights(const std::map<std::string, Shape>& shapes, uint64_t seed, float fc2_bias_offset,
                std::map<std::string, std::string> metadata = {}, int threads = 0);

  const std::map<std::string, TensorInfo>& tensors() const override { return infos_; }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  const std::string& name() const override { return name_; }
  void ReadFloats(const std::string& tensor, float* target) const override;

 private:
  std::map<std::string, TensorInfo> infos_;
  std::map<std::string, std::string> metadata_;
  std::string name_;
  uint64_t seed_;
  float fc2_bias_offset_;
  ThreadTeam team_;
};

}  // namespace lingbot

#endif  // LINGBOT_WEIGHTS_HASHED_WEIGHTS_H_
