// Replays the keyframe policy of the recorded streams of the original implementation and compares
// the cache's numbers after every step.

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cache/cache_oracle.h"
#include "cache/kv_cache.h"

namespace lingbot {
namespace {

using nlohmann::json;
using Row = std::array<int64_t, 7>;

struct Recording {
  json config;
  std::vector<Row> rows;  // one per step
};

Recording Read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  uint64_t header_bytes = 0;
  in.read(reinterpret_cast<char*>(&header_bytes), sizeof(header_bytes));
  std::string header(header_bytes, ' ');
  in.read(header.data(), static_cast<std::streamsize>(header_bytes));
  const json tensors = json::parse(header);
  const json& stats = tensors.at("cache_stats");
  Recording recording;
  recording.config = json::parse(tensors.at("__metadata__").at("config").get<std::string>());
  in.seekg(
      static_cast<std::streamoff>(8 + header_bytes + stats.at("data_offsets")[0].get<uint64_t>()));
  std::vector<int32_t> values(stats.at("shape")[0].get<size_t>() * 7);
  in.read(reinterpret_cast<char*>(values.data()),
          static_cast<std::streamsize>(values.size() * sizeof(int32_t)));
  EXPECT_TRUE(in.good() && stats.at("dtype") == "I32" && stats.at("shape")[1] == 7);
  recording.rows.resize(values.size() / 7);
  for (size_t i = 0; i < values.size(); ++i) recording.rows[i / 7][i % 7] = values[i];
  return recording;
}

Row RowOf(const CacheStats& stats) {
  return {stats.stored_frames, stats.scale_pages,   stats.window_pages, stats.special_tokens,
          stats.time_index,    stats.special_pages, stats.last_page_len};
}

KvCacheConfig ConfigOf(const json& recorded) {
  KvCacheConfig config;
  config.blocks = 2;
  config.heads = 1;
  config.head_dim = 2;
  config.page_size =
      recorded["height"].get<int64_t>() / 14 * (recorded["width"].get<int64_t>() / 14);
  config.scale_frames = recorded["scale_frames"];
  config.sliding_window = recorded["sliding_window"];
  config.camera = {2, 1, 1, 2};
  return config;
}

// Frames that are not stored are known beforehand, or decided after their forward pass.
void Replay(const Recording& recording, bool undecided) {
  KvCache cache(ConfigOf(recording.config));
  const int scale = recording.config["scale_frames"];
  const int interval = recording.config["keyframe_interval"];
  std::vector<uint64_t> first(scale, 1);
  testing::Store(cache, first);
  for (size_t step = 0; step < recording.rows.size(); ++step) {
    if (step > 0) {
      const bool stored = (step - 1) % interval == 0;
      const StepKind kind = undecided ? StepKind::kUndecided
                            : stored  ? StepKind::kStored
                                      : StepKind::kTransient;
      FrameTransaction frame(cache, 1, kind);
      testing::AppendAll(cache, {step + 1});
      if (stored) frame.Commit();
    }
    EXPECT_EQ(RowOf(cache.stats()), recording.rows[step]) << "step " << step;
  }
}

class GoldenCacheStats : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenCacheStats, AreExact) {
  const std::filesystem::path path = std::filesystem::path(LINGBOT_SOURCE_DIR) /
                                     "../shared/golden" /
                                     (std::string(GetParam()) + ".safetensors");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
  const Recording recording = Read(path);
  ASSERT_FALSE(recording.rows.empty());
  Replay(recording, false);
  Replay(recording, true);
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenCacheStats,
                         ::testing::Values("tiny_stream", "tiny_keyframe3", "tiny_negative_fov",
                                           "full_stream"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace lingbot
