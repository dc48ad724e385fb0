#ifndef LINGBOT_WEIGHTS_TORCH_PT_H_
#define LINGBOT_WEIGHTS_TORCH_PT_H_

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "weights/stored_tensors.h"

namespace lingbot {

// Finds the tensors of a checkpoint that torch.save wrote (PyTorch 1.6 and later: a zip archive of
// stored files, one of them a pickle) in memory. Nothing of the file is executed; weights/pickle.h
// says which files are refused for what they would execute elsewhere, and why. `name` names the
// file in messages.
//
// The weights are the dictionary at the top, or the one found below it under the keys "model",
// "state_dict" or "model_state_dict", in any nesting; what lies beside them (optimizer, arguments,
// counters) and values in them that are no tensors are ignored. Strides, offsets and shared
// storages are kept as they are; every element of every tensor lies inside `bytes`. Throws
// kCorruptFile, kUnsupportedFormat (a whole model, TorchScript, big-endian data, sparse, quantised
// or complex tensors) or kUnsafeFile.
StoredTensors ParseTorchPt(std::span<const std::byte> bytes, const std::string& name);

// Maps a file and parses it.
std::unique_ptr<TensorSource> OpenTorchPt(const std::filesystem::path& path);

}  // namespace lingbot

#endif  // LINGBOT_WEIGHTS_TORCH_PT_H_
