#include "media/image_structure.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "media/bmp_decoder.h"
#include "media/bytes.h"
#include "media/exif.h"
#include "media/tiff_decoder.h"
#include "media/webp_decoder.h"

namespace lingbot {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view kPngSignature = "\x89PNG\r\n\x1A\n";
constexpr std::string_view kJpegSignature = "\xFF\xD8\xFF";

// The formats that a fixed beginning tells.
constexpr std::pair<std::string_view, ImageFormat> kSignatures[] = {
    {kJpegSignature, ImageFormat::kJpeg},
    {kPngSignature, ImageFormat::kPng},
    {std::string_view("II*\0", 4), ImageFormat::kTiff},
    {std::string_view("MM\0*", 4), ImageFormat::kTiff},
    {std::string_view("II+\0", 4), ImageFormat::kTiff},  // BigTIFF
    {std::string_view("MM\0+", 4), ImageFormat::kTiff},
};

// "BM" alone also begins texts: the length of the header that follows has few values.
bool IsBmp(Bytes bytes) {
  if (!StartsWith(bytes, "BM") || bytes.size() < 18) return false;
  const uint32_t header = LittleEndian(bytes, 14, 4);
  return header == 12 || header == 40 || header == 52 || header == 56 || header == 64 ||
         header == 108 || header == 124;
}

std::optional<ImageFormat> FormatOf(Bytes bytes) {
  for (const auto& [signature, format] : kSignatures) {
    if (StartsWith(bytes, signature)) return format;
  }
  if (bytes.size() >= 12 && StartsWith(bytes, "RIFF") && StartsWith(bytes.subspan(8), "WEBP")) {
    return ImageFormat::kWebp;
  }
  if (IsBmp(bytes)) return ImageFormat::kBmp;
  return std::nullopt;
}

// A HEIF image among the containers that videos use as well.
bool IsHeif(Bytes bytes) {
  if (bytes.size() < 12 || !StartsWith(bytes.subspan(4), "ftyp")) return false;
  for (std::string_view brand : {"heic", "heix", "hevc", "heim", "mif1", "msf1", "avif", "avis"}) {
    if (StartsWith(bytes.subspan(8), brand)) return true;
  }
  return false;
}

bool IsText(Bytes bytes) {
  const Bytes head = bytes.first(std::min<size_t>(bytes.size(), 512));
  return std::all_of(head.begin(), head.end(), [](std::byte b) {
    const int c = std::to_integer<int>(b);
    return c >= 32 || (c >= '\t' && c <= '\r');
  });
}

// What a file that is no image that can be read seems to be.
std::string GuessContent(Bytes bytes) {
  const std::string other = GuessOtherContent(bytes);
  if (!other.empty()) return other;
  if (bytes.size() >= 12 && StartsWith(bytes.subspan(4), "ftyp")) return "an MP4 video";
  return "neither";
}

void CheckAmount(uint64_t present, uint64_t least, const ImageStructure& image,
                 std::string_view name) {
  Check(present >= least, ErrorCode::kCorruptFile,
        "{}: {} bytes of image data cannot hold {}x{} pixels, which take at least {}; the file is "
        "truncated or damaged",
        name, present, image.stored_width, image.stored_height, least);
}

// ----------------------------------------------------------------------------------------------
// PNG

// Bytes of the image's rows, filter bytes included, for the seven reduced images of an interlaced
// file at least as many as for a plain one.
uint64_t PngRawBytes(Bytes header, uint64_t width, uint64_t height) {
  static constexpr int kChannels[] = {1, 0, 3, 1, 2, 0, 4};  // by colour type
  const uint32_t depth = BigEndian(header, 8, 1), colour = BigEndian(header, 9, 1);
  const uint64_t channels = colour < std::size(kChannels) ? kChannels[colour] : 0;
  return height * ((width * channels * depth + 7) / 8 + 1);
}

class PngWalk {
 public:
  PngWalk(Bytes bytes, std::string_view name, const DecodeOptions& options)
      : bytes_(bytes), name_(name), options_(options) {}

  ImageStructure Run() {
    image_.format = ImageFormat::kPng;
    size_t offset = kPngSignature.size();
    while (!ended_) {
      if (bytes_.size() - offset < 12) FailTruncated(name_, bytes_.size(), "before its IEND chunk");
      const size_t length = BigEndian(bytes_, offset, 4);
      if (bytes_.size() - offset - 12 < length) {
        FailTruncated(name_, bytes_.size(), "in the middle of a chunk");
      }
      Chunk(bytes_.subspan(offset + 4, 4), bytes_.subspan(offset + 8, length),
            BigEndian(bytes_, offset + 8 + length, 4));
      offset += 12 + length;
    }
    // Deflate cannot shrink by more than 1032 to 1 (258 bytes in two bits).
    CheckAmount(data_bytes_, raw_bytes_ / 1032, image_, name_);
    return image_;
  }

