#ifndef LINGBOT_WEIGHTS_CHECKPOINT_H_
#define LINGBOT_WEIGHTS_CHECKPOINT_H_

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "weights/tensor_source.h"

namespace lingbot {

// What a file is, by its first bytes; its extension does not matter.
enum class CheckpointFormat { kSafetensors, kTorchPt };

// Throws for everything that is no checkpoint, with advice: kCorruptFile for an empty or zeroed
// file, kUnsupportedFormat for what is recognised as something else (a Git-LFS pointer, a web page,
// PyTorch's format before 1.6, a packed file, another program's format, text) or is not recognised
// at all. `name` names the file.
CheckpointFormat RecogniseCheckpoint(std::span<const std::byte> bytes, const std::string& name);

// Opens a checkpoint in either format. Also throws kFileNotFound, kFileUnreadable (a folder, no
// permission), and what the parsers throw.
std::unique_ptr<TensorSource> OpenCheckpoint(const std::filesystem::path& path);

}  // namespace lingbot

#endif  // LINGBOT_WEIGHTS_CHECKPOINT_H_
