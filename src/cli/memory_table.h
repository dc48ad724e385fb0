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

// Rows for 16:9 (518x294), 4:3 (518x392) and square or portrait (518x518) images and for the
// model's own width, each in fp32 and bf16; sizes that are no multiple of the model's patch are
// left out.
std::vector<MemoryRow> MemoryTable(const ModelInfo& model, const std::vector<int>& windows);

// Rows as a JSON array. `available` > 0 adds "fits" to each.
nlohmann::ordered_json MemoryTableJson(const std::vector<MemoryRow>& rows, uint64_t available);

// The same as aligned lines, one for each size, window and precision.
std::string MemoryTableText(const std::vector<MemoryRow>& rows, uint64_t available);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_MEMORY_TABLE_H_
