#include "cli/model_lookup.h"

#include <fmt/format.h>

#include <system_error>

#include "base/check.h"
#include "cli/console.h"

namespace lingbot::cli {
namespace {

namespace fs = std::filesystem;

// Anything that can be opened as a file; what is wrong with it is the reader's to say.
bool IsThere(const fs::path& path) {
  std::error_code problem;
  const fs::file_status status = fs::status(path, problem);
  return fs::exists(status) && !fs::is_directory(status);
}

// A name, as opposed to a path, stays inside of the folders.
bool IsPlainName(const std::string& name) {
  return name.find('/') == std::string::npos && name != "." && name != "..";
}

}  // namespace

std::vector<fs::path> ModelFolders(const std::string& first) {
  std::vector<fs::path> folders;
  if (!first.empty()) folders.emplace_back(first);
  std::error_code problem;
  const fs::path program = fs::read_symlink("/proc/self/exe", problem);
  if (problem || !program.has_parent_path()) return folders;
  const fs::path bin = program.parent_path();
  folders.push_back(bin / "models");
  folders.push_back(bin.parent_path() / "share" / "lingbot" / "models");
  return folders;
}

fs::path FindModel(const std::string& name, const std::vector<fs::path>& folders) {
  if (IsThere(name)) return name;
  Check(IsPlainName(name), ErrorCode::kFileNotFound, "the model {} does not exist", OneLine(name));
  std::string places;
  for (const fs::path& folder : folders) {
    for (const char* extension : {"", ".safetensors", ".pt"}) {
      if (IsThere(folder / (name + extension))) return folder / (name + extension);
    }
    places += (places.empty() ? "" : ", ") + folder.string();
  }
  Fail(ErrorCode::kFileNotFound,
       "there is no model {}: neither a file of that name nor one ({}.safetensors, {}.pt) in {}; "
       "docs/models.md says where models are",
       OneLine(name), OneLine(name), OneLine(name), OneLine(places));
}

fs::path LookUpModel(const std::string& name, const std::string& models_dir) {
  return FindModel(name.empty() ? kBundledModel : name, ModelFolders(models_dir));
}

}  // namespace lingbot::cli
