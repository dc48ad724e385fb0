#ifndef LINGBOT_CLI_MEMORY_TABLE_H_
#define LINGBOT_CLI_MEMORY_TABLE_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lingbot/session.h"

namespace lingbot::cli {

// What a stream of unknown length needs at one size, window and precision.
struct MemoryRow {
  int width = 0;
  int height = 0;
  int window = 0;
  Precision precision = Precision::kFloat32;
  MemoryPlan plan;
};

// The sizes of the released network, as far as checkpoints can tell.
ModelInfo ReleasedModel();

// Rows for 16:9, 4:3 and square or portrait images at the model's width, and for 16:9 at three
// quarters and half of it, each in fp32 and bf16, each with all windows, which follow each other.
std::vector<MemoryRow> MemoryTable(const ModelInfo& model, const std::vector<int>& windows);

// Rows as a JSON array. `available` > 0 adds "fits" to each.
nlohmann::ordered_json MemoryTableJson(const std::vector<MemoryRow>& rows, uint64_t available);

// The same as aligned lines, one for each size and precision, a column for each window.
std::string MemoryTableText(const std::vector<MemoryRow>& rows, uint64_t available);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_MEMORY_TABLE_H_
