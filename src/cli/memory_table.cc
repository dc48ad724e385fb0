#include "cli/memory_table.h"

#include <fmt/format.h>

#include <utility>

#include "base/system_memory.h"
#include "cli/names.h"

namespace lingbot::cli {
namespace {

std::vector<std::pair<int, int>> SizesOf(const ModelInfo& model) {
  std::vector<std::pair<int, int>> sizes;  // width, height
  const auto add = [&](int width, int height) {
    if (width % model.patch_size == 0 && height % model.patch_size == 0) {
      sizes.emplace_back(width, height);
    }
  };
  add(518, 294);
  add(518, 392);
  add(518, 518);
  if (model.img_size != 518) add(model.img_size, model.img_size);
  return sizes;
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
    for (const int window : windows) {
      for (const Precision precision : {Precision::kFloat32, Precision::kBFloat16}) {
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
  std::string text = fmt::format("  {:<10}{:>7}{:>11}{:>11}{:>11}{}\n", "frames", "window",
                                 "precision", "memory", "weights", available > 0 ? "   fits" : "");
  for (const MemoryRow& row : rows) {
    const char* fits = available == 0 ? "" : row.plan.total() <= available ? "   yes" : "   no";
    text +=
        fmt::format("  {:<10}{:>7}{:>11}{:>11}{:>11}{}\n",
                    fmt::format("{}x{}", row.width, row.height), row.window, NameOf(row.precision),
                    FormatBytes(row.plan.total()), FormatBytes(row.plan.weights), fits);
  }
  return text;
}

}  // namespace lingbot::cli
