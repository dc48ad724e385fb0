#ifndef LINGBOT_BASE_REPLACE_FILE_H_
#define LINGBOT_BASE_REPLACE_FILE_H_

#include <filesystem>

namespace lingbot {

// Where a file is to be put that is written beside `path` and then renamed over it: `path`, or what
// it links to. Throws kFileUnwritable if something else than a regular file is there: renaming
// would destroy a device or a pipe.
std::filesystem::path ReplaceableFile(const std::filesystem::path& path);

}  // namespace lingbot

#endif  // LINGBOT_BASE_REPLACE_FILE_H_
