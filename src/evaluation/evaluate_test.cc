// Depth, surfaces, whole evaluations, their report and picture.

#include "evaluation/evaluate.h"

#include <fmt/format.h>

#include <cstring>

#include "evaluation/chart.h"
#include "evaluation/plot.h"
#include "evaluation/report.h"
#include "evaluation/test_support.h"

namespace lingbot {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

std::string NpyOf(const DepthMap& map) {
  std::string header = fmt::format(
      "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", map.height, map.width);
  header.resize(118, ' ');
  header[117] = '\n';
  std::string data(map.values.size() * sizeof(float), '\0');
  std::memcpy(data.data(), map.values.data(), data.size());
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + data;
}

DepthMap MapOf(int width, int height, float (*depth_at)(double x, double y)) {
  DepthMap map = {height, width, {}};
  for (int v = 0; v < height; ++v) {
    for (int u = 0; u < width; ++u) {
      map.values.push_back(depth_at((u + 0.5) / width, (v + 0.5) / height));
    }
  }
  return map;
}

float Slope(double x, double y) { return static_cast<float>(2 + x + 0.5 * y); }

RunFrame FrameOf(int width, int height, double scale) {
  RunFrame frame;
  frame.original_width = width;
  frame.original_height = height;
  frame.scale_x = frame.scale_y = scale;
  return frame;
}

TEST(SampleAtTruthTest, MeetsTheSamePlaceInOtherResolutions) {
  const DepthMap run = MapOf(24, 18, Slope);
  for (const int size : {1, 2, 3}) {  // of the truth, against the original of 48 x 36
    const DepthMap truth = MapOf(16 * size, 12 * size, Slope);
    const std::vector<float> sampled = SampleAtTruth(run, FrameOf(48, 36, 0.5), truth, "t");
    for (int v = 1; v + 1 < truth.height; ++v) {
      for (int u = 1; u + 1 < truth.width; ++u) {
        const size_t i = static_cast<size_t>(v) * truth.width + u;
        EXPECT_NEAR(sampled[i], truth.values[i], 1e-5) << size << " " << u << " " << v;
      }
    }
  }
}

TEST(SampleAtTruthTest, FollowsTheCropAndLeavesTheRestUnknown) {
  DepthMap run = {4, 4, std::vector<float>(16, 1.0f)};
  run.values[5] = 9.0f;  // (1, 1)
  RunFrame frame = FrameOf(4, 8, 1.0);
  frame.offset_y = -2;  // rows 2 to 5 were kept
  const DepthMap truth = {8, 4, std::vector<float>(32, 1.0f)};
  const std::vector<float> sampled = SampleAtTruth(run, frame, truth, "t");
  EXPECT_TRUE(std::isnan(sampled[4]));  // row 1
  EXPECT_EQ(sampled[3 * 4 + 1], 9.0f);  // row 3 is row 1 of the run
  EXPECT_EQ(sampled[5 * 4], 1.0f);
  EXPECT_TRUE(std::isnan(sampled[6 * 4]));  // row 6
  ExpectEvaluationError(ErrorCode::kShapeMismatch, "other proportions",
                        [&] { SampleAtTruth(run, FrameOf(8, 4, 1), truth, "t"); });
}

// Between two surfaces there is no third one.
TEST(SampleAtTruthTest, DoesNotMixSurfaces) {
  const DepthMap run = {1, 2, {1.0f, 3.0f}};
  const DepthMap truth = {2, 4, std::vector<float>(8, 1.0f)};
  for (const float value : SampleAtTruth(run, FrameOf(4, 2, 0.5), truth, "t")) {
    EXPECT_TRUE(value == 1.0f || value == 3.0f) << value;
  }
}

class EvaluateTest : public testing::Test {
 protected:
  // A camera that sees a plane at z = 4 from a path before it; the run has `scale` times smaller
  // units and its own world, and its depth is `depth_factor` times too large.
  void MakeScene(double scale, float depth_factor) {
    const Eigen::Quaterniond world = MakePose({0, 0, 0}, 33, {1, 1, 0}).rotation;
    for (int i = 0; i < 6; ++i) {
      const Eigen::Vector3d center(0.1 * i, 0.02 * i * i, std::sin(0.4 * i));
      TrackPose pose;
      pose.index = i;
      pose.timestamp = i / 30.0;
      pose.pose = MakePose(center);
      truth_.track.poses.push_back(pose);
      const DepthMap map = {6, 8, std::vector<float>(48, static_cast<float>(4 - center.z()))};
      truth_.depths.push_back(folder_.Write(fmt::format("t{}.npy", i), NpyOf(map)));
      pose.pose = {world, world * center / scale};
      run_.track.poses.push_back(pose);
      RunFrame frame = FrameOf(8, 6, 1.0);
      frame.intrinsics = {8, 8, 3.5, 2.5};
      DepthMap own = map;
      for (float& value : own.values) value *= depth_factor / static_cast<float>(scale);
      frame.depth = folder_.Write(fmt::format("r{}.npy", i), NpyOf(own));
      run_.frames.push_back(frame);
    }
    truth_.track.has_timestamps = run_.track.has_timestamps = true;
    truth_.cameras = {{8, 6, {8, 8, 3.5, 2.5}, false}};
    truth_.depth_maps = 6;
    truth_.depth_scale_known = true;
  }

