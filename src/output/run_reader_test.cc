#include "output/run_reader.h"

#include <cmath>
#include <limits>

#include "geometry/pose.h"
#include "output/run_writer.h"
#include "output/test_support.h"

namespace lingbot {
namespace {

constexpr int kReadHeight = 6, kReadWidth = 8, kReadPixels = kReadHeight * kReadWidth;

// A run of `count` frames whose values differ everywhere.
class SmallRun {
 public:
  explicit SmallRun(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void Write(int count, const OutputOptions& options = {}, bool finish = true) {
    RunWriter writer(folder_, options, {"in", "", "model", "hash", {}, {}});
    for (int i = 0; i < count; ++i) writer.AddFrame(Frame(i));
    if (finish) writer.Finish({});
  }

  FrameRecord Frame(int index) {
    depth_.assign(kReadPixels, 0.0f);
    confidence_.assign(kReadPixels, 0.0f);
    rgb_.assign(3 * kReadPixels, 0);
    for (int i = 0; i < kReadPixels; ++i) {
      depth_[i] = 1.0f + 0.37f * static_cast<float>(i % 11) + static_cast<float>(index);
      confidence_[i] = 1.0f + 0.01f * static_cast<float>(i);
      for (int c = 0; c < 3; ++c) rgb_[3 * i + c] = static_cast<uint8_t>(11 * i + 50 * c + index);
    }
    depth_[3] = std::numeric_limits<float>::quiet_NaN();
    FrameRecord record;
    record.index = index;
    record.source_name = "bild.jpg";
    record.source_index = 3 * index;
    record.timestamp = index / 3.0;
    record.keyframe = index == 1;
    record.pose = {0.1f, -0.2f, 0.3f * static_cast<float>(index), 0.3f, 0.2f, 0.1f, 1.7f,
                   1.0f, 1.2f};
    record.height = kReadHeight;
    record.width = kReadWidth;
    record.depth = depth_;
    record.confidence = confidence_;
    record.rgb = rgb_;
    record.mapping = {17, 13, 0.47, 0.46, 0.5, -1.0};
    return record;
  }

 private:
  std::filesystem::path folder_;
  std::vector<float> depth_, confidence_;
  std::vector<uint8_t> rgb_;
};

void ExpectSameMap(std::span<const float> a, std::span<const float> b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) << i;
  }
}

int CountNext(RunReader* reader) {
  LoadedFrame frame;
  int count = 0;
  while (reader->Next({}, &frame)) ++count;
  return count;
}

TEST(RunReaderTest, GivesBackWhatWasWritten) {
  const ScratchFolder folder;
  SmallRun run(folder / "run");
  run.Write(3);
  RunReader reader(folder / "run");
  EXPECT_EQ(reader.frames(), 3);
  EXPECT_EQ(reader.status(), "complete");
  EXPECT_EQ(reader.height(), kReadHeight);
  EXPECT_EQ(reader.width(), kReadWidth);
  EXPECT_TRUE(reader.has_images() && reader.has_depth() && reader.has_confidence());
  EXPECT_FALSE(reader.cut_short());
  EXPECT_EQ(reader.record_bytes(), ReadText(folder / "run/frames.jsonl").size());
  for (int round = 0; round < 2; ++round) {
    LoadedFrame frame;
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(reader.Next({}, &frame));
      const FrameRecord expected = run.Frame(i);
      const FrameRecord& found = frame.record;
      EXPECT_EQ(found.index, i);
      EXPECT_EQ(found.source_name, "bild.jpg");
      EXPECT_EQ(found.source_index, 3 * i);
      EXPECT_EQ(found.timestamp, expected.timestamp);
      EXPECT_EQ(found.keyframe, expected.keyframe);
      EXPECT_EQ(found.pose, WithRigidPose(expected.pose, RigidPoseOf(expected.pose)));
      ExpectSameMap(found.depth, expected.depth);
      ExpectSameMap(found.confidence, expected.confidence);
      EXPECT_TRUE(std::equal(found.rgb.begin(), found.rgb.end(), expected.rgb.begin()));
      EXPECT_EQ(found.rgb.size(), expected.rgb.size());
      EXPECT_EQ(found.mapping.original_width, 17);
      EXPECT_EQ(found.mapping.scale_y, 0.46);
      EXPECT_EQ(found.mapping.offset_y, -1.0);
    }
    EXPECT_FALSE(reader.Next({}, &frame));
    reader.Rewind();
  }
}

TEST(RunReaderTest, KilledRunAtEveryByteOfTheLastLine) {
  const ScratchFolder folder;
  SmallRun run(folder / "run");
  run.Write(2, {}, /*finish=*/false);
  const std::string whole = ReadText(folder / "run/frames.jsonl");
  const size_t first = whole.find('\n') + 1;
  for (size_t length = first; length <= whole.size(); ++length) {
    WriteText(folder / "run/frames.jsonl", whole.substr(0, length));
    RunReader reader(folder / "run");
    // Without its line feed the last record is whole all the same.
    const bool second = length + 1 >= whole.size();
    EXPECT_EQ(reader.frames(), second ? 2 : 1) << length;
    EXPECT_EQ(reader.cut_short(), !second && length > first) << length;
    EXPECT_EQ(reader.record_bytes(), second ? length : first);
    EXPECT_EQ(reader.status(), "running");
    EXPECT_EQ(CountNext(&reader), second ? 2 : 1);
  }
}