 private:
  void Chunk(Bytes type, Bytes data, uint32_t stored_crc) {
    uLong crc = crc32(0, reinterpret_cast<const Bytef*>(type.data()), 4);
    if (!data.empty()) {  // crc32 takes a null pointer for a request of the initial value
      crc = crc32_z(crc, reinterpret_cast<const Bytef*>(data.data()), data.size());
    }
    Check(crc == stored_crc, ErrorCode::kCorruptFile,
          "{}: damaged, chunk {} fails its checksum; copy or export the file again", name_,
          TypeName(type));
    const bool header = StartsWith(type, "IHDR");
    Check(header == (raw_bytes_ == 0), ErrorCode::kCorruptFile,
          "{}: damaged, chunk {} where {} header is expected", name_, TypeName(type),
          header ? "no second" : "the");
    if (header) {
      Header(data);
    } else if (StartsWith(type, "IDAT")) {
      data_bytes_ += data.size();
    } else if (StartsWith(type, "eXIf")) {
      image_.orientation = ExifOrientation(data);
    } else if (StartsWith(type, "IEND")) {
      ended_ = true;
    }
  }

  void Header(Bytes data) {
    Check(data.size() == 13, ErrorCode::kCorruptFile,
          "{}: damaged, a header of {} instead of 13 bytes", name_, data.size());
    const uint32_t width = BigEndian(data, 0, 4), height = BigEndian(data, 4, 4);
    CheckImageSize(width, height, name_, options_);
    image_.stored_width = static_cast<int>(width);
    image_.stored_height = static_cast<int>(height);
    raw_bytes_ = PngRawBytes(data, width, height);
  }

  static std::string TypeName(Bytes type) {
    std::string text;
    for (std::byte b : type) {
      const char c = static_cast<char>(b);
      text += c > 32 && c < 127 ? c : '?';
    }
    return text;
  }

  Bytes bytes_;
  std::string_view name_;
  const DecodeOptions& options_;
  ImageStructure image_;
  uint64_t raw_bytes_ = 0;   // 0 until the header has been read
  uint64_t data_bytes_ = 0;  // compressed
  bool ended_ = false;
};

// ---------------------------------------------------------------------------------------------
// JPEG

class JpegWalk {
 public:
  JpegWalk(Bytes bytes, std::string_view name, const DecodeOptions& options)
      : bytes_(bytes), name_(name), options_(options) {}

  ImageStructure Run() {
    image_.format = ImageFormat::kJpeg;
    offset_ = 2;
    for (int marker = NextMarker(); marker != kEndOfImage; marker = NextMarker()) {
      if (HasNoLength(marker)) continue;
      const Bytes segment = Segment();
      if (IsFrameHeader(marker)) FrameHeader(marker, segment);
      if (marker == kApp1) App1(segment);
      if (marker == kStartOfScan) EntropyData();
    }
    Check(image_.stored_width > 0 && data_bytes_ > 0, ErrorCode::kCorruptFile,
          "{}: damaged, a JPEG without {}", name_,
          data_bytes_ > 0 ? "a frame header" : "image data");
    // A block takes at least one bit, and there is at least one block to 128 pixels: of two
    // components that share the largest sampling factors 4x1 and 1x4, each has 4 blocks to 32x32
    // pixels.
    const int64_t pixels = int64_t{image_.stored_width} * image_.stored_height;
    CheckAmount(data_bytes_, pixels / (128 * 8), image_, name_);
    return image_;
  }

 private:
  static constexpr int kStartOfScan = 0xDA, kEndOfImage = 0xD9, kApp1 = 0xE1;

  // TEM, RST0-7 and SOI stand alone.
  static bool HasNoLength(int marker) {
    return marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8);
  }
  static bool IsFrameHeader(int marker) {
    return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
  }

  // Skips to the byte after the next 0xFF.
  void SkipToPrefix() {
    const size_t left = bytes_.size() - offset_;
    const void* found = left > 0 ? std::memchr(bytes_.data() + offset_, 0xFF, left) : nullptr;
    if (found == nullptr) FailTruncated(name_, bytes_.size(), "before its end marker");
    offset_ = static_cast<const std::byte*>(found) - bytes_.data() + 1;
  }

  // Moves behind the next marker. Bytes between segments that are no marker are skipped: some
  // cameras pad.
  int NextMarker() {
    for (;;) {
      SkipToPrefix();
      while (offset_ < bytes_.size() && bytes_[offset_] == std::byte{0xFF}) ++offset_;
      if (offset_ == bytes_.size()) FailTruncated(name_, bytes_.size(), "before its end marker");
      const int code = std::to_integer<int>(bytes_[offset_++]);
      if (code != 0) return code;
    }
  }

  // Contents of the segment at the offset; moves behind it.
  Bytes Segment() {
    if (bytes_.size() - offset_ < 2)
      FailTruncated(name_, bytes_.size(), "in the middle of a segment");
    const size_t length = BigEndian(bytes_, offset_, 2);
    Check(length >= 2, ErrorCode::kCorruptFile, "{}: damaged, a segment of {} bytes at offset {}",
          name_, length, offset_);
    if (bytes_.size() - offset_ < length) {
      FailTruncated(name_, bytes_.size(), "in the middle of a segment");
    }
    const Bytes segment = bytes_.subspan(offset_ + 2, length - 2);
    offset_ += length;
    return segment;
  }

