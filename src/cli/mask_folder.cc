#include "cli/mask_folder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "media/image.h"
#include "media/read_file.h"

namespace lingbot::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostPixels = 100'000'000;

bool IsPicture(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(c | 0x20); });
  constexpr std::array<const char*, 7> kExtensions = {".png",  ".jpg", ".jpeg", ".webp",
                                                      ".tiff", ".tif", ".bmp"};
  return path.filename().string()[0] != '.' &&
         std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

// -1 if the name is none.
int64_t NumberOf(const std::string& name) {
  constexpr size_t kMostDigits = 18;
  const bool digits = !name.empty() && name.size() <= kMostDigits &&
                      name.find_first_not_of("0123456789") == std::string::npos;
  return digits ? std::stoll(name) : -1;
}

// Where the picture lies under a row or column of the frame: position + 0.5 is its middle.
struct Axis {
  int frame = 0;  // pixels of the frame
  int mask = 0;   // pixels of the mask
  int original = 0;
  double scale = 1, offset = 0;

  int At(int position) const {
    double part = (position + 0.5) / frame;
    if (original > 0) part = (position + 0.5 - offset) / scale / original;
    return static_cast<int>(std::clamp(std::floor(part * mask), 0.0, mask - 1.0));
  }
};

}  // namespace

MaskFolder::MaskFolder(fs::path folder) : folder_(std::move(folder)) {
  std::error_code problem;
  Check(fs::is_directory(folder_, problem), ErrorCode::kFileNotFound,
        "the folder of masks {} does not exist", folder_.string());
  fs::directory_iterator entry(folder_, problem);
  for (; !problem && entry != fs::directory_iterator(); entry.increment(problem)) {
    const fs::path& path = entry->path();
    if (!IsPicture(path)) continue;
    const std::string name = path.stem().string();
    const auto [known, added] = by_name_.emplace(name, path);
    Check(added, ErrorCode::kInvalidArgument, "{} and {} are masks of the same name",
          known->second.string(), path.filename().string());
    if (NumberOf(name) >= 0) by_number_.emplace(NumberOf(name), path);
  }
  Check(!problem, ErrorCode::kFileUnreadable, "cannot look into the folder of masks {}: {}",
        folder_.string(), problem.message());
  Check(!by_name_.empty(), ErrorCode::kNoInput,
        "the folder of masks {} holds no picture (.png, .jpg, .webp, .tif, .bmp)",
        folder_.string());
}

const fs::path* MaskFolder::Find(const FrameRecord& record) const {
  const fs::path source = fs::path(record.source_name).filename();
  for (const std::string& name : {source.string(), source.stem().string()}) {
    const auto found = by_name_.find(name);
    if (!name.empty() && found != by_name_.end()) return &found->second;
  }
  const auto found = by_number_.find(record.index);
  return found == by_number_.end() ? nullptr : &found->second;
}

std::span<const uint8_t> MaskFolder::MaskOf(const FrameRecord& record) {
  ++frames_;
  const fs::path* path = Find(record);
  if (path == nullptr) {
    ++missing_;
    return {};
  }
  ReadFile(*path, path->string(), &bytes_);
  const Image image = DecodeImage(bytes_, path->string(), {kMostPixels});
  const bool of_frame = image.width == record.width && image.height == record.height;
  const ImageMapping& mapping = record.mapping;
  const bool of_source = !of_frame && IsUsableMapping(mapping);
  const Axis x = {record.width, image.width, of_source ? mapping.original_width : 0,
                  mapping.scale_x, mapping.offset_x};
  const Axis y = {record.height, image.height, of_source ? mapping.original_height : 0,
                  mapping.scale_y, mapping.offset_y};
  columns_.clear();
  for (int column = 0; column < record.width; ++column) columns_.push_back(3 * x.At(column));
  mask_.clear();
  for (int row = 0; row < record.height; ++row) {
    const uint8_t* line = &image.rgb[size_t{3} * image.width * y.At(row)];
    for (const int column : columns_) {
      const int sum = line[column] + line[column + 1] + line[column + 2];
      mask_.push_back(sum >= 3 * 128 ? 1 : 0);
    }
  }
  return mask_;
}

std::vector<std::string> MaskFolder::Warnings() const {
  if (missing_ == 0) return {};
  return {fmt::format(
      "{} of {} frames have no mask in {} and were used whole; a mask has the name of its image or "
      "the number of its frame, such as 000012.png",
      missing_, frames_, folder_.string())};
}

}  // namespace lingbot::cli
