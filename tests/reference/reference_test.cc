// The engine against a second, independent implementation of the network: needs no files.

#include <gtest/gtest.h>

#include <cmath>

#include "engine/test_stream.h"
#include "naive_network.h"

namespace lingbot {
namespace {

using namespace lingbot::testing;  // NOLINT: the helpers of these tests

struct StreamCase {
  int keyframe_interval;
  float fc2_bias_offset;
  int height, width;
};

class AgainstNaiveNetwork : public ::testing::TestWithParam<StreamCase> {};

TEST_P(AgainstNaiveNetwork, PosesDepthAndConfidenceAgree) {
  const StreamCase& run = GetParam();
  const HashedWeights weights = SmallWeights(run.fc2_bias_offset);
  reference::NaiveSettings settings;
  settings.keyframe_interval = run.keyframe_interval;
  const Frames frames = MakeFrames(14, run.height, run.width);
  const std::vector<reference::NaiveResult> expected =
      reference::NaiveNetwork(weights, settings).Run(frames, run.height, run.width);

  ModelOptions model_options;
  model_options.precision = Precision::kFloat32;
  SessionOptions options = SmallOptions();
  options.keyframe_interval = run.keyframe_interval;
  Session session(MakeModel(weights, model_options), run.height, run.width, options);
  const Results results = RunStream(session, frames);

  ASSERT_EQ(results.size(), expected.size());
  for (size_t i = 0; i < results.size(); ++i) {
    for (int k = 0; k < 9; ++k) {
      EXPECT_NEAR(results[i].pose[k], expected[i].pose[k], 3e-5) << "frame " << i << ", " << k;
    }
    const auto distance = [](const std::vector<float>& out, const std::vector<double>& reference) {
      double difference = 0.0, norm = 0.0;
      for (size_t p = 0; p < reference.size(); ++p) {
        difference += (out[p] - reference[p]) * (out[p] - reference[p]);
        norm += reference[p] * reference[p];
      }
      return std::sqrt(difference / norm);
    };
    EXPECT_LE(distance(results[i].depth, expected[i].depth), 1e-5) << "frame " << i;
    EXPECT_LE(distance(results[i].confidence, expected[i].confidence), 1e-5) << "frame " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Streams, AgainstNaiveNetwork,
                         ::testing::Values(StreamCase{1, 1.0f, kHeight, kWidth},
                                           StreamCase{2, 1.0f, kHeight, kWidth},
                                           StreamCase{1, -0.4f, kHeight, kWidth},
                                           StreamCase{3, 1.0f, 56, 14}));

}  // namespace
}  // namespace lingbot
