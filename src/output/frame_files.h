#ifndef LINGBOT_OUTPUT_FRAME_FILES_H_
#define LINGBOT_OUTPUT_FRAME_FILES_H_

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "output/frame_record.h"

namespace lingbot {

struct FrameFileOptions {
  bool depth_png = true;       // depth/NNNNNN.png, 16 bits
  bool depth_npy = true;       // depth/NNNNNN.npy
  bool confidence_npy = true;  // confidence/NNNNNN.npy
  bool images = true;          // images/NNNNNN.png, the frame as the network saw it, 8-bit RGB
  // Depth of one step of the 16-bit images, for the whole run. 0 = chosen from the first frame that
  // has any valid depth (ChooseDepthUnit).
  double depth_png_unit = 0.0;
};

struct WrittenFrame {
  std::vector<std::pair<std::string, std::string>>
      files;                   // kind, path relative to the run's folder
  int64_t invalid_depths = 0;  // of the depth image, as the next
  int64_t saturated_depths = 0;
};

// The files that belong to one frame alone.
class FrameFiles {
 public:
  // Creates the sub-folders. Throws kFileUnwritable, kInvalidArgument.
  FrameFiles(std::filesystem::path folder, const FrameFileOptions& options);

  // Each file appears complete or not at all. Throws kFileUnwritable.
  WrittenFrame Write(const FrameRecord& record);

  // Unknown until a frame with valid depth came; images written before hold only zeros.
  std::optional<double> depth_png_unit() const { return unit_; }

 private:
  void WriteAll(const FrameRecord& record, WrittenFrame* written);
  void WriteDepthPng(const FrameRecord& record, const std::string& name, WrittenFrame* written);

  std::filesystem::path folder_;
  FrameFileOptions options_;
  std::optional<double> unit_;
};

}  // namespace lingbot

#endif  // LINGBOT_OUTPUT_FRAME_FILES_H_