TEST(RunReaderTest, DepthImagesStandInForArrays) {
  const ScratchFolder folder;
  SmallRun run(folder / "run");
  OutputOptions options;
  options.frames.depth_npy = false;
  run.Write(1, options);
  RunReader reader(folder / "run");
  LoadedFrame frame;
  ASSERT_TRUE(reader.Next({}, &frame));
  const FrameRecord expected = run.Frame(0);
  const double unit = reader.manifest()["depth_png"]["unit"];
  for (size_t i = 0; i < expected.depth.size(); ++i) {
    EXPECT_NEAR(frame.depth[i], i == 3 ? 0.0f : expected.depth[i], 0.51 * unit) << i;
  }
}

TEST(RunReaderTest, PartsThatTheRunLeftOut) {
  const ScratchFolder folder;
  SmallRun run(folder / "run");
  OutputOptions options;
  options.frames = {false, false, false, false, 0.0};
  run.Write(1, options);
  RunReader reader(folder / "run");
  EXPECT_FALSE(reader.has_images() || reader.has_depth() || reader.has_confidence());
  LoadedFrame frame;
  ExpectError(ErrorCode::kNoInput, "line 1 of ", [&] { reader.Next({}, &frame); });
  reader.Rewind();
  ASSERT_TRUE(reader.Next({false, false, true}, &frame));
  EXPECT_TRUE(frame.rgb.empty());
}

TEST(RunReaderTest, PosesThatAreNoNumbersStayNone) {
  const ScratchFolder folder;
  SmallRun run(folder / "run");
  {
    RunWriter writer(folder / "run", {}, {"in", "", "model", "hash", {}, {}});
    FrameRecord record = run.Frame(0);
    record.pose[1] = std::numeric_limits<float>::infinity();
    record.pose[8] = std::numeric_limits<float>::quiet_NaN();
    writer.AddFrame(record);
  }
  RunReader reader(folder / "run");
  LoadedFrame frame;
  ASSERT_TRUE(reader.Next({}, &frame));
  EXPECT_FALSE(IsFinitePose(frame.record.pose));
  EXPECT_TRUE(std::isnan(frame.record.pose[8]));
}

TEST(RunReaderTest, DamageIsNamed) {
  const ScratchFolder folder;
  SmallRun run(folder / "run");
  run.Write(3);
  const std::string lines = ReadText(folder / "run/frames.jsonl");
  const auto refused = [&](ErrorCode code, const std::string& text) {
    ExpectError(code, text, [&] {
      RunReader reader(folder / "run");
      CountNext(&reader);
    });
  };
  const auto replaced = [&](const std::string& what, const std::string& with,
                            const std::string& text) {
    std::string changed = lines;
    const size_t at = changed.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    changed.replace(at, what.size(), with);
    WriteText(folder / "run/frames.jsonl", changed);
    refused(ErrorCode::kCorruptFile, text);
  };
  replaced("{", "", "line 1 of ");
  replaced("\"index\":1", "\"index\":0", "line 2 of ");
  replaced("\"index\":1", "\"index\":-1e300", "\"index\" is no whole number");
  replaced("\"index\":1", "\"index\":[]", "\"index\" is no number");
  replaced("\"timestamp\":0.0", "\"timestamp\":null", "\"timestamp\"");
  replaced("\"center\":[", "\"center\":[1,", "\"center\" does not hold 3");
  replaced("\"width\":8", "\"width\":1e9", "\"width\"");
  replaced("\"width\":8", "\"width\":9", "those before about 9x6");
  replaced("depth/000000.npy", "../../etc/passwd", "not inside");
  replaced("\"depth/000000.npy\"", "[]", "depth_npy");
  replaced("\n", std::string(2 << 20, ' ') + "\n", "longer than any");
  WriteText(folder / "run/frames.jsonl", lines);
  std::filesystem::copy_file(folder / "run/confidence/000001.npy", folder / "run/keep");
  WriteText(folder / "run/confidence/000001.npy", "");
  refused(ErrorCode::kUnsupportedFormat, "confidence/000001.npy");
  std::filesystem::remove(folder / "run/confidence/000001.npy");
  refused(ErrorCode::kFileNotFound, "confidence/000001.npy");
  std::filesystem::copy_file(folder / "run/keep", folder / "run/confidence/000001.npy");
  WriteText(folder / "run/images/000002.png", "x");
  refused(ErrorCode::kUnsupportedFormat, "images/000002.png");
  WriteText(folder / "run/manifest.json", "{");
  refused(ErrorCode::kCorruptFile, "manifest.json");
}

TEST(RunReaderTest, NoManifestAndNoFrames) {
  const ScratchFolder folder;
  SmallRun run(folder / "run");
  run.Write(2);
  std::filesystem::remove(folder / "run/manifest.json");
  RunReader reader(folder / "run");
  EXPECT_EQ(reader.status(), "unknown");
  EXPECT_EQ(CountNext(&reader), 2);
  WriteText(folder / "run/frames.jsonl", "");
  EXPECT_EQ(RunReader(folder / "run").frames(), 0);
  ExpectError(ErrorCode::kFileNotFound, "does not exist", [&] { RunReader(folder / "none"); });
  ExpectError(ErrorCode::kNoInput, "frames.jsonl", [&] { RunReader(folder.path()); });
}

}  // namespace
}  // namespace lingbot
