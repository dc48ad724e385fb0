#include "base/replace_file.h"

#include <system_error>

#include "base/check.h"

namespace lingbot {

namespace fs = std::filesystem;

fs::path ReplaceableFile(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  Check(!fs::exists(status) || fs::is_regular_file(status), ErrorCode::kFileUnwritable,
        "cannot write {}: it is {}, not a regular file; choose another name", path.string(),
        fs::is_directory(status) ? "a folder" : "a device or a pipe");
  if (!fs::is_symlink(fs::symlink_status(path, error))) return path;
  const fs::path target = fs::weakly_canonical(path, error);
  return error ? path : target;
}

}  // namespace lingbot
