#include "media/open_source.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <span>
#include <system_error>

#include "base/check.h"
#include "media/image_structure.h"
#include "media/printable.h"

namespace lingbot {
namespace {

namespace fs = std::filesystem;

// The first bytes of a regular file, fewer if it is shorter or cannot be read: opening it will say
// why.
std::vector<std::byte> Head(const fs::path& path) {
  std::vector<std::byte> head(512);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(head.data()), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(file.gcount()));
  return head;
}

ImageFolderOptions FolderOptions(const SourceOptions& options) {
  ImageFolderOptions folder;
  folder.stride = options.sampling.stride;
  folder.max_frames = options.sampling.max_frames;
  folder.skip_bad = options.skip_bad;
  folder.log = options.log;
  return folder;
}

void RefuseTimes(const Sampling& sampling, const std::string& label) {
  Check(sampling.frames_per_second == 0 && sampling.start == 0 && std::isinf(sampling.end),
        ErrorCode::kInvalidArgument,
        "{}: --fps, --start and --end are for videos; images carry no times: use --stride and "
        "--max-frames",
        label);
}

}  // namespace

std::unique_ptr<FrameSource> OpenSource(const std::string& input, const SourceOptions& options) {
  const fs::path path(input);
  std::error_code ignored;  // what cannot be looked at is refused with a reason when it is opened
  if (fs::is_regular_file(path, ignored)) {
    const std::vector<std::byte> head = Head(path);
    if (!head.empty() && !IsImage(head)) {
      const std::string other = GuessOtherContent(head);
      Check(other.empty(), ErrorCode::kUnsupportedFormat,
            "{}: neither an image nor a video that can be read: its content is {}", Printable(path),
            other);
      VideoOptions video;
      video.sampling = options.sampling;
      return std::make_unique<VideoSource>(path, video);
    }
  }
  RefuseTimes(options.sampling, Printable(path));
  return std::make_unique<ImageFolderSource>(path, FolderOptions(options));
}

}  // namespace lingbot
