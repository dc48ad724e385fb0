#include "weights/checkpoint.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <system_error>

#include "base/check.h"
#include "base/file_mapping.h"
#include "weights/safetensors.h"
#include "weights/torch_pt.h"

namespace lingbot {
namespace {

using namespace std::string_view_literals;

constexpr const char* kExpected =
    "a checkpoint is a safetensors file or what torch.save writes: download it again";

// A kind of file that people take for a checkpoint, and what to do about it.
struct KnownFile {
  size_t offset;
  std::string_view magic;
  const char* what;
};

constexpr KnownFile kPacked[] = {
    {0, "\x1F\x8B"sv, "gzip"},
    {0,
     "\xFD"
     "7zXZ\0"sv,
     "xz"},
    {0, "\x28\xB5\x2F\xFD"sv, "zstd"},
    {0, "BZh"sv, "bzip2"},
    {0, "7z\xBC\xAF\x27\x1C"sv, "7-zip"},
    {0, "Rar!\x1A\x07"sv, "RAR"},
};

constexpr KnownFile kOthers[] = {
    {0, "GGUF"sv, "a GGUF model"},
    {0, "\x89HDF\r\n\x1A\n"sv, "an HDF5 file"},
    {0, "\x93NUMPY"sv, "a NumPy array"},
    {0, "\x89PNG\r\n\x1A\n"sv, "a PNG image"},
    {0, "\xFF\xD8\xFF"sv, "a JPEG image"},
    {0,
     "\x7F"
     "ELF"sv,
     "a program"},
    {0, "%PDF-"sv, "a PDF document"},
    {4, "ftyp"sv, "a video"},
};

bool HasMagic(std::string_view head, const KnownFile& file) {
  return head.size() >= file.offset && head.substr(file.offset).starts_with(file.magic);
}

// PyTorch's own magic number 0x1950a86a20f9469cfc6c, pickled as a LONG1 of ten bytes after a
// two-byte header.
bool IsLegacyTorch(std::string_view head) {
  constexpr std::string_view kMagic = "\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19"sv;
  constexpr size_t kUstar = 257;  // the older format still: a tar archive
  return (head.starts_with('\x80') &&
          head.substr(std::min<size_t>(2, head.size())).starts_with(kMagic)) ||
         (head.size() > kUstar && head.substr(kUstar).starts_with("ustar"));
}

bool IsWebPage(std::string_view head) {
  std::string start;
  for (const char c : head.substr(0, 256)) {
    start += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (start.starts_with("\xEF\xBB\xBF")) start.erase(0, 3);
  start.erase(0, start.find_first_not_of(" \t\r\n"));
  constexpr std::string_view kStarts[] = {"<!doctype", "<html", "<head", "<?xml", "<!--"};
  return std::any_of(std::begin(kStarts), std::end(kStarts),
                     [&start](std::string_view begin) { return start.starts_with(begin); });
}

bool IsText(std::string_view head) {
  return std::all_of(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 ? byte != 0x7F : (c == '\n' || c == '\r' || c == '\t');
  });
}

bool IsAsciiText(std::string_view head) {
  return IsText(head) && std::all_of(head.begin(), head.end(),
                                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string FirstLine(std::string_view head) {
  constexpr size_t kShown = 40;
  std::string line;
  for (const char c : head.substr(0, std::min(kShown, head.find_first_of("\r\n")))) {
    line += static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7F ? c : '?';
  }
  return line;
}

void RefuseDownloads(std::string_view head, const std::string& name) {
  Check(
      !head.starts_with("version https://git-lfs"), ErrorCode::kUnsupportedFormat,
      "{} is a Git-LFS pointer, a note of where the checkpoint is stored, not the checkpoint: run "
      "'git lfs pull', or download the file itself again",
      name);
  Check(!IsWebPage(head), ErrorCode::kUnsupportedFormat,
        "{} is a web page, not a checkpoint (a link to a page, or one that needs a login, was "
        "saved): download the file itself again",
        name);
  Check(head.find_first_not_of('\0') != std::string_view::npos, ErrorCode::kCorruptFile,
        "{} begins with nothing but zeros: the download was not finished, download it again", name);
}

void RefuseOtherFormats(std::string_view head, const std::string& name) {
  Check(!IsLegacyTorch(head), ErrorCode::kUnsupportedFormat,
        "{} is in PyTorch's legacy format from before version 1.6: re-save it with a current "
        "PyTorch, "
        "torch.save(torch.load(OLD, map_location='cpu', weights_only=True), NEW)",
        name);
  Check(!head.starts_with('\x80'), ErrorCode::kUnsupportedFormat,
        "{} is a bare pickle, not a PyTorch checkpoint: save the weights with "
        "torch.save(model.state_dict(), FILE)",
        name);
  for (const KnownFile& file : kPacked) {
    Check(!HasMagic(head, file), ErrorCode::kUnsupportedFormat,
          "{} is packed with {}: unpack it, and give the checkpoint inside", name, file.what);
  }
  for (const KnownFile& file : kOthers) {
    Check(!HasMagic(head, file), ErrorCode::kUnsupportedFormat, "{} is {}, not a checkpoint; {}",
          name, file.what, kExpected);
  }
}

}  // namespace

CheckpointFormat RecogniseCheckpoint(std::span<const std::byte> bytes, const std::string& name) {
  constexpr size_t kHead = 512;
  Check(!bytes.empty(), ErrorCode::kCorruptFile,
        "{} is empty: the download was not finished, download it again", name);
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()),
                              std::min(bytes.size(), kHead));
  if (head.starts_with("PK\x03\x04"sv) || head.starts_with("PK\x05\x06"sv)) {
    return CheckpointFormat::kTorchPt;
  }
  RefuseDownloads(head, name);
  RefuseOtherFormats(head, name);
  // Text may have a brace at the same place, but a header length in printable characters would
  // exceed 2^56.
  constexpr size_t kLengthBytes = 8;
  if (head.size() > kLengthBytes && head[kLengthBytes] == '{' &&
      !IsAsciiText(head.substr(0, kLengthBytes))) {
    return CheckpointFormat::kSafetensors;
  }
  Check(!IsText(head), ErrorCode::kUnsupportedFormat, "{} is a text file that begins with '{}'; {}",
        name, FirstLine(head), kExpected);
  Fail(ErrorCode::kUnsupportedFormat,
       "{} ({} bytes) is neither a safetensors file nor a PyTorch checkpoint, or is damaged; {}",
       name, bytes.size(), kExpected);
}

std::unique_ptr<TensorSource> OpenCheckpoint(const std::filesystem::path& path) {
  std::error_code ignored;
  Check(!std::filesystem::is_directory(path, ignored), ErrorCode::kFileUnreadable,
        "{} is a folder: give the checkpoint file inside it", path.string());
  const FileMapping file(path);
  switch (RecogniseCheckpoint(file.bytes(), path.string())) {
    case CheckpointFormat::kSafetensors:
      return OpenSafetensors(path);
    case CheckpointFormat::kTorchPt:
      return OpenTorchPt(path);
  }
  Fail(ErrorCode::kInternal, "{} has no format", path.string());
}

}  // namespace lingbot
