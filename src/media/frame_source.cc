#include "media/frame_source.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/natural_order.h"
#include "media/printable.h"
#include "media/read_file.h"

namespace lingbot {
namespace {

namespace fs = std::filesystem;

std::string LowerExtension(const fs::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return extension;
}

template <size_t N>
bool HasExtension(const fs::path& path, const std::array<std::string_view, N>& extensions) {
  const std::string extension = LowerExtension(path);
  return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

constexpr std::array<std::string_view, 7> kRead = {".jpg", ".jpeg", ".png", ".webp",
                                                   ".tif", ".tiff", ".bmp"};
constexpr std::array<std::string_view, 4> kOtherImages = {".gif", ".heic", ".heif", ".avif"};

// What a folder holds.
struct Listing {
  std::vector<fs::path> images;
  int64_t other_images = 0;  // of formats that are not read
  int64_t other_files = 0;
  int64_t folders = 0;
};

void AddEntry(const fs::directory_entry& entry, Listing* listing) {
  const fs::path& path = entry.path();
  if (path.filename().string().front() == '.') return;
  std::error_code ignored;  // of a dangling link: its extension decides
  if (entry.is_directory(ignored)) {
    ++listing->folders;
  } else if (HasExtension(path, kRead)) {
    listing->images.push_back(path);
  } else if (HasExtension(path, kOtherImages)) {
    ++listing->other_images;
  } else {
    ++listing->other_files;
  }
}

Listing ListFolder(const fs::path& folder) {
  Listing listing;
  std::error_code problem;
  fs::directory_iterator it(folder, problem);
  for (const fs::directory_iterator end; !problem && it != end; it.increment(problem)) {
    AddEntry(*it, &listing);
  }
  Check(!problem, ErrorCode::kFileUnreadable, "cannot list the folder {}: {}", Printable(folder),
        problem.message());
  return listing;
}

void CheckOptions(const ImageFolderOptions& options) {
  Check(options.stride >= 1, ErrorCode::kInvalidArgument, "the stride must be at least 1, got {}",
        options.stride);
  Check(options.max_frames >= 0, ErrorCode::kInvalidArgument,
        "the maximum number of frames must be positive, or 0 for all; got {}", options.max_frames);
  Check(std::isfinite(options.frames_per_second) && options.frames_per_second > 0,
        ErrorCode::kInvalidArgument, "the frame rate must be positive, got {}",
        options.frames_per_second);
}

}  // namespace

ImageFolderSource::ImageFolderSource(const fs::path& path, ImageFolderOptions options)
    : path_(path), options_(std::move(options)) {
  CheckOptions(options_);
  std::error_code problem;
  const fs::file_status status = fs::status(path, problem);
  Check(status.type() != fs::file_type::not_found, ErrorCode::kFileNotFound,
        "{} does not exist; expected a folder of images, one image or a video", Printable(path));
  Check(fs::status_known(status), ErrorCode::kFileUnreadable, "cannot open {}: {}", Printable(path),
        problem.message());
  if (!fs::is_directory(status)) {
    Check(fs::is_regular_file(status), ErrorCode::kFileUnreadable,
          "{} is neither a folder nor a file; expected a folder of images, one image or a video",
          Printable(path));
    entries_.push_back({path, 0});
    return;
  }
  Listing listing = ListFolder(path);
  Check(!listing.images.empty(), ErrorCode::kNoInput,
        "no images in the folder {}: looked for .jpg, .jpeg, .png, .webp, .tif, .tiff and .bmp "
        "files (any "
        "case), found {} images of other formats, {} other files and {} folders; folders inside of "
        "it are not searched, and a video is named by itself",
        Printable(path), listing.other_images, listing.other_files, listing.folders);
  if (listing.other_images > 0) {
    Log(
        fmt::format("{}: {} images are of formats that are not read (GIF, HEIF, AVIF) and are "
                    "ignored; convert them to use them",
                    Printable(path), listing.other_images));
  }
  SortAndChoose(std::move(listing.images));
}

ImageFolderSource::ImageFolderSource(std::vector<fs::path> files, const fs::path& label,
                                     ImageFolderOptions options)
    : path_(label), options_(std::move(options)) {
  CheckOptions(options_);
  SortAndChoose(std::move(files));
}

void ImageFolderSource::SortAndChoose(std::vector<fs::path> images) {
  // Of files of one name in several folders, those of the first folder come first.
  std::sort(images.begin(), images.end(), [](const fs::path& a, const fs::path& b) {
    if (a.parent_path() != b.parent_path()) {
      return NaturalLess(a.parent_path().string(), b.parent_path().string());
    }
    return NaturalLess(a.filename().string(), b.filename().string());
  });
  const auto count = static_cast<int64_t>(images.size());
  for (int64_t i = 0; i < count; i += std::min(options_.stride, count)) {
    if (options_.max_frames > 0 && static_cast<int64_t>(entries_.size()) == options_.max_frames)
      break;
    entries_.push_back({images[i], i});
  }
}

std::vector<FrameInfo> ImageFolderSource::Verify(const ThreadTeam& team) {
  Check(next_ == 0, ErrorCode::kInternal, "Verify was called after Next");
  std::vector<FrameInfo> frames(entries_.size());
  std::vector<std::optional<Error>> problems(entries_.size());
  std::vector<std::exception_ptr> failures(entries_.size());
  team.ForEach(static_cast<int64_t>(entries_.size()), [&](int64_t i) {
    try {
      frames[i] = Inspect(entries_[i]);
    } catch (const Error& error) {
      problems[i] = error;
    } catch (...) {
      failures[i] = std::current_exception();
    }
  });
  for (const std::exception_ptr& failure : failures) {
    if (failure != nullptr) std::rethrow_exception(failure);
  }
  HandleBad(problems, &frames);
  return frames;
}

FrameInfo ImageFolderSource::Inspect(const Entry& entry) const {
  std::vector<std::byte> bytes;
  const std::string label = Printable(entry.path);
  ReadFile(entry.path, label, &bytes);
  return {entry.path.filename().string(), entry.source_index,
          InspectImage(bytes, label, options_.decode)};
}

void ImageFolderSource::HandleBad(const std::vector<std::optional<Error>>& problems,
                                  std::vector<FrameInfo>* frames) {
  const auto first = std::find_if(problems.begin(), problems.end(),
                                  [](const std::optional<Error>& p) { return p.has_value(); });
  if (first == problems.end()) return;
  const auto bad = std::count_if(first, problems.end(),
                                 [](const std::optional<Error>& p) { return p.has_value(); });
  if (!options_.skip_bad) {
    Fail((*first)->code(), "{} ({} of {} images are bad; --skip-bad leaves such images out)",
         (*first)->what(), bad, problems.size());
  }
  Check(bad < static_cast<int64_t>(problems.size()), ErrorCode::kNoInput,
        "none of the {} images of {} can be read; the first: {}", bad, Printable(path_),
        (*first)->what());
  size_t kept = 0;
  for (size_t i = 0; i < problems.size(); ++i) {
    if (problems[i].has_value()) {
      LogSkipped(entries_[i], *problems[i]);
      continue;
    }
    if (kept != i) {
      entries_[kept] = std::move(entries_[i]);
      (*frames)[kept] = std::move((*frames)[i]);
    }
    ++kept;
  }
  entries_.resize(kept);
  frames->resize(kept);
}

std::optional<int64_t> ImageFolderSource::frame_count() const {
  return static_cast<int64_t>(entries_.size()) - skipped_;
}

bool ImageFolderSource::Next(Image* image) {
  while (next_ < entries_.size()) {
    const Entry& entry = entries_[next_++];
    try {
      const std::string label = Printable(entry.path);
      ReadFile(entry.path, label, &bytes_);
      *image = DecodeImage(bytes_, label, options_.decode);
    } catch (const Error& error) {
      if (!options_.skip_bad) throw;
      LogSkipped(entry, error);
      ++skipped_;
      continue;
    }
    image->name = entry.path.filename().string();
    image->source_index = entry.source_index;
    image->timestamp = static_cast<double>(entry.source_index) / options_.frames_per_second;
    return true;
  }
  return false;
}

void FrameSource::SkipThrough(int64_t source_index, const std::function<bool()>& stop) {
  Image image;
  while (!stop()) {
    const bool more = Next(&image);
    if (more && image.source_index < source_index) continue;
    Check(more && image.source_index == source_index, ErrorCode::kCorruptFile,
          "frame {} of the input, which was used before, cannot be found again: the input has "
          "changed",
          source_index);
    return;
  }
}

void ImageFolderSource::SkipThrough(int64_t source_index, const std::function<bool()>&) {
  while (next_ < entries_.size() && entries_[next_].source_index <= source_index) ++next_;
}

void ImageFolderSource::LogSkipped(const Entry& entry, const Error& error) const {
  Log(fmt::format("skipped image {}: {}", entry.source_index, error.what()));
}

void ImageFolderSource::Log(const std::string& line) const {
  if (options_.log) options_.log(line);
}

}  // namespace lingbot