  nlohmann::ordered_json Json(const Evaluation& evaluation) const {
    return EvaluationJson(evaluation, {}, {"run", "truth", "TUM"});
  }

  EvaluationFolder folder_;
  RunTrack run_;
  GroundTruth truth_;
};

TEST_F(EvaluateTest, PerfectRun) {
  MakeScene(5, 1);
  const Evaluation e = Evaluate(run_, truth_, {});
  ASSERT_TRUE(e.sim3.alignment.similarity);
  EXPECT_NEAR(e.sim3.alignment.similarity->scale, 5, 1e-9);
  EXPECT_NEAR(e.sim3.position.max, 0, 1e-12);
  EXPECT_GT(e.se3.position.max, 0.1);
  EXPECT_NEAR(e.rotation.max, 0, 1e-5);
  EXPECT_NEAR(e.depth.run.scale, 5, 1e-5);
  EXPECT_NEAR(e.depth.run.abs_rel, 0, 1e-6);
  EXPECT_EQ(e.depth.run.delta[0], 1);
  EXPECT_EQ(e.depth.run.pixels, 6 * 48);
  EXPECT_GT(e.depth.constant.abs_rel, 0.05);
  EXPECT_NEAR(e.surface.median, 0, 1e-6);
  EXPECT_DOUBLE_EQ(e.accuracy.auc[0], 1);
  EXPECT_TRUE(e.warnings.empty());
}

// The median scale forgives a factor of all depths, the points on the true surface do not.
TEST_F(EvaluateTest, DepthThatDoesNotFitThePoses) {
  MakeScene(5, 1.3f);
  const Evaluation e = Evaluate(run_, truth_, {});
  EXPECT_NEAR(e.depth.run.abs_rel, 0, 1e-6);
  EXPECT_NEAR(e.surface.median, 0.3, 1e-5);
  EvaluationOptions none;
  none.depth_scaling = DepthScaling::kNone;
  const Evaluation raw = Evaluate(run_, truth_, none);
  EXPECT_NEAR(raw.depth.run.abs_rel, 1 - 1.3 / 5, 1e-6);
  EXPECT_EQ(raw.depth.run.delta[2], 0);
}

// What makes the figures differ from what was meant is said, not silently done.
TEST_F(EvaluateTest, SaysWhatWasMadeOfTheFiles) {
  MakeScene(1, 1);
  EXPECT_THAT(Evaluate(run_, truth_, {}).warnings, testing::IsEmpty());
  fs::remove(run_.frames[2].depth);
  truth_.cameras[0].width *= 2;
  truth_.cameras[0].height *= 2;
  run_.cut_records = 1;
  truth_.spare_depth_maps = 4;
  truth_.spare_depth_map = "a.png, but a.npy counts";
  const Evaluation e = Evaluate(run_, truth_, {});
  EXPECT_EQ(e.depth.run.frames, 5);
  EXPECT_THAT(e.warnings,
              testing::IsSupersetOf({HasSubstr("1 of the run's depth files are gone"),
                                     HasSubstr("the true camera has"), HasSubstr("cut off"),
                                     HasSubstr("a.png, but a.npy counts")}));
}

TEST_F(EvaluateTest, SaysThatTimesRepeatOrAreInvented) {
  MakeScene(1, 1);
  run_.track.invented_times = true;
  EXPECT_THAT(Evaluate(run_, truth_, {}).warnings,
              testing::Contains(HasSubstr("matched by index, not by time")));
  run_.track.invented_times = false;
  truth_.track.poses[1].timestamp = truth_.track.poses[0].timestamp;
  EXPECT_THAT(Evaluate(run_, truth_, {}).warnings,
              testing::Contains(HasSubstr("1 poses of the ground truth have the time")));
}

TEST_F(EvaluateTest, OneScaleAFrame) {
  MakeScene(1, 1);
  const DepthMap doubled = {6, 8, std::vector<float>(48, 8.0f)};  // the first frame only
  folder_.Write("r0.npy", NpyOf(doubled));
  const Evaluation sequence = Evaluate(run_, truth_, {});
  EXPECT_NEAR(sequence.depth.run.abs_rel, 1.0 / 6, 1e-6);
  EXPECT_NEAR(sequence.depth.run.delta[0], 5.0 / 6, 1e-6);
  EvaluationOptions frame;
  frame.depth_scaling = DepthScaling::kFrame;
  EXPECT_NEAR(Evaluate(run_, truth_, frame).depth.run.abs_rel, 0, 1e-6);
}

// A point that the true camera cannot see is infinitely wrong.
TEST_F(EvaluateTest, PointsOutsideOfThePicture) {
  MakeScene(1, 1);
  for (size_t i = 0; i < 2; ++i) {  // of six: the others say how the worlds lie
    RigidPose& pose = run_.track.poses[i].pose;
    pose.rotation = pose.rotation * MakePose({0, 0, 0}, 180).rotation;
  }
  const Evaluation e = Evaluate(run_, truth_, {});
  EXPECT_EQ(e.surface.points, 6 * 48);
  EXPECT_EQ(e.surface.outside, 2 * 48);
  EXPECT_NEAR(e.surface.median, 0, 1e-6);
  EXPECT_TRUE(Json(e)["surface"]["percentile_90"].is_null());
}

TEST_F(EvaluateTest, DegenerateRunsAreStatedWithoutNaN) {
  MakeScene(1, 1);
  for (TrackPose& pose : run_.track.poses) pose.pose.center = {1, 2, 3};
  const Evaluation still = Evaluate(run_, truth_, {});
  EXPECT_THAT(Json(still)["ate"]["sim3"]["problem"], HasSubstr("does not move"));
  EXPECT_THAT(still.surface.problem, HasSubstr("does not move"));
  for (const size_t kept : {2, 1}) {
    run_.track.poses.resize(kept);
    const Evaluation few = Evaluate(run_, truth_, {});
    const std::string text = EvaluationText(few, {}, {"run", "truth", "TUM"});
    EXPECT_THAT(text, HasSubstr("not determined: alignment needs at least 3"));
    EXPECT_THAT(text, Not(HasSubstr("nan")));
    EXPECT_THAT(Json(few).dump(), Not(HasSubstr("nan")));
    EXPECT_TRUE(Json(few)["rotation_aligned_deg"].is_null());
    const std::string svg = EvaluationPlot(few, "few");
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, HasSubstr("run not drawn: alignment needs"));
  }
}

