#include "output/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "base/check.h"

namespace lingbot {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFrameFolders[] = {kDepthFolder, kConfidenceFolder, kImagesFolder,
                                         kNpzFolder};

[[noreturn]] void FailOn(const char* verb, const fs::path& path, const std::error_code& error) {
  Fail(ErrorCode::kFileUnwritable, "cannot {} {}: {}", verb, path.string(), error.message());
}

bool IsFrameFile(const fs::path& path) {
  const std::string stem = path.stem().string();
  const std::string extension = path.extension().string();
  return !stem.empty() &&
         std::all_of(stem.begin(), stem.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
         (extension == ".png" || extension == ".npy" || extension == ".npz");
}

bool IsPartialFile(const fs::path& path) {
  return path.extension() == ".partial" && path.filename().string()[0] == '.';
}

// The paths of `folder` that `selected` accepts; none if there is no such folder.
template <typename Predicate>
std::vector<fs::path> ListFiles(const fs::path& folder, Predicate selected) {
  std::vector<fs::path> files;
  std::error_code error;
  if (!fs::is_directory(folder, error)) return files;
  fs::directory_iterator entry(folder, error);
  while (!error && entry != fs::directory_iterator()) {
    if (selected(entry->path())) files.push_back(entry->path());
    entry.increment(error);
  }
  if (error) FailOn("list", folder, error);
  return files;
}

void RemoveFiles(const std::vector<fs::path>& files) {
  for (const fs::path& file : files) {
    std::error_code error;
    fs::remove(file, error);
    if (error) FailOn("remove", file, error);
  }
}

// The manifest stays until it is replaced: should the process die here, the folder is still known
// as a run's.
void RemoveEarlierRun(const fs::path& folder) {
  for (const char* name : kFrameFolders) {
    RemoveFiles(ListFiles(folder / name, [](const fs::path& path) {
      return IsFrameFile(path) || IsPartialFile(path);
    }));
  }
  RemoveFiles(ListFiles(folder, IsPartialFile));
  RemoveFiles(ListFiles(folder / kColmapFolder, [](const fs::path& path) {
    const std::string stem = path.stem().string();
    const std::string extension = path.extension().string();
    return IsPartialFile(path) || ((stem == "cameras" || stem == "images" || stem == "points3D") &&
                                   (extension == ".txt" || extension == ".bin"));
  }));
  for (const char* name : {kPlyName, kGlbName, kKittiName, kKittiTimesName, kNerfstudioName,
                           kFramesName, kTrajectoryName, kSnapshotName}) {
    RemoveFiles({folder / name});
  }
}

void CheckFrameLine(const fs::path& folder, const std::string& line, int64_t number) {
  const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  Check(json.is_object() && json.contains("files") && json["files"].is_object(),
        ErrorCode::kFileUnwritable, "line {} of {} is not the record of a frame", number,
        (folder / kFramesName).string());
  for (const auto& file : json["files"]) {
    const fs::path path = folder / (file.is_string() ? file.get<std::string>() : "");
    std::error_code error;
    const uintmax_t size = fs::file_size(path, error);
    Check(!error && size > 0, ErrorCode::kFileUnwritable, "{} was written but is {} now",
          path.string(), error ? "missing" : "empty");
  }
}

}  // namespace

void CreateFolder(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error)) {
    Fail(ErrorCode::kFileUnwritable,
         "cannot create the folder {}: a file of that name exists; choose another folder or remove "
         "the file",
         folder.string());
  }
  fs::create_directories(folder, error);
  if (error) FailOn("create the folder", folder, error);
}

nlohmann::ordered_json ManifestIn(const fs::path& folder) {
  std::error_code error;
  const fs::path path = folder / kManifestName;
  auto json = nlohmann::ordered_json::object();
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kLargestManifest)
    return json;
  std::ifstream file(path);
  auto read = nlohmann::ordered_json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (read.is_object()) json = std::move(read);
  return json;
}

bool IsRunFolder(const fs::path& folder) {
  const auto manifest = ManifestIn(folder);
  return manifest.contains("format") && manifest["format"] == kRunFormat;
}

void PrepareRunFolder(const fs::path& folder, bool overwrite) {
  CreateFolder(folder);
  const bool empty = ListFiles(folder, [](const fs::path&) { return true; }).empty();
  if (empty) return;
  Check(overwrite || IsRunFolder(folder), ErrorCode::kFileUnwritable,
        "{} is not empty and not the output of an earlier run; choose another folder, or ask to "
        "overwrite",
        folder.string());
  RemoveEarlierRun(folder);
}

void RemoveFramesFrom(const fs::path& folder, int64_t first) {
  const auto is_later = [first](const fs::path& path) {
    if (!IsFrameFile(path)) return false;
    int64_t index = 0;
    const std::string stem = path.stem().string();
    const auto parsed = std::from_chars(stem.data(), stem.data() + stem.size(), index);
    return parsed.ec != std::errc() || index >= first;
  };
  for (const char* name : kFrameFolders) {
    RemoveFiles(ListFiles(folder / name, [&](const fs::path& path) {
      return is_later(path) || IsPartialFile(path);
    }));
  }
  RemoveFiles(ListFiles(folder, IsPartialFile));
  RemoveFiles({folder / kPlyName});
}

void CheckRunFiles(const fs::path& folder, int64_t frames) {
  std::ifstream file(folder / kFramesName);
  std::string line;
  int64_t lines = 0;
  while (std::getline(file, line)) CheckFrameLine(folder, line, ++lines);
  Check(lines == frames, ErrorCode::kFileUnwritable,
        "{} holds {} records although {} frames were written", (folder / kFramesName).string(),
        lines, frames);
}

FolderLock::FolderLock(const std::filesystem::path& folder)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0 || ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
    return;
  ::close(descriptor_);
  Fail(ErrorCode::kFileUnwritable,
       "another run is writing into {}; wait for it or choose another folder", folder.string());
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace lingbot
