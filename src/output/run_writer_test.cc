#include "output/run_writer.h"

#include <sys/wait.h>

#include <cmath>
#include <limits>

#include "base/system_memory.h"
#include "output/npy.h"
#include "output/ply.h"
#include "output/run_folder.h"
#include "output/test_support.h"

namespace lingbot {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();

// Frames whose depth grows with the index.
class TestStream {
 public:
  TestStream(int height, int width) : height_(height), width_(width) {
    const size_t pixels = static_cast<size_t>(height) * width;
    depth.resize(pixels);
    confidence.resize(pixels);
    rgb.assign(3 * pixels, 100);
    for (size_t i = 0; i < pixels; ++i) confidence[i] = 1.0f + static_cast<float>(i);
  }

  FrameRecord Frame(int64_t index) {
    for (size_t i = 0; i < depth.size(); ++i) {
      depth[i] = 1.0f + 0.1f * static_cast<float>(index) + 0.01f * static_cast<float>(i % 7);
    }
    FrameRecord record;
    record.index = index;
    record.source_name = "bild " + std::to_string(index) + ".jpg";
    record.source_index = 2 * index;
    record.timestamp = 0.1 * static_cast<double>(index);
    record.keyframe = index % 2 == 0;
    record.pose = {static_cast<float>(index), 0, 0, 0, 0, 0, -2, 0.8f, 1.0f};
    record.height = height_;
    record.width = width_;
    record.depth = depth;
    record.confidence = confidence;
    record.rgb = rgb;
    record.mapping = {2 * width_, 2 * height_ + 20, 0.5, 0.5, 0.0, -5.0};
    return record;
  }

  std::vector<float> depth, confidence;
  std::vector<uint8_t> rgb;