TEST_F(EvaluateTest, WarnsWhereLittleMatches) {
  MakeScene(1, 1);
  for (TrackPose& pose : run_.track.poses) pose.timestamp *= 30;  // one a second
  const Evaluation e = Evaluate(run_, truth_, {});
  EXPECT_EQ(e.association.matches.size(), 1u);
  ASSERT_EQ(e.warnings.size(), 1u);
  EXPECT_THAT(e.warnings[0], HasSubstr("--associate index"));
  for (TrackPose& pose : run_.track.poses) pose.timestamp += 0.5;
  ExpectEvaluationError(ErrorCode::kNoInput, "no pose of the run matches",
                        [&] { Evaluate(run_, truth_, {}); });
}

TEST_F(EvaluateTest, UnknownUnitsAndMissingDepthAreSaid) {
  MakeScene(1, 1);
  truth_.depth_maps = 0;
  for (fs::path& path : truth_.depths) path.clear();
  EXPECT_THAT(Evaluate(run_, truth_, {}).depth.problem, HasSubstr("no depth maps"));
  run_.frames.clear();
  truth_.depth_maps = 1;
  EXPECT_THAT(Evaluate(run_, truth_, {}).depth.problem, HasSubstr("depth on both sides"));
}

// Balanced tags and no number that is none.
TEST_F(EvaluateTest, PictureIsWellFormed) {
  MakeScene(2, 1);
  const std::string svg = EvaluationPlot(Evaluate(run_, truth_, {}), "a <b> & \"c\"\x01");
  EXPECT_THAT(svg, HasSubstr("a &lt;b&gt; &amp; &quot;c&quot;<"));
  for (const char* part : {"from above", "from the front", "from the side", "position error",
                           "rotation error", "truth</text>", "run after Sim3", "</svg>"}) {
    EXPECT_THAT(svg, HasSubstr(part));
  }
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(ChartTest, LeavesOutWhatIsNoNumber) {
  Chart chart;
  const double nan = std::nan("");
  chart.curves = {{"c", "red", {0, 1, 2, 3, 4}, {0, 1, nan, 5, INFINITY}, false}};
  const std::string svg = DrawChart(chart, 0, 0, 300, 200);
  EXPECT_THAT(svg, HasSubstr("<circle"));  // 3 stands alone
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  chart.curves = {{"c", "red", {nan}, {nan}, false}, {"d", "red", {}, {}, false}};
  EXPECT_THAT(DrawChart(chart, 0, 0, 300, 200), Not(HasSubstr("nan")));
  chart.curves = {{"c", "red", {5e11}, {5e11}, false}};
  EXPECT_THAT(DrawChart(chart, 0, 0, 300, 200), Not(HasSubstr("nan")));
}

TEST(ChartTest, TicksAreRound) {
  EXPECT_THAT(RoundTicks(-0.1, 1.05, 5), testing::ElementsAre(0, 0.5, 1));
  EXPECT_THAT(RoundTicks(12, 98, 5), testing::ElementsAre(20, 40, 60, 80));
  EXPECT_TRUE(RoundTicks(1, 1, 5).empty());
  EXPECT_LE(RoundTicks(1e15, 1e15 + 0.25, 5).size(), 11u);
}

// Names of files are bytes; a picture is XML.
TEST(XmlTextTest, KeepsUtf8AndReplacesWhatIsNone) {
  EXPECT_EQ(XmlText("a<b> \"c\" & d\x01"), "a&lt;b&gt; &quot;c&quot; &amp; d");
  EXPECT_EQ(XmlText("gr\xC3\xB6\xC3\x9F"
                    "er \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "gr\xC3\xB6\xC3\x9F"
            "er \xE2\x82\xAC \xF0\x9F\x98\x80");
  EXPECT_EQ(XmlText("a\xFF.mp4"), "a\xEF\xBF\xBD.mp4");
  EXPECT_EQ(XmlText("\xC3"), "\xEF\xBF\xBD");
  EXPECT_EQ(XmlText("\xC0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD");                  // too long a form
  EXPECT_EQ(XmlText("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // half of a pair
}

}  // namespace
}  // namespace lingbot
