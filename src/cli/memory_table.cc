#include "cli/memory_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/system_memory.h"
#include "cli/names.h"

namespace lingbot::cli {
namespace {

// The model's own width, three quarters and half of it, in multiples of the patch.
std::vector<std::pair<int, int>> SizesOf(const ModelInfo& model) {
  std::vector<std::pair<int, int>> sizes;  // width, height
  const auto rounded = [&](double side) {
    const double patches = std::max(1.0, std::nearbyint(side / model.patch_size));
    return static_cast<int>(patches) * model.patch_size;
  };
  const auto add = [&](double width, double proportions) {
    const std::pair<int, int> size(rounded(width), rounded(rounded(width) * proportions));
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
  };
  for (const double proportions : {9.0 / 16, 3.0 / 4, 1.0}) add(model.img_size, proportions);
  for (const double part : {0.75, 0.5}) add(part * model.img_size, 9.0 / 16);
  return sizes;
}

// One line of the table: all windows of a size.
std::string SizeText(const MemoryRow* first, size_t windows, uint64_t available) {
  std::string text =
      fmt::format("  {:<10}{:>10}", fmt::format("{}x{}", first->width, first->height),
                  NameOf(first->precision));
  for (size_t i = 0; i < windows; ++i) {
    const uint64_t bytes = first[i].plan.total();
    text += fmt::format("{:>12}", FormatBytes(bytes) + (available > 0 && bytes > available ? " -"
                                                        : available > 0                    ? " +"
                                                                                           : ""));
  }
  return text + "\n";
}

}  // namespace

ModelInfo ReleasedModel() {
  ModelInfo model;
  model.source = "the released network";
  model.img_size = 518;
  model.patch_size = 14;
  model.embed_dim = 1024;
  model.mlp_ratio = 4;
  model.num_heads = 16;
  model.vit_depth = 24;
  model.depth = 24;
  model.taps = {4, 11, 17, 23};
  model.camera_depth = 4;
  model.camera_heads = 16;
  model.dpt_features = 256;
  model.dpt_channels = {256, 512, 1024, 1024};
  model.camera_iterations = 4;
  model.scale_frames = 8;
  model.sliding_window = 64;
  return model;
}

std::vector<MemoryRow> MemoryTable(const ModelInfo& model, const std::vector<int>& windows) {
  std::vector<MemoryRow> rows;
  for (const auto& [width, height] : SizesOf(model)) {
    for (const Precision precision : {Precision::kFloat32, Precision::kBFloat16}) {
      for (const int window : windows) {
        ModelInfo in_precision = model;
        in_precision.precision = precision;
        in_precision.weight_bytes = 0;
        SessionOptions options;
        options.sliding_window = window;
        rows.push_back(
            {width, height, window, precision, PlanMemory(in_precision, height, width, options)});
      }
    }
  }
  return rows;
}

nlohmann::ordered_json MemoryTableJson(const std::vector<MemoryRow>& rows, uint64_t available) {
  auto json = nlohmann::ordered_json::array();
  for (const MemoryRow& row : rows) {
    json.push_back({{"width", row.width},
                    {"height", row.height},
                    {"window", row.window},
                    {"precision", NameOf(row.precision)},
                    {"bytes", row.plan.total()},
                    {"weight_bytes", row.plan.weights}});
    if (available > 0) json.back()["fits"] = row.plan.total() <= available;
  }
  return json;
}

std::string MemoryTableText(const std::vector<MemoryRow>& rows, uint64_t available) {
  size_t windows = 1;
  while (windows < rows.size() && rows[windows].window != rows[0].window) ++windows;
  std::string text = fmt::format("  {:<10}{:>10}", "frames", "precision");
  for (size_t i = 0; i < windows && i < rows.size(); ++i) {
    text += fmt::format("{:>12}", fmt::format("window {}", rows[i].window));
  }
  text += "\n";
  for (size_t i = 0; i + windows <= rows.size(); i += windows) {
    text += SizeText(&rows[i], windows, available);
  }
  if (available == 0 || rows.empty()) return text;
  const bool any = std::any_of(rows.begin(), rows.end(),
                               [&](const MemoryRow& row) { return row.plan.total() <= available; });
  return text + (any ? "  + fits, - does not: --image-size and --window of run choose\n"
                     : "  none of these fits: a smaller --image-size or --window, or another "
                       "model\n");
}

}  // namespace lingbot::cli