 private:
  int height_, width_;
};

RunInfo Info() {
  return {"clips/küche", "", "tiny.safetensors", "fnv:0123", {{"window", 64}}, {{"mode", "crop"}}};
}

Json Manifest(const std::filesystem::path& folder) {
  return Json::parse(ReadText(folder / kManifestName));
}

std::vector<Json> Lines(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<Json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  return lines;
}

TEST(RunWriterTest, WholeRun) {
  const ScratchFolder folder;
  TestStream stream(14, 28);
  RunWriter writer(folder / "out", {}, Info());
  for (int i = 0; i < 3; ++i) writer.AddFrame(stream.Frame(i));
  RunSummary summary;
  summary.timings = {{"total_s", 1.5}};
  const RunReport report = writer.Finish(summary);
  EXPECT_EQ(report.frames, 3);
  EXPECT_EQ(report.keyframes, 2);
  EXPECT_EQ(report.points, 3 * 14 * 28 / 2);
  EXPECT_EQ(report.cloud_problem, "");
  EXPECT_TRUE(report.warnings.empty());
  EXPECT_EQ(ReadPly(folder / "out/points.ply").size(), static_cast<size_t>(report.points));
  EXPECT_EQ(ReadTumTrajectory(folder / "out/trajectory_tum.txt").size(), 3u);
  EXPECT_EQ(ReadNpy(folder / "out/depth/000002.npy").values, stream.depth);
  EXPECT_EQ(ReadNpy(folder / "out/confidence/000002.npy").values, stream.confidence);
  EXPECT_EQ(CountFiles(folder / "out/depth"), 6);
  EXPECT_EQ(CountFiles(folder / "out/images"), 3);
  EXPECT_EQ(CountFiles(folder / "out"), 7);
}

TEST(RunWriterTest, ManifestTellsHowToReadAndRepeatTheRun) {
  const ScratchFolder folder;
  TestStream stream(14, 28);
  RunWriter writer(folder / "out", {}, Info());
  EXPECT_EQ(Manifest(folder / "out")["status"], "running");
  writer.AddFrame(stream.Frame(0));
  RunSummary summary;
  summary.windows = Json::array({{{"scale", 1.0}}});
  writer.Finish(summary);
  const Json manifest = Manifest(folder / "out");
  EXPECT_EQ(manifest["status"], "complete");
  EXPECT_EQ(manifest["model"]["weights_hash"], "fnv:0123");
  EXPECT_EQ(manifest["library"]["version"], LINGBOT_VERSION);
  EXPECT_EQ(manifest["options"]["window"], 64);
  EXPECT_EQ(manifest["preprocessing"]["mode"], "crop");
  EXPECT_EQ(manifest["input"], "clips/küche");
  EXPECT_EQ(manifest["windows"][0]["scale"], 1.0);
  EXPECT_FALSE(manifest.contains("timings"));
  EXPECT_THAT(manifest["conventions"]["pose"].get<std::string>(), HasSubstr("world_from_camera"));
  EXPECT_THAT(manifest["conventions"]["scale"].get<std::string>(), HasSubstr("relative"));
  EXPECT_NEAR(manifest["depth_png"]["unit"].get<double>(), 1.06 * 8 / 65535, 1e-9);
  EXPECT_EQ(manifest["cloud"]["points"], 14 * 28 / 2);
}

TEST(RunWriterTest, RecordsHoldBothIntrinsics) {
  const ScratchFolder folder;
  TestStream stream(14, 28);
  RunWriter writer(folder / "out", {}, Info());
  FrameRecord record = stream.Frame(0);
  writer.AddFrame(record);
  record = stream.Frame(1);
  record.mapping.original_width = 0;
  writer.AddFrame(record);
  const auto lines = Lines(folder / "out/frames.jsonl");
  ASSERT_EQ(lines.size(), 2u);
  const Json& first = lines[0];
  EXPECT_EQ(first["source"], "bild 0.jpg");
  EXPECT_EQ(first["keyframe"], true);
  EXPECT_EQ(first["quaternion"], Json({0.0, 0.0, 0.0, 1.0}));
  EXPECT_EQ(first["intrinsics_resized"]["cx"], 14.0);
  EXPECT_NEAR(first["intrinsics_resized"]["fx"].get<double>(), 14 / std::tan(0.5), 1e-5);
  EXPECT_NEAR(first["intrinsics_original"]["fx"].get<double>(), 28 / std::tan(0.5), 1e-5);
  // Pixel 14 of 28 begins in the middle: its centre lies over 29 of 56 columns from the left edge,
  // which is the centre of column 28.5.
  EXPECT_EQ(first["intrinsics_original"]["cx"], 28.5);
  EXPECT_EQ(first["intrinsics_original"]["cy"],
            24.5);  // 5 of 24 resized rows were cropped each side
  EXPECT_EQ(first["intrinsics_original"]["height"], 48);
  EXPECT_TRUE(lines[1]["intrinsics_original"].is_null());
  EXPECT_EQ(lines[1]["source_index"], 2);
}

TEST(RunWriterTest, UnfinishedRunIsUsable) {
  const ScratchFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    TestStream stream(14, 28);
    RunWriter writer(folder / "out", {}, Info());
    for (int i = 0; i < 4; ++i) writer.AddFrame(stream.Frame(i));
    ::_exit(0);  // as if killed: no destructor, no Finish
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(Manifest(folder / "out")["status"], "running");
  EXPECT_GT(Manifest(folder / "out")["depth_png"]["unit"], 0.0);
  EXPECT_EQ(Lines(folder / "out/frames.jsonl").size(), 4u);
  EXPECT_EQ(ReadTumTrajectory(folder / "out/trajectory_tum.txt").size(), 4u);
  CheckRunFiles(folder / "out", 4);
  EXPECT_EQ(ReadNpy(folder / "out/depth/000003.npy").height, 14);
}

TEST(RunWriterTest, ShorterSecondRunLeavesNoFramesOfTheFirst) {
  const ScratchFolder folder;
  TestStream stream(14, 28);
  for (const int frames : {5, 2}) {
    RunWriter writer(folder / "out", {}, Info());
    for (int i = 0; i < frames; ++i) writer.AddFrame(stream.Frame(i));
    writer.Finish({});
  }
  EXPECT_EQ(CountFiles(folder / "out/confidence"), 2);
  EXPECT_EQ(Lines(folder / "out/frames.jsonl").size(), 2u);
}

TEST(RunWriterTest, OnlyWhatWasAskedFor) {
  const ScratchFolder folder;
  TestStream stream(14, 28);
  OutputOptions options;
  options.frames = {false, false, false, false, 0.0};
  options.trajectory = false;
  options.ply = false;
  RunWriter writer(folder / "out", options, Info());
  FrameRecord record = stream.Frame(0);
  record.rgb = {};
  writer.AddFrame(record);
  const RunReport report = writer.Finish({});
  EXPECT_EQ(report.points, 0);
  EXPECT_EQ(report.cloud_problem, "");
  EXPECT_EQ(CountFiles(folder / "out"), 2);  // manifest and records
}

TEST(RunWriterTest, EmptyCloudIsToldAndNoPlyWritten) {
  const ScratchFolder folder;
  TestStream stream(14, 28);
  OutputOptions options;
  options.cloud.filter.min_confidence = 1e6f;
  RunWriter writer(folder / "out", options, Info());
  writer.AddFrame(stream.Frame(0));
  const RunReport report = writer.Finish({});
  EXPECT_THAT(report.cloud_problem, HasSubstr("max 392"));
  EXPECT_FALSE(std::filesystem::exists(folder / "out/points.ply"));
  EXPECT_EQ(Manifest(folder / "out")["cloud"]["problem"], report.cloud_problem);
}

TEST(RunWriterTest, BrokenFramesAreReported) {
  const ScratchFolder folder;
  TestStream stream(14, 28);
  RunWriter writer(folder / "out", {}, Info());
  writer.AddFrame(stream.Frame(0));
  FrameRecord record = stream.Frame(1);
  record.pose[4] = kNoNumber;
  writer.AddFrame(record);
  record = stream.Frame(2);
  record.pose[8] = 0.0f;
  stream.depth[0] = 1e6f;
  stream.depth[1] = kNoNumber;
  writer.AddFrame(record);
  record = stream.Frame(3);
  record.pose[7] = 4.0f;
  writer.AddFrame(record);
  const RunReport report = writer.Finish({});
  ASSERT_EQ(report.warnings.size(), 4u);
  EXPECT_THAT(report.warnings[0], HasSubstr("1 of 4 frames have a pose that is not finite"));
  EXPECT_THAT(report.warnings[1], HasSubstr("depth images of 1 of 4 frames are clipped"));
  EXPECT_THAT(report.warnings[2], HasSubstr("2 of 4 frames gave no points"));
  EXPECT_THAT(report.warnings[3], HasSubstr("1 of 4 frames have a field of view outside"));
  const auto lines = Lines(folder / "out/frames.jsonl");
  EXPECT_TRUE(lines[1]["quaternion"][0].is_null());
  EXPECT_TRUE(lines[2]["intrinsics_resized"]["fx"].is_null());
  EXPECT_EQ(lines[2]["depth_png_saturated"], 1);
  EXPECT_EQ(lines[2]["depth_png_invalid"], 1);
}

TEST(RunWriterTest, DepthUnitWaitsForAValidDepth) {
  const ScratchFolder folder;
  TestStream stream(14, 28);
  RunWriter writer(folder / "out", {}, Info());
  FrameRecord record = stream.Frame(0);
  std::fill(stream.depth.begin(), stream.depth.end(), kNoNumber);
  writer.AddFrame(record);
  EXPECT_TRUE(Manifest(folder / "out")["depth_png"]["unit"].is_null());
  writer.AddFrame(stream.Frame(1));
  EXPECT_GT(Manifest(folder / "out")["depth_png"]["unit"], 0.0);
}

TEST(RunWriterTest, NamesThatAreNotUtf8) {
  const ScratchFolder folder;
  TestStream stream(14, 28);
  RunInfo info = Info();
  info.input = "caf\xe9";
  RunWriter writer(folder / "out", {}, info);
  FrameRecord record = stream.Frame(0);
  record.source_name = "caf\xe9.jpg";
  writer.AddFrame(record);
  writer.Finish({});
  EXPECT_EQ(Lines(folder / "out/frames.jsonl")[0]["source"], "caf\xEF\xBF\xBD.jpg");
}

TEST(RunWriterTest, FullDiskKeepsWhatWasWritten) {
  const ScratchFolder folder;
  TestStream stream(28, 28);
  RunWriter writer(folder / "out", {}, Info());
  writer.AddFrame(stream.Frame(0));
  {
    const FileSizeLimit limit(500);
    ExpectError(ErrorCode::kFileUnwritable, "depth/000001.npy: File too large",
                [&] { writer.AddFrame(stream.Frame(1)); });
    ExpectError(ErrorCode::kFileUnwritable, "points.ply", [&] { writer.Finish({}); });
    writer.RecordFailure("no room");  // the manifest does not fit either: quiet
  }
  CheckRunFiles(folder / "out", 1);
  EXPECT_EQ(ReadTumTrajectory(folder / "out/trajectory_tum.txt").size(), 1u);
  EXPECT_EQ(CountFiles(folder / "out/depth"), 2);
  EXPECT_EQ(Manifest(folder / "out")["status"], "running");
  writer.RecordFailure("no room");
  EXPECT_EQ(Manifest(folder / "out")["status"], "failed");
  EXPECT_EQ(Manifest(folder / "out")["error"], "no room");
  EXPECT_EQ(Manifest(folder / "out")["frames"], 1);
}

TEST(RunWriterTest, FilesLostBeforeTheEndAreNoticed) {
  const ScratchFolder folder;
  TestStream stream(14, 28);
  RunWriter writer(folder / "out", {}, Info());
  writer.AddFrame(stream.Frame(0));
  std::filesystem::remove(folder / "out/depth/000000.png");
  ExpectError(ErrorCode::kFileUnwritable, "000000.png", [&] { writer.Finish({}); });
  EXPECT_EQ(Manifest(folder / "out")["status"], "running");
}

TEST(RunWriterTest, RefusesRecordsThatContradictThemselves) {
  const ScratchFolder folder;
  TestStream stream(14, 28);
  RunWriter writer(folder / "out", {}, Info());
  writer.AddFrame(stream.Frame(1));
  const auto refused = [&](ErrorCode code, const std::string& text, auto change) {
    FrameRecord record = stream.Frame(2);
    change(&record);
    ExpectError(code, text, [&] { writer.AddFrame(record); });
  };
  using Record = FrameRecord;
  refused(ErrorCode::kInvalidArgument, "must grow", [](Record* r) { r->index = 1; });
  refused(ErrorCode::kInvalidArgument, "timestamp", [](Record* r) { r->timestamp = std::nan(""); });
  refused(ErrorCode::kShapeMismatch, "0 colour", [](Record* r) { r->rgb = {}; });
  refused(ErrorCode::kShapeMismatch, "391 depths",
          [](Record* r) { r->depth = r->depth.subspan(1); });
  refused(ErrorCode::kShapeMismatch, "bild 2", [](Record* r) { r->height = -14, r->width = -28; });
  EXPECT_EQ(writer.Finish({}).frames, 1);
  ExpectError(ErrorCode::kInvalidArgument, "after the run was finished",
              [&] { writer.AddFrame(stream.Frame(2)); });
  EXPECT_THROW(writer.Finish({}), Error);
}

TEST(RunWriterTest, BadOptionsLeaveTheFolderAlone) {
  const ScratchFolder folder;
  OutputOptions options;
  options.cloud.point_budget = 0;
  EXPECT_THROW(RunWriter(folder / "out", options, Info()), Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

TEST(RunWriterTest, NoFrames) {
  const ScratchFolder folder;
  RunWriter writer(folder / "out", {}, Info());
  const RunReport report = writer.Finish({});
  EXPECT_EQ(report.frames, 0);
  EXPECT_THAT(report.cloud_problem, HasSubstr("no frame"));
}

TEST(RunWriterTest, MemoryDoesNotGrowWithTheStream) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer keeps freed memory back";
#endif
  const ScratchFolder folder;
  TestStream stream(14, 28);
  OutputOptions options;
  options.cloud.point_budget = 100'000;
  RunWriter writer(folder / "out", options, Info());
  for (int i = 0; i < 100; ++i) writer.AddFrame(stream.Frame(i));
  const uint64_t before = ResidentMemory();
  for (int i = 100; i < 1500; ++i) writer.AddFrame(stream.Frame(i));
  EXPECT_LT(ResidentMemory(), before + (1u << 20));
  EXPECT_EQ(writer.Finish({}).points, 100'000);
}

}  // namespace
}  // namespace lingbot
