#ifndef LINGBOT_WEIGHTS_SAFETENSORS_H_
#define LINGBOT_WEIGHTS_SAFETENSORS_H_

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "weights/stored_tensors.h"

namespace lingbot {

// Reads the header of a safetensors file that is in memory: 8 bytes of little-endian length, that
// many bytes of JSON, then the data. `name` names the file in messages. Every tensor of the result
// lies inside `bytes`; they cover the data without overlap or gap. Throws kCorruptFile, or
// kUnsupportedFormat for an element type that the engine has no use for.
StoredTensors ParseSafetensors(std::span<const std::byte> bytes, const std::string& name);

// Maps a file and parses it.
std::unique_ptr<TensorSource> OpenSafetensors(const std::filesystem::path& path);

}  // namespace lingbot

#endif  // LINGBOT_WEIGHTS_SAFETENSORS_H_
