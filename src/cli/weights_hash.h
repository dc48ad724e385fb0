#ifndef LINGBOT_CLI_WEIGHTS_HASH_H_
#define LINGBOT_CLI_WEIGHTS_HASH_H_

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace lingbot::cli {

// What identifies a checkpoint in a manifest, cheap for files of gigabytes. FNV-1a-64 over the
// file's length (8 bytes, little-endian) and then
//   "fnv1a64:HEX"          every byte, for files up to 64 MiB;
//   "fnv1a64-sampled:HEX"  else 1,024 blocks of 16 KiB, block i beginning at byte
//                          floor(i * (length - 16384) / 1023): the first holds the header of a
//                          safetensors file, the last the directory of a PyTorch archive.
// It tells checkpoints apart; it does not protect against a forger, nor does the sampled kind see
// every changed byte.
std::string HashOf(std::span<const std::byte> file);

// Throws as FileMapping does.
std::string HashFile(const std::filesystem::path& path);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_WEIGHTS_HASH_H_