  void FrameHeader(int marker, Bytes segment) {
    Check(segment.size() >= 6, ErrorCode::kCorruptFile, "{}: damaged, a frame header of {} bytes",
          name_, segment.size());
    Check(
        marker <= 0xC2 && BigEndian(segment, 0, 1) == 8, ErrorCode::kUnsupportedFormat,
        "{}: a lossless, hierarchical, arithmetic-coded or {}-bit JPEG is not read; export it as a "
        "baseline or progressive 8-bit JPEG or as a PNG",
        name_, BigEndian(segment, 0, 1));
    const uint32_t height = BigEndian(segment, 1, 2), width = BigEndian(segment, 3, 2);
    Check(height > 0, ErrorCode::kUnsupportedFormat,
          "{}: a JPEG whose height is given at its end (DNL) is not read; export it again", name_);
    CheckImageSize(width, height, name_, options_);
    image_.stored_width = static_cast<int>(width);
    image_.stored_height = static_cast<int>(height);
  }

  void App1(Bytes segment) {
    if (exif_seen_ || !StartsWith(segment, std::string_view("Exif\0", 5)) || segment.size() < 6)
      return;
    exif_seen_ = true;
    image_.orientation = ExifOrientation(segment.subspan(6));
  }

  // Moves to the marker that ends a scan. In entropy-coded data 0xFF is followed by 0, by a restart
  // marker or by another 0xFF.
  void EntropyData() {
    const size_t start = offset_;
    for (;;) {
      SkipToPrefix();
      if (offset_ == bytes_.size()) FailTruncated(name_, bytes_.size(), "before its end marker");
      const int code = std::to_integer<int>(bytes_[offset_]);
      if (code == 0 || code == 0xFF || (code >= 0xD0 && code <= 0xD7)) continue;
      --offset_;
      data_bytes_ += offset_ - start;
      return;
    }
  }

  Bytes bytes_;
  std::string_view name_;
  const DecodeOptions& options_;
  ImageStructure image_;
  size_t offset_ = 0;
  uint64_t data_bytes_ = 0;
  bool exif_seen_ = false;
};

}  // namespace

void CheckImageSize(int64_t width, int64_t height, std::string_view name,
                    const DecodeOptions& options) {
  Check(width > 0 && height > 0 && width <= std::numeric_limits<int>::max() &&
            height <= std::numeric_limits<int>::max(),
        ErrorCode::kCorruptFile, "{}: the header gives an impossible size of {}x{}", name, width,
        height);
  Check(height <= options.max_pixels / width, ErrorCode::kUnsupportedFormat,
        "{}: {}x{} pixels are more than the {} million that an image may have", name, width, height,
        options.max_pixels / 1'000'000);
}

void FailTruncated(std::string_view name, size_t size, std::string_view what) {
  Fail(ErrorCode::kCorruptFile,
       "{}: truncated, the file ends after {} bytes {}; copy or export it again", name, size, what);
}

bool IsImage(Bytes head) {
  if (FormatOf(head)) return true;
  return std::any_of(std::begin(kSignatures), std::end(kSignatures), [&](const auto& signature) {
    return !head.empty() && head.size() < signature.first.size() &&
           signature.first.substr(0, head.size()) == AsText(head);
  });
}

std::string GuessOtherContent(Bytes head) {
  if (IsHeif(head)) return "a HEIF image";
  if (StartsWith(head, "YUV4MPEG2 ")) return "";  // a video that begins with a line of text
  static constexpr std::pair<std::string_view, const char*> kOthers[] = {
      {"GIF8", "a GIF image"},
      {"version https://git-lfs", "a Git LFS pointer, not the file it stands for"},
      {"<", "a web page or other markup"},
  };
  for (const auto& [prefix, kind] : kOthers) {
    if (StartsWith(head, prefix)) return kind;
  }
  return IsText(head) ? "text" : "";
}

ImageStructure ReadStructure(Bytes bytes, std::string_view name, const DecodeOptions& options) {
  Check(!bytes.empty(), ErrorCode::kCorruptFile, "{}: the file is empty", name);
  const std::optional<ImageFormat> format = FormatOf(bytes);
  if (!format) {
    // The beginning of a signature is a truncated image rather than another kind of file.
    if (IsImage(bytes)) FailTruncated(name, bytes.size(), "within its signature");
    Fail(
        ErrorCode::kUnsupportedFormat,
        "{}: not an image that can be read: expected the content of a JPEG, PNG, WebP, TIFF or BMP "
        "file, found {}",
        name, GuessContent(bytes));
  }
  switch (*format) {
    case ImageFormat::kJpeg:
      return JpegWalk(bytes, name, options).Run();
    case ImageFormat::kPng:
      return PngWalk(bytes, name, options).Run();
    case ImageFormat::kWebp:
      return ReadWebpStructure(bytes, name, options);
    case ImageFormat::kTiff:
      return ReadTiffStructure(bytes, name, options);
    case ImageFormat::kBmp:
      break;
  }
  return ReadBmpStructure(bytes, name, options);
}

}  // namespace lingbot
