#ifndef LINGBOT_MEDIA_PRINTABLE_H_
#define LINGBOT_MEDIA_PRINTABLE_H_

#include <filesystem>
#include <string>

namespace lingbot {

// A path for messages. Names come from outside: a line feed in one must not break a message apart.
std::string Printable(const std::filesystem::path& path);

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_PRINTABLE_H_
