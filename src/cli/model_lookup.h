#ifndef LINGBOT_CLI_MODEL_LOOKUP_H_
#define LINGBOT_CLI_MODEL_LOOKUP_H_

#include <filesystem>
#include <string>
#include <vector>

namespace lingbot::cli {

inline constexpr char kBundledModel[] = "nano";  // used where no model is named

// Where models are looked for by name: `first`, if it is not empty, then models/ beside the program
// (a build tree), then share/lingbot/models of the prefix that the program is installed in.
std::vector<std::filesystem::path> ModelFolders(const std::string& first);

// A checkpoint by its path, or by its name, with or without .safetensors or .pt, in one of
// `folders`, the first that has it. A file in the working directory comes before a folder's.
// Throws kFileNotFound naming all places.
std::filesystem::path FindModel(const std::string& name,
                                const std::vector<std::filesystem::path>& folders);

// Both together; an empty name is the bundled model.
std::filesystem::path LookUpModel(const std::string& name, const std::string& models_dir);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_MODEL_LOOKUP_H_
