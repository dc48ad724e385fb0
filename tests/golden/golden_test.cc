// The engine against recorded outputs of the original network. The recordings lie beside the source
// folder; without them there is nothing to compare and the tests are skipped.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/golden_case.h"
#include "weights/checkpoint.h"

namespace lingbot {
namespace {

std::filesystem::path GoldenFile(const std::string& name) {
  return std::filesystem::path(LINGBOT_SOURCE_DIR) / ".." / "shared" / "golden" / name;
}

class GoldenTest : public ::testing::Test {
 protected:
  void Require(const std::string& name) {
    file_ = GoldenFile(name);
    if (!std::filesystem::exists(file_)) GTEST_SKIP() << "there is no recording " << file_;
  }
  std::filesystem::path file_;
};

#define REQUIRE_RECORDING(name) \
  do {                          \
    Require(name);              \
    if (IsSkipped()) return;    \
  } while (false)

void ExpectPass(const GoldenReport& report, const std::string& run) {
  EXPECT_TRUE(report.pass) << run << ": pose " << report.pose_max_abs << ", depth "
                           << report.depth_rel_l2 << ", confidence " << report.confidence_rel_l2
                           << ", probe " << report.probe_rel_l2.value_or(0.0) << " ("
                           << report.worst_probe << "), cache statistics "
                           << (report.cache_stats == GoldenReport::Stats::kDiffer ? "differ" : "ok")
                           << ", scales " << report.scale_max_abs.value_or(0.0) << ", transforms "
                           << report.transform_max_abs.value_or(0.0);
}

void ExpectSame(const GoldenReport& a, const GoldenReport& b, const std::string& run) {
  EXPECT_EQ(a.pose_max_abs, b.pose_max_abs) << run;
  EXPECT_EQ(a.depth_rel_l2, b.depth_rel_l2) << run;
  EXPECT_EQ(a.confidence_rel_l2, b.confidence_rel_l2) << run;
  EXPECT_EQ(a.probe_rel_l2, b.probe_rel_l2) << run;
  EXPECT_EQ(a.worst_probe, b.worst_probe) << run;
}

constexpr AttentionBackend kBackends[] = {AttentionBackend::kReference, AttentionBackend::kCpu,
                                          AttentionBackend::kSdpa};
constexpr const char* kBackendNames[] = {"reference", "cpu", "sdpa"};

class TinyRecording : public GoldenTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(TinyRecording, EveryBackendAndLayoutAgreesInFloat32) {
  REQUIRE_RECORDING(GetParam());
  const GoldenCase golden(file_);
  const Model model = golden.MakeModel(Precision::kFloat32, 0);
  for (int i = 0; i < 3; ++i) {
    SessionOptions options = golden.StreamOptions();
    options.attention = kBackends[i];
    const GoldenReport plain = CheckGolden(golden, model, options);
    ExpectPass(plain, kBackendNames[i]);
    EXPECT_NE(plain.probe_rel_l2.has_value(), golden.windowed());
    // NaN in unused memory must not change a bit. The other layout holds the special tokens in the
    // opposite order, so that sums may round differently.
    options.poison_cache = true;
    ExpectSame(CheckGolden(golden, model, options), plain,
               std::string(kBackendNames[i]) + ", poisoned");
    options.kv_layout = KvLayout::kInterleaved;
    ExpectPass(CheckGolden(golden, model, options),
               std::string(kBackendNames[i]) + ", poisoned, interleaved");
  }
}

TEST_P(TinyRecording, AgreesInBFloat16) {
  REQUIRE_RECORDING(GetParam());
  const GoldenCase golden(file_);
  const Model model = golden.MakeModel(Precision::kBFloat16, 0);
  for (const AttentionBackend backend : {AttentionBackend::kCpu, AttentionBackend::kSdpa}) {
    SessionOptions options = golden.StreamOptions();
    options.attention = backend;
    ExpectPass(CheckGolden(golden, model, options), "bf16");
  }
}

TEST_P(TinyRecording, SecondRunRepeatsTheFirst) {
  REQUIRE_RECORDING(GetParam());
  const GoldenCase golden(file_);
  const Model model = golden.MakeModel(Precision::kFloat32, 0);
  const GoldenReport first = CheckGolden(golden, model, golden.StreamOptions());
  ExpectSame(CheckGolden(golden, model, golden.StreamOptions()), first, "again");
}

// A comparison that passes whatever the engine does would prove nothing.
TEST_P(TinyRecording, WindowOneFrameTooShortFails) {
  REQUIRE_RECORDING(GetParam());
  const GoldenCase golden(file_);
  const Model model = golden.MakeModel(Precision::kFloat32, 0);
  SessionOptions options = golden.StreamOptions();
  options.sliding_window -= 1;
  EXPECT_FALSE(CheckGolden(golden, model, options).pass);
}

INSTANTIATE_TEST_SUITE_P(Files, TinyRecording,
                         ::testing::Values("tiny_stream.safetensors", "tiny_keyframe3.safetensors",
                                           "tiny_negative_fov.safetensors",
                                           "tiny_windowed.safetensors"),
                         [](const auto& param) {
                           return std::filesystem::path(param.param).stem().string();
                         });

TEST_F(GoldenTest, PreprocessingMatchesEveryPixel) {
  REQUIRE_RECORDING("preprocess.safetensors");
  EXPECT_EQ(CountDifferingPixels(*OpenCheckpoint(file_)), 0);
}

TEST_F(GoldenTest, SizesMatch) {
  REQUIRE_RECORDING("sizes.json");
  std::ifstream in(file_);
  const nlohmann::json rows = nlohmann::json::parse(in);
  EXPECT_GT(rows.size(), 0u);
  EXPECT_EQ(CountWrongSizes(rows), 0);
}

// The released architecture: 5 GB of weights in float32 and some minutes.
class FullRecording : public GoldenTest {};

TEST_F(FullRecording, AgreesInFloat32) {
  REQUIRE_RECORDING("full_stream.safetensors");
  const GoldenCase golden(file_);
  const Model model = golden.MakeModel(Precision::kFloat32, 0);
  SessionOptions options = golden.StreamOptions();
  options.attention = AttentionBackend::kCpu;
  ExpectPass(CheckGolden(golden, model, options), "float32");
}

TEST_F(FullRecording, AgreesInBFloat16) {
  REQUIRE_RECORDING("full_stream.safetensors");
  const GoldenCase golden(file_);
  const Model model = golden.MakeModel(Precision::kBFloat16, 0);
  SessionOptions options = golden.StreamOptions();
  options.attention = AttentionBackend::kCpu;
  ExpectPass(CheckGolden(golden, model, options), "bf16");
}

}  // namespace
}  // namespace lingbot
