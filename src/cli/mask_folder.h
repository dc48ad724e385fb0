#ifndef LINGBOT_CLI_MASK_FOLDER_H_
#define LINGBOT_CLI_MASK_FOLDER_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "output/mask_source.h"

namespace lingbot::cli {

// Masks of --mask-dir: pictures of any size and any kind that DecodeImage reads; what is at least
// half white keeps the pixel. The mask of a frame has the name of its source ("IMG_7.png" or
// "IMG_7.JPG.png" for IMG_7.JPG, "clip.png" for all frames of clip.mp4), else its number in the run
// ("000012.png", "12.png").
//
// A mask of exactly the size that the network sees belongs to that picture; one of any other size
// is laid over the upright source image.
class MaskFolder : public MaskSource {
 public:
  // Throws kFileNotFound, kNoInput if there is no picture in it, kInvalidArgument if two have one
  // name.
  explicit MaskFolder(std::filesystem::path folder);

  // Throws DecodeImage's errors, with the file's path.
  std::span<const uint8_t> MaskOf(const FrameRecord& record) override;

  std::vector<std::string> Warnings() const override;

 private:
  const std::filesystem::path* Find(const FrameRecord& record) const;

  std::filesystem::path folder_;
  std::map<std::string, std::filesystem::path> by_name_;  // without extension
  std::map<int64_t, std::filesystem::path> by_number_;
  std::vector<std::byte> bytes_;
  std::vector<uint8_t> mask_;  // [height, width] of the frame
  std::vector<int> columns_;   // of the mask, for each of the frame
  int64_t frames_ = 0;
  int64_t missing_ = 0;
};

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_MASK_FOLDER_H_
