// The recordings of the original network on a GPU: every back end, in bfloat16, and sdpa in
// float32, where semantics are proved.

#include <gtest/gtest.h>

#include <filesystem>

#include "base/option_names.h"
#include "lingbot/error.h"
#include "tensor/device_memory.h"
#include "tools/golden_case.h"

namespace lingbot {
namespace {

class CudaRecording : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string reason;
    if (CudaDevices(&reason).empty()) GTEST_SKIP() << reason;
    for (const char* folder : {LINGBOT_SOURCE_DIR "/../shared/golden/", "data/"}) {
      if (std::filesystem::exists(std::string(folder) + GetParam())) {
        file_ = std::string(folder) + GetParam();
      }
    }
    if (file_.empty()) GTEST_SKIP() << GetParam() << " is not there";
  }

  void Check(Precision precision, AttentionBackend backend) {
    const GoldenCase golden(file_);
    const Model model = golden.MakeModel(precision, 0, {DeviceKind::kCuda, 0});
    SessionOptions options = golden.StreamOptions();
    options.attention = backend;
    options.poison_cache = true;
    GoldenReport report;
    try {
      report = CheckGolden(golden, model, options);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnavailable) throw;
      GTEST_SKIP() << error.what();
    }
    EXPECT_TRUE(report.pass) << NameOf(backend) << ": pose " << report.pose_max_abs << ", depth "
                             << report.depth_rel_l2;
    options.graph = false;
    options.poison_cache = false;
    const GoldenReport eager = CheckGolden(golden, model, options);
    EXPECT_EQ(eager.pose_max_abs, report.pose_max_abs) << NameOf(backend);
    EXPECT_EQ(eager.depth_rel_l2, report.depth_rel_l2) << NameOf(backend);
  }

  std::string file_;
};

TEST_P(CudaRecording, SdpaAgreesInFloat32) { Check(Precision::kFloat32, AttentionBackend::kSdpa); }
TEST_P(CudaRecording, SdpaAgreesInBFloat16) {
  Check(Precision::kBFloat16, AttentionBackend::kSdpa);
}
TEST_P(CudaRecording, Fa2AgreesInBFloat16) {
  Check(Precision::kBFloat16, AttentionBackend::kFlashInfer);
}
TEST_P(CudaRecording, Fa3AgreesInBFloat16) {
  Check(Precision::kBFloat16, AttentionBackend::kFlashInferFa3);
}
TEST_P(CudaRecording, DenseAgreesInBFloat16) {
  Check(Precision::kBFloat16, AttentionBackend::kDense);
}

INSTANTIATE_TEST_SUITE_P(Files, CudaRecording,
                         ::testing::Values("tiny_stream.safetensors", "tiny_keyframe3.safetensors",
                                           "tiny_negative_fov.safetensors",
                                           "tiny_windowed.safetensors", "full_stream.safetensors"),
                         [](const auto& param) {
                           return std::filesystem::path(param.param).stem().string();
                         });

}  // namespace
}  // namespace lingbot
