#ifndef LINGBOT_MEDIA_READ_FILE_H_
#define LINGBOT_MEDIA_READ_FILE_H_

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <vector>

namespace lingbot {

// Replaces `bytes` by the contents of a regular file; its capacity is reused. `name` stands for the
// file in messages. Read rather than mapped, because a mapped file that another program shortens
// meanwhile (a recording, a copy in progress) kills the reader. Throws kFileNotFound, or
// kFileUnreadable for anything that is no regular file (opening a pipe does not block), that
// permissions or a loop of links keep closed, or of more than 4 GiB.
void ReadFile(const std::filesystem::path& path, std::string_view name,
              std::vector<std::byte>* bytes);

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_READ_FILE_H_
