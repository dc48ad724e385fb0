#include "media/open_source.h"

#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <system_error>
#include <vector>

#include "base/check.h"
#include "media/image_structure.h"
#include "media/live_source.h"
#include "media/printable.h"
#include "media/raw_source.h"
#include "media/video_source.h"

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

LiveOptions LiveOptionsOf(const SourceOptions& options) {
  LiveOptions live;
  live.sampling = options.sampling;
  live.width = options.width;
  live.height = options.height;
  live.rate = options.rate;
  live.timeout = options.timeout;
  live.log = options.log;
  return live;
}

void RefuseTimes(const Sampling& sampling, const std::string& label) {
  Check(sampling.frames_per_second == 0 && sampling.start == 0 && std::isinf(sampling.end),
        ErrorCode::kInvalidArgument,
        "{}: --fps, --start and --end are for videos; images carry no times: use --stride and "
        "--max-frames",
        label);
}

void RefuseStreamOptions(const SourceOptions& options, const std::string& label, bool camera) {
  Check(options.format.empty(), ErrorCode::kInvalidArgument,
        "{}: --input-format is for standard input; to read a file as such give - as input and "
        "redirect it: < FILE",
        label);
  Check(camera || (options.width == 0 && options.rate == 0), ErrorCode::kInvalidArgument,
        "{}: --size and --rate are for cameras and standard input", label);
}

std::unique_ptr<FrameSource> OpenStandardInput(const SourceOptions& options) {
  const std::string label = "standard input";
  Check(::isatty(STDIN_FILENO) == 0, ErrorCode::kNoInput,
        "{} is a terminal; pipe a video or raw frames into it", label);
  if (options.format == "rgb24") {
    RawOptions raw;
    raw.sampling = options.sampling;
    raw.width = options.width;
    raw.height = options.height;
    raw.rate = options.rate;
    raw.timeout = options.timeout;
    return std::make_unique<RawSource>(STDIN_FILENO, label, raw);
  }
  Check(options.width == 0, ErrorCode::kInvalidArgument,
        "{}: --size is for raw frames (--input-format rgb24) and cameras", label);
  LiveInput input;
  input.kind = LiveInput::Kind::kDescriptor;
  input.descriptor = STDIN_FILENO;
  input.format = options.format;
  input.label = label;
  return std::make_unique<LiveSource>(input, LiveOptionsOf(options));
}

std::unique_ptr<FrameSource> OpenCamera(const std::string& path, const SourceOptions& options) {
  const std::string label = Printable(path);
  RefuseStreamOptions(options, label, /*camera=*/true);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  const int problem = errno;
  if (descriptor >= 0) ::close(descriptor);
  Check(descriptor >= 0, ErrorCode::kFileUnreadable, "cannot open the camera {}: {}{}", label,
        std::strerror(problem),
        problem == EACCES ? "; your user must belong to the group video" : "");
  LiveInput input;
  input.kind = LiveInput::Kind::kDevice;
  input.address = path;
  input.format = "video4linux2";
  input.label = label;
  return std::make_unique<LiveSource>(input, LiveOptionsOf(options));
}

std::unique_ptr<FrameSource> OpenAddress(const std::string& address, const SourceOptions& options) {
  const std::string label = InputLabel(address);
  RefuseStreamOptions(options, label, /*camera=*/false);
  Check(IsStreamAddress(address), ErrorCode::kUnsupportedFormat,
        "{}: not an address that is read: expected rtsp://, rtsps://, rtmp://, http://, https://, "
        "srt://, udp:// or tcp://",
        label);
  LiveInput input;
  input.address = address;
  input.label = label;
  return std::make_unique<LiveSource>(input, LiveOptionsOf(options));
}

// A path with ":" and slashes in it is no address if it is there.
bool IsAddress(const std::string& input) {
  std::error_code ignored;
  return input.find("://") != std::string::npos && !fs::exists(input, ignored);
}

bool IsPattern(const std::string& input) {
  std::error_code ignored;
  return input.find_first_of("*?[") != std::string::npos && !fs::exists(input, ignored);
}

// The files that a shell's pattern matches.
std::vector<fs::path> Match(const std::string& pattern) {
  glob_t found = {};
  const int status = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<fs::path> files;
  std::error_code ignored;
  for (size_t i = 0; status == 0 && i < found.gl_pathc; ++i) {
    if (!fs::is_directory(found.gl_pathv[i], ignored)) files.emplace_back(found.gl_pathv[i]);
  }
  ::globfree(&found);
  Check(!files.empty(), ErrorCode::kNoInput, "no file matches the pattern {}", Printable(pattern));
  return files;
}

std::unique_ptr<FrameSource> OpenVideo(const fs::path& path, std::span<const std::byte> head,
                                       const SourceOptions& options) {
  const std::string other = GuessOtherContent(head);
  Check(other.empty(), ErrorCode::kUnsupportedFormat,
        "{}: neither an image nor a video that can be read: its content is {}", Printable(path),
        other);
  VideoOptions video;
  video.sampling = options.sampling;
  return std::make_unique<VideoSource>(path, video);
}

}  // namespace

std::string InputLabel(const std::string& input) {
  const size_t scheme = input.find("://");
  if (scheme == std::string::npos) return Printable(input);
  const size_t host = scheme + 3;
  const size_t end = std::min(input.find_first_of("/?#", host), input.size());
  const size_t at = input.rfind('@', end);
  if (at == std::string::npos || at < host) return Printable(input);
  return Printable(input.substr(0, host) + "***" + input.substr(at));
}

std::unique_ptr<FrameSource> OpenSource(const std::string& input, const SourceOptions& options) {
  if (input == "-") return OpenStandardInput(options);
  if (IsAddress(input)) return OpenAddress(input, options);
  const fs::path path(input);
  std::error_code ignored;  // what cannot be looked at is refused with a reason when it is opened
  if (fs::is_character_file(path, ignored) || input.rfind("/dev/video", 0) == 0) {
    return OpenCamera(input, options);
  }
  const std::string label = Printable(path);
  RefuseStreamOptions(options, label, /*camera=*/false);
  Check(!fs::is_fifo(path, ignored), ErrorCode::kFileUnreadable,
        "{} is a pipe: give - as input and redirect it: < {}", label, label);
  if (fs::is_regular_file(path, ignored)) {
    const std::vector<std::byte> head = Head(path);
    if (!head.empty() && !IsImage(head)) return OpenVideo(path, head, options);
  }
  RefuseTimes(options.sampling, label);
  if (IsPattern(input)) {
    return std::make_unique<ImageFolderSource>(Match(input), input, FolderOptions(options));
  }
  return std::make_unique<ImageFolderSource>(path, FolderOptions(options));
}

}  // namespace lingbot
