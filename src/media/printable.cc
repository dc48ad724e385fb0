#include "media/printable.h"

namespace lingbot {

std::string Printable(const std::filesystem::path& path) {
  std::string text = path.string();
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = '?';
  }
  return text;
}

}  // namespace lingbot
