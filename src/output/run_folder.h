#ifndef LINGBOT_OUTPUT_RUN_FOLDER_H_
#define LINGBOT_OUTPUT_RUN_FOLDER_H_

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace lingbot {

inline constexpr char kRunFormat[] = "lingbot-map run";  // "format" of manifest.json
inline constexpr char kManifestName[] = "manifest.json";
inline constexpr std::uintmax_t kLargestManifest = 64u << 20;  // bytes that readers accept
inline constexpr char kFramesName[] = "frames.jsonl";
inline constexpr char kTrajectoryName[] = "trajectory_tum.txt";
inline constexpr char kPlyName[] = "points.ply";
inline constexpr char kGlbName[] = "points.glb";
inline constexpr char kKittiName[] = "trajectory_kitti.txt";
inline constexpr char kKittiTimesName[] = "times_kitti.txt";
inline constexpr char kNerfstudioName[] = "transforms.json";
inline constexpr char kColmapFolder[] = "sparse/0";  // where COLMAP and what reads it look
inline constexpr char kNpzFolder[] = "npz";
inline constexpr char kExportName[] = "export.json";  // manifest of an export into another folder
inline constexpr char kDepthFolder[] = "depth";
inline constexpr char kConfidenceFolder[] = "confidence";
inline constexpr char kImagesFolder[] = "images";
inline constexpr char kSnapshotName[] = "snapshot.bin";

// Creates a folder and those above it. Throws kFileUnwritable with path and reason.
void CreateFolder(const std::filesystem::path& folder);

// True if the folder holds the manifest of an earlier run, finished or not.
bool IsRunFolder(const std::filesystem::path& folder);
// The manifest in a folder, for those who can do without: an empty object if there is none that can
// be read.
nlohmann::ordered_json ManifestIn(const std::filesystem::path& folder);

// Makes `folder` ready for a new run: creates it if need be, and removes what an earlier run left,
// so that files of two runs never mix; other files stay. Throws kFileUnwritable if it is not empty
// and no earlier run's, unless `overwrite`, or if it is a file, or cannot be written.
void PrepareRunFolder(const std::filesystem::path& folder, bool overwrite);

// Removes the files of frames from `first` on, of an unfinished write, and the cloud, which is made
// anew at the end. Throws kFileUnwritable.
void RemoveFramesFrom(const std::filesystem::path& folder, int64_t first);

// Held by the one run that writes into a folder. The folder must exist. Throws kFileUnwritable if
// another process holds it; does nothing on file systems that cannot lock.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

// Opens what a finished run claims: every line of frames.jsonl names files that exist and are not
// empty, and there are `frames` lines. Memory does not depend on the run's length. Throws
// kFileUnwritable.
void CheckRunFiles(const std::filesystem::path& folder, int64_t frames);

}  // namespace lingbot

#endif  // LINGBOT_OUTPUT_RUN_FOLDER_H_
