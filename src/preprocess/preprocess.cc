#include "preprocess/preprocess.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace lingbot {
namespace {

const std::array<float, 256>& UnitTable() {
  static const std::array<float, 256> table = [] {
    std::array<float, 256> values;
    for (int i = 0; i < 256; ++i) values[i] = static_cast<float>(i) / 255.0f;
    return values;
  }();
  return table;
}

}  // namespace

Preprocessor::Preprocessor(const PreprocessOptions& options, const ThreadTeam* team)
    : options_(options), team_(team) {
  ValidateOptions(options);
}

const PreprocessedFrame& Preprocessor::Run(const uint8_t* rgb, int width, int height,
                                           std::string_view name) {
  if (width != in_width_ || height != in_height_) {
    Prepare(width, height, ComputeResizeSize(width, height, options_, name));
  }
  resampler_->Run(rgb, resized_.data(), *team_);
  const std::array<float, 256>& unit = UnitTable();
  float* out = frame_.pixels.data<float>();  // [3, height, width]
  const size_t plane = static_cast<size_t>(frame_.height) * frame_.width;
  team_->ForRange(content_height_, 16, [&](int64_t begin, int64_t end) {
    for (int64_t y = begin; y < end; ++y) {
      const uint8_t* source = resized_.data() + size_t{3} * y * content_width_;
      float* target = out + (y + top_) * frame_.width + left_;
      for (int x = 0; x < content_width_; ++x) {
        target[x] = unit[source[3 * x]];
        target[x + plane] = unit[source[3 * x + 1]];
        target[x + 2 * plane] = unit[source[3 * x + 2]];
      }
    }
  });
  return frame_;
}

void Preprocessor::Prepare(int width, int height, const ResizeSize& size) {
  in_width_ = 0;  // until everything below has succeeded
  content_width_ = static_cast<int>(std::min<int64_t>(size.resized_width, size.out_width));
  content_height_ = static_cast<int>(std::min<int64_t>(size.resized_height, size.out_height));
  left_ = (size.out_width - content_width_) / 2;
  top_ = (size.out_height - content_height_) / 2;
  const int64_t cut = (size.resized_height - content_height_) / 2;
  resampler_.emplace(width, height, content_width_, size.resized_height, cut, content_height_);
  resized_.resize(size_t{3} * content_width_ * content_height_);
  if (frame_.height != size.out_height || frame_.width != size.out_width) {
    frame_.pixels = Buffer(DType::kF32, {3, size.out_height, size.out_width});
  }
  std::fill_n(frame_.pixels.data<float>(), frame_.pixels.shape().elements(), 1.0f);
  frame_.height = size.out_height;
  frame_.width = size.out_width;
  frame_.mapping.scale_x = static_cast<double>(size.resized_width) / width;
  frame_.mapping.scale_y = static_cast<double>(size.resized_height) / height;
  frame_.mapping.offset_x = left_;
  frame_.mapping.offset_y = top_ - static_cast<double>(cut);
  frame_.lost_rows =
      1.0 - static_cast<double>(content_height_) / static_cast<double>(size.resized_height);
  in_width_ = width;
  in_height_ = height;
}

}  // namespace lingbot
