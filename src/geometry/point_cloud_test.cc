#include "geometry/point_cloud.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/system_memory.h"
#include "geometry/unproject.h"
#include "lingbot/error.h"

namespace lingbot {
namespace {

using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// A frame with depth 2, confidences 1, 1.01, 1.02, ... and colour = pixel index.
struct TestFrame {
  TestFrame(int h, int w) : height(h), width(w) {
    for (int i = 0; i < h * w; ++i) {
      depth.push_back(2.0f);
      confidence.push_back(1.0f + 0.01f * static_cast<float>(i));
      rgb.insert(rgb.end(), {static_cast<uint8_t>(i), static_cast<uint8_t>(i >> 8), 7});
    }
  }

  PointCloudFrame View() const {
    return {height, width, depth, confidence, rgb, pose, IntrinsicsOf(pose, height, width)};
  }

  int height, width;
  PoseEncoding pose = {1, 2, 3, 0.1f, 0.2f, 0.3f, 0.9f, 0.8f, 1.0f};
  std::vector<float> depth, confidence;
  std::vector<uint8_t> rgb;
};

PointCloudOptions KeepAll() {
  PointCloudOptions options;
  options.filter.confidence_quantile = 0.0;
  return options;
}

PointCloud BuildOne(const PointCloudOptions& options, const TestFrame& frame) {
  PointCloudBuilder builder(options);
  builder.Add(frame.View());
  return builder.Build();
}

TEST(PointCloudTest, PointsAreUnprojectedPixelsWithTheirColours) {
  const TestFrame frame(3, 4);
  const PointCloud cloud = BuildOne(KeepAll(), frame);
  ASSERT_EQ(cloud.points.size(), 12u);
  EXPECT_EQ(cloud.problem, "");
  const Unprojector unproject(RigidPoseOf(frame.pose), frame.View().intrinsics);
  for (int i = 0; i < 12; ++i) {
    const Eigen::Vector3d expected = unproject(i % 4, i / 4, 2.0);
    const ColoredPoint& point = cloud.points[i];
    EXPECT_NEAR(point.x, expected.x(), 1e-6);
    EXPECT_NEAR(point.y, expected.y(), 1e-6);
    EXPECT_NEAR(point.z, expected.z(), 1e-6);
    EXPECT_EQ(point.red, i);
    EXPECT_EQ(point.blue, 7);
  }
}

// Depths 1, 2, 3, ... along one row, seen straight on as nearly as a frame allows.
TestFrame Row(int width) {
  TestFrame frame(1, width);
  for (int i = 0; i < width; ++i) frame.depth[i] = static_cast<float>(i + 1);
  frame.pose = {0, 0, 0, 0, 0, 0, 1, 0.01f, 0.01f};
  return frame;
}

TEST(PointCloudTest, DistanceQuantileDropsTheFarthest) {
  PointCloudOptions options = KeepAll();
  for (const auto& [quantile, left] : std::vector<std::pair<double, size_t>>{
           {0.0, 10}, {0.1, 9}, {0.3, 7}, {0.35, 7}, {0.99, 1}}) {
    options.filter.distance_quantile = quantile;
    const PointCloud cloud = BuildOne(options, Row(10));
    EXPECT_EQ(cloud.points.size(), left) << quantile;
    for (const ColoredPoint& point : cloud.points) {
      EXPECT_LE(point.z, static_cast<float>(left) + 0.01f);
    }
    if (quantile > 0) {
      EXPECT_NEAR(cloud.report.farthest, static_cast<double>(left), 0.01);
    }
  }
}

TEST(PointCloudTest, DistanceIsThatOfTheCameraThatSawThePoint) {
  PointCloudOptions options = KeepAll();
  options.filter.distance_quantile = 0.5;
  PointCloudBuilder builder(options);
  TestFrame far_away = Row(4);
  far_away.pose[2] = 1000;
  builder.Add(far_away.View());
  builder.Add(Row(4).View());
  const PointCloud cloud = builder.Build();
  ASSERT_EQ(cloud.points.size(), 4u);  // depths 1 and 2 of either
  EXPECT_GT(cloud.points[1].z, 1000);
  EXPECT_LT(cloud.points[2].z, 3);
}

TEST(PointCloudTest, DistanceQuantileCountsWhatConfidenceLeft) {
  PointCloudOptions options;
  options.filter.confidence_quantile = 0.5;  // the later, farther half
  options.filter.distance_quantile = 0.2;
  const PointCloud cloud = BuildOne(options, Row(10));
  ASSERT_EQ(cloud.points.size(), 4u);
  EXPECT_NEAR(cloud.points.front().z, 6, 0.01);
  EXPECT_NEAR(cloud.points.back().z, 9, 0.01);
}

TEST(PointCloudTest, MaskedPixelsGiveNoPoints) {
  const TestFrame frame(2, 3);
  const std::vector<uint8_t> mask = {0, 1, 0, 0, 0, 255};
  PointCloudBuilder builder(KeepAll());
  PointCloudFrame view = frame.View();
  view.mask = mask;
  builder.Add(view);
  PointCloud cloud = builder.Build();
  ASSERT_EQ(cloud.points.size(), 2u);
  EXPECT_EQ(cloud.points[0].red, 1);
  EXPECT_EQ(cloud.points[1].red, 5);
  EXPECT_EQ(cloud.report.dropped_mask, 4);
  view.mask = std::span(mask).first(5);
  EXPECT_THROW(builder.Add(view), Error);
}

TEST(PointCloudTest, NothingButMaskedPixelsIsExplained) {
  const TestFrame frame(2, 3);
  const std::vector<uint8_t> mask(6, 0);
  PointCloudBuilder builder(KeepAll());
  PointCloudFrame view = frame.View();
  view.mask = mask;
  builder.Add(view);
  EXPECT_THAT(builder.Build().problem, HasSubstr("6 are masked"));
}

TEST(PointCloudTest, OriginsNameFrameAndPixel) {
  PointCloudOptions options = KeepAll();
  options.keep_origins = true;
  options.point_budget = 20;  // of 180: slots of the reservoir are used again
  options.filter.distance_quantile = 0.1;
  options.voxel_size = 1e-4;
  PointCloudBuilder builder(options);
  std::vector<TestFrame> frames;
  for (int i = 0; i < 3; ++i) {
    TestFrame frame(6, 10);
    for (size_t pixel = 0; pixel < 60; ++pixel) {
      frame.depth[pixel] = 1.0f + 0.01f * static_cast<float>(pixel) + static_cast<float>(i);
      frame.rgb[3 * pixel + 2] = static_cast<uint8_t>(i);
    }
    builder.Add(frame.View());
    frames.push_back(frame);
  }
  const PointCloud cloud = builder.Build();
  ASSERT_EQ(cloud.origins.size(), cloud.points.size());
  ASSERT_GT(cloud.points.size(), 10u);
  for (size_t i = 0; i < cloud.points.size(); ++i) {
    const PointOrigin& origin = cloud.origins[i];
    EXPECT_EQ(cloud.points[i].blue, origin.frame);
    EXPECT_EQ(cloud.points[i].red, origin.pixel);
    const TestFrame& frame = frames[origin.frame];
    const Unprojector unproject(RigidPoseOf(frame.pose), frame.View().intrinsics);
    const auto expected =
        unproject(origin.pixel % 10, origin.pixel / 10, frame.depth[origin.pixel]);
    EXPECT_NEAR(cloud.points[i].x, expected.x(), 1e-5);
    EXPECT_NEAR(cloud.points[i].z, expected.z(), 1e-5);
  }
  EXPECT_GT(builder.candidate_bytes(), PointCloudBuilder(KeepAll()).candidate_bytes());
}

TEST(PointCloudTest, UnusablePixelsGiveNoPoints) {
  TestFrame frame(2, 5);
  frame.depth = {kNan, kInf, -kInf, 0.0f, -1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f};
  frame.confidence[8] = kNan;
  frame.confidence[9] = kInf;
  const PointCloud cloud = BuildOne(KeepAll(), frame);
  EXPECT_EQ(cloud.points.size(), 3u);
  EXPECT_EQ(cloud.report.dropped_depth, 5);
  EXPECT_EQ(cloud.report.dropped_confidence, 2);
  EXPECT_EQ(cloud.report.pixels, 10);
  EXPECT_EQ(cloud.report.points, 3);
}

TEST(PointCloudTest, PointsBeyondFloatAreDropped) {
  TestFrame frame(1, 3);
  frame.pose[0] = 3e38f;
  frame.pose[7] = frame.pose[8] = 3.1f;
  frame.depth = {3e38f, 1.0f, 3e38f};
  for (const ColoredPoint& point : BuildOne(KeepAll(), frame).points) {
    EXPECT_TRUE(std::isfinite(point.x) && std::isfinite(point.y) && std::isfinite(point.z));
  }
}

TEST(PointCloudTest, QuantileIsOverTheWholeStream) {
  // Frame b is more confident than frame a everywhere: the upper half is b.
  const TestFrame a(4, 5);
  TestFrame b(4, 5);
  for (float& value : b.confidence) value += 10.0f;
  PointCloudBuilder builder({});
  builder.Add(b.View());
  builder.Add(a.View());
  const PointCloud cloud = builder.Build();
  EXPECT_EQ(cloud.points.size(), 20u);
  EXPECT_GE(cloud.report.threshold, 11.0f);
  EXPECT_FLOAT_EQ(cloud.report.min_confidence, 1.0f);
  EXPECT_FLOAT_EQ(cloud.report.max_confidence, 11.19f);
  EXPECT_FLOAT_EQ(cloud.report.median_confidence, 11.0f);
}

TEST(PointCloudTest, EqualConfidencesKeepEverything) {
  TestFrame frame(4, 5);
  std::fill(frame.confidence.begin(), frame.confidence.end(), 1.0f);
  EXPECT_EQ(BuildOne({}, frame).points.size(), 20u);
}

TEST(PointCloudTest, AbsoluteThresholdReplacesTheQuantile) {
  PointCloudOptions options;
  options.filter.min_confidence = 1.05f;
  const PointCloud cloud = BuildOne(options, TestFrame(2, 5));
  EXPECT_EQ(cloud.points.size(), 5u);
  EXPECT_EQ(cloud.report.dropped_confidence, 5);
}

TEST(PointCloudTest, DepthEdgesAreDroppedOnRequest) {
  TestFrame frame(1, 4);
  frame.depth = {1, 1, 2, 2};
  PointCloudOptions options = KeepAll();
  EXPECT_EQ(BuildOne(options, frame).points.size(), 4u);
  options.filter.depth_edge = 0.05;
  const PointCloud cloud = BuildOne(options, frame);
  EXPECT_EQ(cloud.points.size(), 2u);
  EXPECT_EQ(cloud.report.dropped_edge, 2);
}

TEST(PointCloudTest, EmptyCloudSaysWhy) {
  PointCloudOptions options;
  EXPECT_THAT(PointCloudBuilder(options).Build().problem, HasSubstr("no frame was added"));

  options.filter.min_confidence = 99.0f;
  const std::string high = BuildOne(options, TestFrame(2, 5)).problem;
  EXPECT_THAT(high, HasSubstr("threshold 99"));
  EXPECT_THAT(high, HasSubstr("min 1, median 1.05, max 1.09"));
  EXPECT_THAT(high, HasSubstr("quantile"));

  TestFrame no_depth(2, 5);
  std::fill(no_depth.depth.begin(), no_depth.depth.end(), kNan);
  EXPECT_THAT(BuildOne({}, no_depth).problem, HasSubstr("10 have no finite positive depth"));

  TestFrame no_camera(2, 5);
  no_camera.pose[8] = 0.0f;
  const PointCloud cloud = BuildOne({}, no_camera);
  EXPECT_THAT(cloud.problem, HasSubstr("field of view is 0"));
  EXPECT_EQ(cloud.report.frames_without_camera, 1);
  no_camera.pose = {kNan, 0, 0, 0, 0, 0, 1, 1, 1};
  EXPECT_THAT(BuildOne({}, no_camera).problem, HasSubstr("pose is not finite"));
}

TEST(PointCloudTest, OddFieldsOfViewAreCounted) {
  TestFrame frame(2, 5);
  frame.pose[7] = 4.2f;
  const PointCloud cloud = BuildOne(KeepAll(), frame);
  EXPECT_EQ(cloud.report.frames_with_odd_camera, 1);
  EXPECT_EQ(cloud.points.size(), 10u);
}

TEST(PointCloudTest, VoxelKeepsItsMostConfidentPoint) {
  TestFrame frame(1, 4);
  frame.pose = {0, 0, 0, 0, 0, 0, 1, 0.001f, 0.001f};
  frame.depth = {1.2f, 1.4f, 1.6f, 2.5f};
  frame.confidence = {1.0f, 3.0f, 2.0f, 1.0f};
  PointCloudOptions options = KeepAll();
  options.voxel_size = 1.0;
  std::multiset<int> colours;
  for (const ColoredPoint& point : BuildOne(options, frame).points) colours.insert(point.red);
  // x and y are slightly negative or zero by column, so compare with the voxels themselves.
  EXPECT_EQ(colours.count(1), 1u);
  EXPECT_EQ(colours.count(0), 0u);
  options.voxel_size = 1e-300;  // finer than float32: all different points stay
  EXPECT_EQ(BuildOne(options, frame).points.size(), 4u);
  options.voxel_size = 1e30;
  EXPECT_LE(BuildOne(options, frame).points.size(), 4u);
}

bool Same(const ColoredPoint& a, const ColoredPoint& b) {
  return a.x == b.x && a.y == b.y && a.z == b.z && a.red == b.red && a.green == b.green;
}

PointCloud StreamOf(const PointCloudOptions& options, int frames) {
  PointCloudBuilder builder(options);
  TestFrame frame(20, 30);
  for (int i = 0; i < frames; ++i) {
    frame.pose[0] = static_cast<float>(i);
    builder.Add(frame.View());
  }
  return builder.Build();
}

TEST(PointCloudTest, BudgetIsMetExactlyAndDeterministically) {
  for (const double quantile : {0.0, 0.5, 0.9}) {
    PointCloudOptions options;
    options.point_budget = 1000;
    options.filter.confidence_quantile = quantile;
    const PointCloud first = StreamOf(options, 50);
    const PointCloud second = StreamOf(options, 50);
    EXPECT_LE(first.points.size(), 1000u);
    EXPECT_GE(first.points.size(), quantile > 0.75 ? 390u : 1000u);
    ASSERT_EQ(first.points.size(), second.points.size());
    EXPECT_TRUE(std::equal(first.points.begin(), first.points.end(), second.points.begin(), Same));
    options.seed = 1;
    const PointCloud other = StreamOf(options, 50);
    EXPECT_FALSE(std::equal(first.points.begin(), first.points.end(), other.points.begin(),
                            other.points.end(), Same));
  }
}

TEST(PointCloudTest, SampleCoversTheWholeStreamEvenly) {
  PointCloudOptions options = KeepAll();
  options.point_budget = 4000;
  TestFrame frame(20, 30);
  PointCloudBuilder builder(options);
  for (int i = 0; i < 40; ++i) {
    std::fill(frame.rgb.begin(), frame.rgb.end(), static_cast<uint8_t>(i / 10));
    builder.Add(frame.View());
  }
  int counts[4] = {};
  for (const ColoredPoint& point : builder.Build().points) ++counts[point.red];
  // 1000 expected each, standard deviation 27 (hypergeometric, p = 1/4, 4000 of 24000).
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);
}

TEST(PointCloudTest, BudgetIsSpreadOverTheWholeStream) {
  PointCloudOptions options;
  options.point_budget = 3000;
  TestFrame frame(20, 30);
  std::fill(frame.confidence.begin(), frame.confidence.end(), 1.0f);  // the quantile keeps all
  PointCloudBuilder builder(options);
  for (int i = 0; i < 10; ++i) {
    std::fill(frame.rgb.begin(), frame.rgb.end(), static_cast<uint8_t>(i / 5));
    builder.Add(frame.View());
  }
  int counts[2] = {};
  for (const ColoredPoint& point : builder.Build().points) ++counts[point.red];
  EXPECT_EQ(counts[0] + counts[1], 3000);
  EXPECT_NEAR(counts[0], 1500, 150);
}

TEST(PointCloudTest, QuantileOfASampledStreamIsClose) {
  PointCloudOptions options;
  options.point_budget = 5000;
  // Confidences 1 .. 6.99 uniformly: the median is 4, of 10,000 sampled +- 0.03.
  const PointCloud cloud = StreamOf(options, 100);
  EXPECT_NEAR(cloud.report.threshold, 4.0f, 0.15f);
  EXPECT_EQ(cloud.report.candidates, 60000);
}

TEST(PointCloudTest, MemoryIsBoundedWhateverTheLength) {
  PointCloudOptions options;
  options.point_budget = 20'000;
  PointCloudBuilder builder(options);
  builder.Reserve(builder.capacity());
  EXPECT_EQ(builder.capacity(), 40'000);
  const TestFrame frame(28, 42);
  for (int i = 0; i < 100; ++i) builder.Add(frame.View());
  const uint64_t before = ResidentMemory();
  for (int i = 0; i < 2900; ++i) builder.Add(frame.View());
  EXPECT_LT(ResidentMemory(), before + (1u << 20));
  EXPECT_EQ(builder.Build().points.size(), 20'000u);
}

TEST(PointCloudTest, ReserveNeverExceedsTheCapacity) {
  PointCloudOptions options;
  options.point_budget = 1000;
  PointCloudBuilder builder(options);
  builder.Reserve(std::numeric_limits<int64_t>::max());
  builder.Reserve(-1);
  EXPECT_EQ(builder.Build().report.candidates, 0);
}

TEST(PointCloudTest, RefusesMapsThatDoNotMatch) {
  const TestFrame frame(2, 5);
  PointCloudBuilder builder({});
  PointCloudFrame view = frame.View();
  view.rgb = view.rgb.subspan(1);
  EXPECT_THROW(builder.Add(view), Error);
  view = frame.View();
  view.height = -2;
  EXPECT_THROW(builder.Add(view), Error);
  EXPECT_EQ(builder.Build().report.frames, 0);
}

TEST(PointCloudTest, RefusesOptionsOutOfRange) {
  PointCloudOptions options;
  options.point_budget = 0;
  EXPECT_THROW(PointCloudBuilder{options}, Error);
  options = {};
  options.voxel_size = -1;
  EXPECT_THROW(PointCloudBuilder{options}, Error);
  options.voxel_size = kNan;
  EXPECT_THROW(PointCloudBuilder{options}, Error);
  options.voxel_size = kInf;
  EXPECT_THROW(PointCloudBuilder{options}, Error);
}

}  // namespace
}  // namespace lingbot
