#include "output/frame_files.h"

#include <cmath>
#include <system_error>

#include "base/check.h"
#include "output/depth_image.h"
#include "output/npy.h"
#include "output/output_file.h"
#include "output/png.h"
#include "output/run_folder.h"

namespace lingbot {

bool IsUsableMapping(const ImageMapping& mapping) {
  const auto positive = [](double value) { return std::isfinite(value) && value > 0.0; };
  return mapping.original_width > 0 && mapping.original_height > 0 && positive(mapping.scale_x) &&
         positive(mapping.scale_y) && std::isfinite(mapping.offset_x) &&
         std::isfinite(mapping.offset_y);
}

Intrinsics OriginalIntrinsics(const Intrinsics& resized, const ImageMapping& mapping) {
  // The mapping counts from the corner of the first pixel, cameras from its centre.
  return {resized.fx / mapping.scale_x, resized.fy / mapping.scale_y,
          (resized.cx + 0.5 - mapping.offset_x) / mapping.scale_x - 0.5,
          (resized.cy + 0.5 - mapping.offset_y) / mapping.scale_y - 0.5};
}

FrameFiles::FrameFiles(std::filesystem::path folder, const FrameFileOptions& options)
    : folder_(std::move(folder)), options_(options) {
  Check(std::isfinite(options.depth_png_unit) && options.depth_png_unit >= 0.0,
        ErrorCode::kInvalidArgument,
        "the unit of the depth images is {}, but must be positive, or 0 to have it chosen",
        options.depth_png_unit);
  if (options.depth_png_unit > 0.0) unit_ = options.depth_png_unit;
  if (options.depth_png || options.depth_npy) CreateFolder(folder_ / kDepthFolder);
  if (options.confidence_npy) CreateFolder(folder_ / kConfidenceFolder);
  if (options.images) CreateFolder(folder_ / kImagesFolder);
}

void FrameFiles::WriteDepthPng(const FrameRecord& record, const std::string& name,
                               WrittenFrame* written) {
  if (!unit_) unit_ = ChooseDepthUnit(record.depth);
  const QuantizedDepth depth = QuantizeDepth(record.depth, unit_.value_or(1.0));
  std::vector<PngText> texts;
  if (unit_) texts.push_back({"DepthUnit", fmt::format("{:.17g}", *unit_)});
  texts.push_back(
      {"Description",
       "depth along the optical axis = value * DepthUnit; 0 = no valid depth; 65535 = so far or "
       "farther; the scale of a run is relative, not metres"});
  WriteFile(folder_ / name, EncodePng16(depth.values, record.height, record.width, texts));
  written->files.emplace_back("depth_png", name);
  written->invalid_depths = depth.invalid;
  written->saturated_depths = depth.saturated;
}

void FrameFiles::WriteAll(const FrameRecord& record, WrittenFrame* written) {
  const std::string number = fmt::format("{:06}", record.index);
  if (options_.depth_npy) {
    const std::string name = fmt::format("{}/{}.npy", kDepthFolder, number);
    WriteNpy(folder_ / name, record.depth, record.height, record.width);
    written->files.emplace_back("depth_npy", name);
  }
  if (options_.depth_png) {
    WriteDepthPng(record, fmt::format("{}/{}.png", kDepthFolder, number), written);
  }
  if (options_.confidence_npy) {
    const std::string name = fmt::format("{}/{}.npy", kConfidenceFolder, number);
    WriteNpy(folder_ / name, record.confidence, record.height, record.width);
    written->files.emplace_back("confidence_npy", name);
  }
  if (options_.images) {
    const std::string name = fmt::format("{}/{}.png", kImagesFolder, number);
    WriteFile(folder_ / name, EncodePngRgb(record.rgb, record.height, record.width));
    written->files.emplace_back("image", name);
  }
}

WrittenFrame FrameFiles::Write(const FrameRecord& record) {
  WrittenFrame written;
  try {
    WriteAll(record, &written);
  } catch (...) {
    // No record will name them.
    for (const auto& [kind, name] : written.files) {
      std::error_code ignored;
      std::filesystem::remove(folder_ / name, ignored);
    }
    throw;
  }
  return written;
}

}  // namespace lingbot
