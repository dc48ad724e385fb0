#include "evaluation/depth_map.h"
#include "output/png_reader.h"

namespace lingbot {

DepthMap ReadDepthPng(const std::filesystem::path& path, double scale) {
  const PngImage<uint16_t> image = ReadPng16(path);
  DepthMap map = {image.height, image.width, {}};
  map.values.reserve(image.values.size());
  for (const uint16_t value : image.values) map.values.push_back(static_cast<float>(value * scale));
  return map;
}

}  // namespace lingbot
