// The engine against what PyTorch computed with the bundled model: the place where faults too small
// for accuracy show.

#include <gtest/gtest.h>

#include <filesystem>

#include "tools/golden_case.h"

namespace lingbot {
namespace {

const std::filesystem::path kModels = std::filesystem::path(LINGBOT_SOURCE_DIR) / "models";

class TrainedRecording : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const auto& path : {recording_, weights_}) {
      if (!std::filesystem::exists(path)) GTEST_SKIP() << "there is no file " << path;
    }
  }

  Model Load(Precision precision) const {
    ModelOptions options;
    options.device = DeviceKind::kCpu;
    options.precision = precision;
    return Model::Load(weights_, options);
  }

  static void ExpectPass(const GoldenReport& report, const char* run) {
    EXPECT_TRUE(report.pass) << run << ": pose " << report.pose_max_abs << ", depth "
                             << report.depth_rel_l2 << ", confidence " << report.confidence_rel_l2;
  }

  const std::filesystem::path recording_ = kModels / "nano_recorded.safetensors";
  const std::filesystem::path weights_ = kModels / "nano.safetensors";
};

TEST_F(TrainedRecording, EveryBackendAgreesInFloat32) {
  const GoldenCase golden(recording_);
  const Model model = Load(Precision::kFloat32);
  for (const AttentionBackend backend :
       {AttentionBackend::kReference, AttentionBackend::kCpu, AttentionBackend::kSdpa}) {
    SessionOptions options = golden.StreamOptions();
    options.attention = backend;
    options.poison_cache = true;
    ExpectPass(CheckGolden(golden, model, options), "float32");
  }
}

TEST_F(TrainedRecording, AgreesInBFloat16) {
  const GoldenCase golden(recording_);
  ExpectPass(CheckGolden(golden, Load(Precision::kBFloat16), golden.StreamOptions()), "bf16");
}

// What the recording must be able to tell apart, though accuracy on the samples can not.
TEST_F(TrainedRecording, FaultsByOneFrameFail) {
  const GoldenCase golden(recording_);
  const Model model = Load(Precision::kFloat32);
  SessionOptions window = golden.StreamOptions();
  window.sliding_window -= 1;
  EXPECT_FALSE(CheckGolden(golden, model, window).pass);
  SessionOptions scale = golden.StreamOptions();
  scale.scale_frames -= 1;
  EXPECT_FALSE(CheckGolden(golden, model, scale).pass);
  SessionOptions passes = golden.StreamOptions();
  passes.camera_iterations = model.info().camera_iterations - 1;
  EXPECT_FALSE(CheckGolden(golden, model, passes).pass);
}

}  // namespace
}  // namespace lingbot
