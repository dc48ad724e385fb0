// Sessions that are saved and loaded against sessions that never were.

#include "lingbot/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "base/xxhash64.h"
#include "engine/test_stream.h"
#include "lingbot/error.h"

namespace lingbot {
namespace {

using namespace lingbot::testing;  // NOLINT: the helpers of these tests
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr int kNoDifference = -1;  // of FirstDifference

const Model& BFloat16Model() {
  static const Model model = [] {
    ModelOptions options;
    options.device = DeviceKind::kCpu;
    options.precision = Precision::kBFloat16;
    return MakeModel(SmallWeights(), options);
  }();
  return model;
}

class SnapshotTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string(test->test_suite_name()) + "_" + test->name();
    std::replace(name.begin(), name.end(), '/', '_');
    folder_ = fs::path(::testing::TempDir()) / ("snapshot_" + name);
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = folder_ / "snapshot.bin";
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void SetBytes(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }
  static uint64_t HashOf(const std::string& bytes) {
    XxHash64 hash;
    hash.Add(bytes.data(), bytes.size());
    return hash.value();
  }
  template <typename T>
  static std::string Raw(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof(value)};
  }
  // `contents` behind a header whose checksums are right.
  void Sign(const std::string& contents) const {
    const std::string header = "LINGSNAP" + Raw<uint32_t>(1) + Raw<uint32_t>(0) +
                               Raw<uint64_t>(contents.size()) + Raw(HashOf(contents));
    SetBytes(header + Raw(HashOf(header)) + contents);
  }

  fs::path folder_;
  fs::path path_;
};

Results Rest(const Results& results, size_t first) {
  return {results.begin() + static_cast<std::ptrdiff_t>(first), results.end()};
}

// Whatever the moment, the session that goes on from the file gives what the one that was never
// saved gives, in a fresh session and in one that has seen other frames.
template <typename AnySession, typename Make>
void ExpectTheSameFromEveryFrameOn(const Frames& frames, const fs::path& path, const Make& make) {
  const Results expected = [&] {
    std::unique_ptr<AnySession> session = make();
    return RunStream(*session, frames);
  }();
  ASSERT_EQ(expected.size(), frames.size());
  std::unique_ptr<AnySession> running = make();
  std::unique_ptr<AnySession> used = make();
  RunStream(*used, MakeFrames(7, kHeight, kWidth, 99));
  Results before;
  for (size_t i = 0; i <= frames.size(); ++i) {
    running->Save(path, "frame " + std::to_string(i));
    std::unique_ptr<AnySession> fresh = i % 3 == 0 ? make() : nullptr;
    AnySession& session = fresh ? *fresh : *used;
    session.Load(path);
    const Results after = RunStream(session, {frames.begin() + i, frames.end()});
    ASSERT_EQ(before.size() + after.size(), expected.size()) << "saved after " << i;
    ASSERT_EQ(FirstDifference(after, Rest(expected, before.size())), kNoDifference)
        << "saved after " << i << (fresh ? "" : ", into a used session");
    if (i < frames.size()) running->Add(frames[i], RecordInto(before));
  }
  running->Finish(RecordInto(before));
  EXPECT_EQ(FirstDifference(before, expected), kNoDifference) << "saving changed the session";
}

// Keeps a part of the frames of MakeFrames, whose motion is noise.
constexpr double kMotion = 0.01;

struct Kind {
  Precision precision;
  KvLayout layout;
  int interval;
  int trajectory;
  AttentionBackend attention = AttentionBackend::kAuto;
  double motion = 0;
};
class EveryKind : public SnapshotTest, public ::testing::WithParamInterface<Kind> {
 protected:
  static const Model& model() {
    return GetParam().precision == Precision::kBFloat16 ? BFloat16Model() : SmallModel();
  }
  static SessionOptions Options() {
    SessionOptions options = SmallOptions();
    options.kv_layout = GetParam().layout;
    options.keyframe_interval = GetParam().interval;
    options.trajectory_frames = GetParam().trajectory;
    options.attention = GetParam().attention;
    options.keyframe_motion = GetParam().motion;
    options.keyframe_max_gap = 4;
    options.camera_iterations = 2;
    options.poison_cache = true;
    return options;
  }
};

// Evictions begin with the sixth stored frame, thinning with the ninth where the budget is 8.
TEST_P(EveryKind, ResultsAreThoseOfAnUninterruptedSession) {
  ExpectTheSameFromEveryFrameOn<Session>(MakeFrames(17), path_, [] {
    return std::make_unique<Session>(model(), kHeight, kWidth, Options());
  });
}

TEST_P(EveryKind, ResultsOfWindowsAreThoseOfAnUninterruptedSession) {
  if (GetParam().motion > 0) GTEST_SKIP() << "windows have no keyframes by motion";
  WindowedOptions windows;
  windows.window_size = 5;
  windows.overlap_frames = GetParam().interval == 1 ? 2 : 0;  // fewer than the scale frames, or 3
  ExpectTheSameFromEveryFrameOn<WindowedSession>(MakeFrames(16), path_, [&] {
    return std::make_unique<WindowedSession>(model(), kHeight, kWidth, Options(), windows);
  });
}
INSTANTIATE_TEST_SUITE_P(
    All, EveryKind,
    ::testing::Values(Kind{Precision::kFloat32, KvLayout::kPlanes, 1, 8},
                      Kind{Precision::kFloat32, KvLayout::kInterleaved, 2, 64},
                      Kind{Precision::kBFloat16, KvLayout::kPlanes, 2, 8},
                      Kind{Precision::kBFloat16, KvLayout::kInterleaved, 1, 64},
                      Kind{Precision::kFloat32, KvLayout::kPlanes, 3, 8, AttentionBackend::kSdpa},
                      Kind{Precision::kFloat32, KvLayout::kPlanes, 1, 8, AttentionBackend::kAuto,
                           kMotion}));

// A file may go on in the other layout: the numbers are the same, only their order in sums is not.
TEST_F(SnapshotTest, LayoutsMayChange) {
  const Frames frames = MakeFrames(20);
  SessionOptions options = SmallOptions();
  options.trajectory_frames = 8;
  const Results expected = RunFresh(frames, options);
  Session planes(SmallModel(), kHeight, kWidth, options);
  for (int i = 0; i < 14; ++i) planes.Add(frames[i], nullptr);
  planes.Save(path_);
  options.kv_layout = KvLayout::kInterleaved;
  Session pages(SmallModel(), kHeight, kWidth, options);
  pages.Load(path_);
  const Results after = RunStream(pages, {frames.begin() + 14, frames.end()});
  ASSERT_EQ(after.size(), 6u);
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_LE(PoseDistance(after[i].pose, expected[14 + i].pose), 2e-5) << i;
    EXPECT_LE(RelativeL2(after[i].depth, expected[14 + i].depth), 1e-5) << i;
    EXPECT_TRUE(SameOccupancy(after[i].cache, expected[14 + i].cache)) << i;
  }
}

TEST_F(SnapshotTest, StreamShorterThanItsScaleFrames) {
  const Frames frames = MakeFrames(2);
  Session session(SmallModel(), kHeight, kWidth, SmallOptions());
  session.Add(frames[0], nullptr);
  session.Save(path_);
  Session other(SmallModel(), kHeight, kWidth, SmallOptions());
  other.Load(path_);
  EXPECT_EQ(FirstDifference(RunStream(other, {frames[1]}), RunFresh(frames, SmallOptions())),
            kNoDifference);
  other.Save(path_);  // finished
  session.Load(path_);
  EXPECT_THROW(session.Add(frames[0], nullptr), Error);
  session.Reset();
  EXPECT_EQ(FirstDifference(RunStream(session, frames), RunFresh(frames, SmallOptions())),
            kNoDifference);
}

TEST_F(SnapshotTest, KeepsWhatTheProgramAdds) {
  Session session(SmallModel(), kHeight, kWidth, SmallOptions());
  session.Add(MakeFrames(1)[0], nullptr);
  const std::vector<int> numbers = {1, 2, 3};
  session.Save(path_, "a note \xE2\x82\xAC", [&](const SnapshotWrite& write) {
    write(numbers.data(), sizeof(int));
    write(numbers.data() + 1, 2 * sizeof(int));
  });
  const SnapshotInfo info = InspectSnapshot(path_);
  EXPECT_EQ(info.note, "a note \xE2\x82\xAC");
  EXPECT_EQ(info.frames, 1);
  EXPECT_EQ(info.height, kHeight);
  EXPECT_EQ(info.width, kWidth);
  EXPECT_FALSE(info.windowed);
  EXPECT_EQ(info.bytes, fs::file_size(path_));
  EXPECT_EQ(info.fingerprint, SmallModel().info().fingerprint);
  EXPECT_EQ(info.options.scale_frames, 3);
  EXPECT_EQ(info.options.sliding_window, 2);
  std::vector<int> read(3);
  session.Load(path_, [&](const SnapshotRead& get) { get(read.data(), 3 * sizeof(int)); });
  EXPECT_EQ(read, numbers);
  session.Load(path_);  // without interest in them
  // Too much, or too little: the file is not what the caller believes.
  int more[4];
  EXPECT_THROW(session.Load(path_, [&](const SnapshotRead& get) { get(more, sizeof(more)); }),
               Error);
  EXPECT_THROW(session.Load(path_, [&](const SnapshotRead& get) { get(more, 1); }), Error);
}

// Only a loaded model has read its weights; the kind of file does not matter.
TEST(FingerprintTest, TellsWeightsApart) {
  EXPECT_THAT(SmallModel().info().fingerprint, ::testing::StartsWith("xxh64:"));
  EXPECT_EQ(BFloat16Model().info().fingerprint, SmallModel().info().fingerprint);
  ModelOptions options;
  options.device = DeviceKind::kCpu;
  const Model other = MakeModel(SmallWeights(1.25f), options);
  EXPECT_NE(other.info().fingerprint, SmallModel().info().fingerprint);
}

class WrongSnapshot : public SnapshotTest {
 protected:
  void SetUp() override {
    SnapshotTest::SetUp();
    SessionOptions options = SmallOptions();
    options.keyframe_interval = 2;
    Session session(SmallModel(), kHeight, kWidth, options);
    for (const auto& frame : MakeFrames(7)) session.Add(frame, nullptr);
    session.Save(path_, "note");
  }

  // Loads into a session that has a stream already; it must be untouched by the error.
  void ExpectRefused(const Model& model, int height, int width, const SessionOptions& options,
                     const std::vector<std::string>& words) {
    Session session(model, height, width, options);
    const Frames frames = MakeFrames(10, height, width);
    Results results;
    for (int i = 0; i < 5; ++i) session.Add(frames[i], RecordInto(results));
    try {
      session.Load(path_);
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal);
      for (const std::string& word : words) EXPECT_THAT(error.what(), HasSubstr(word));
      EXPECT_THAT(error.what(), HasSubstr(path_.string()));
    }
    for (int i = 5; i < 10; ++i) session.Add(frames[i], RecordInto(results));
    Session fresh(model, height, width, options);
    EXPECT_EQ(FirstDifference(results, RunStream(fresh, frames)), kNoDifference);
  }
};

TEST_F(WrongSnapshot, NamesWhatDiffers) {
  SessionOptions options = SmallOptions();
  options.keyframe_interval = 2;
  const auto refused = [&](const SessionOptions& other, const std::vector<std::string>& words) {
    ExpectRefused(SmallModel(), kHeight, kWidth, other, words);
  };
  SessionOptions other = options;
  other.keyframe_interval = 3;
  refused(other, {"keyframe_interval", "is 2", "is 3"});
  other.keyframe_interval = 1;
  other.keyframe_motion = 0.25;
  refused(other, {"keyframe_interval", "is 2", "is 1"});
  other = options;
  other.sliding_window = 5;
  refused(other, {"sliding_window", "is 2", "is 5"});
  other = options;
  other.scale_frames = 2;
  refused(other, {"scale_frames", "is 3", "is 2"});
  other = options;
  other.trajectory_frames = 17;
  refused(other, {"trajectory_frames", "is 1024", "is 17"});
  other = options;
  other.camera_iterations = 1;
  refused(other, {"camera_iterations", "is 1"});
  ExpectRefused(SmallModel(), kHeight, kWidth + 14, options, {"width", "is 42", "is 56"});
  ExpectRefused(BFloat16Model(), kHeight, kWidth, options, {"precision", "fp32", "bf16"});
  ModelOptions cpu;
  cpu.device = DeviceKind::kCpu;
  cpu.precision = Precision::kFloat32;
  ExpectRefused(MakeModel(SmallWeights(1.25f), cpu), kHeight, kWidth, options, {"weights"});
  WindowedSession windowed(SmallModel(), kHeight, kWidth, options, {});
  EXPECT_THROW(windowed.Load(path_), Error);
}

TEST_F(WrongSnapshot, CutAnywhereIsRefused) {
  SessionOptions options = SmallOptions();
  options.keyframe_interval = 2;
  Session session(SmallModel(), kHeight, kWidth, options);
  const std::string whole = Bytes();
  for (size_t length = 0; length < whole.size(); length += 1024) {
    SetBytes(whole.substr(0, length));
    EXPECT_THROW(session.Load(path_), Error) << length;
  }
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    std::string changed = whole;
    const size_t place = random() % whole.size();
    changed[place] = static_cast<char>(changed[place] ^ (1 + random() % 255));
    SetBytes(changed);
    EXPECT_THROW(session.Load(path_), Error) << place;
  }
  EXPECT_EQ(session.occupancy().stored_frames, 0);
  SetBytes(whole);
  session.Load(path_);
  EXPECT_EQ(session.occupancy().stored_frames, 5);
}

// Contents that someone changed and signed again: an error or a state that works, never a crash.
TEST_F(WrongSnapshot, SignedDamageDoesNoHarm) {
  SessionOptions options = SmallOptions();
  options.keyframe_interval = 2;
  Session session(SmallModel(), kHeight, kWidth, options);
  const std::string contents = Bytes().substr(40);
  std::mt19937 random(6);
  int refused = 0;
  const auto attempt = [&](const std::string& changed) {
    Sign(changed);
    try {
      InspectSnapshot(path_);
      session.Load(path_);
      session.Add(MakeFrames(1)[0], nullptr);
    } catch (const Error& error) {
      ++refused;
      EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
    }
  };
  for (int i = 0; i < 600; ++i) {  // the head, the counters and the page table come first
    std::string changed = contents;
    const size_t place = random() % 1000;
    if (i % 2 == 0) {
      const uint64_t giant = ~uint64_t{0} >> (random() % 50);
      changed.replace(place, sizeof(giant), reinterpret_cast<const char*>(&giant), sizeof(giant));
    } else {
      changed[place] = static_cast<char>(random());
    }
    attempt(changed);
  }
  for (size_t length = 0; length < contents.size(); length += 4099) {
    attempt(contents.substr(0, length));
  }
  EXPECT_GT(refused, 250);
}

class LocalizeTest : public SnapshotTest {};

// A frame that was only localised leaves no trace.
TEST_F(LocalizeTest, LaterResultsAreThoseWithoutIt) {
  const Frames frames = MakeFrames(16);
  const Frames others = MakeFrames(16, kHeight, kWidth, 3);
  for (const KvLayout layout : {KvLayout::kPlanes, KvLayout::kInterleaved}) {
    SessionOptions options = SmallOptions();
    options.kv_layout = layout;
    options.keyframe_interval = 2;
    options.trajectory_frames = 8;
    options.poison_cache = true;
    Session session(SmallModel(), kHeight, kWidth, options);
    Results results;
    for (size_t i = 0; i < frames.size(); ++i) {
      session.Add(frames[i], RecordInto(results));
      if (i < 2) {
        EXPECT_THROW(session.Localize(others[i]), Error);
        continue;
      }
      const FrameResult found = session.Localize(others[i]);
      EXPECT_FALSE(found.keyframe);
      EXPECT_EQ(found.index, static_cast<int64_t>(i + 1));
      EXPECT_TRUE(SameOccupancy(found.cache, results.back().cache));
    }
    EXPECT_EQ(FirstDifference(results, RunFresh(frames, options)), kNoDifference);
    session.Finish(nullptr);
    EXPECT_TRUE(std::isfinite(session.Localize(others[0]).pose[0]));
  }
}

// Frame i + 1 right after frame i: what the stream says of it where it is no keyframe.
TEST_F(LocalizeTest, EqualsTheStepOfAFrameThatIsNotStored) {
  const Frames frames = MakeFrames(14);
  SessionOptions options = SmallOptions();
  options.keyframe_interval = 3;
  Session session(SmallModel(), kHeight, kWidth, options);
  Session copy(SmallModel(), kHeight, kWidth, options);
  int compared = 0;
  for (size_t i = 0; i + 1 < frames.size(); ++i) {
    session.Add(frames[i], nullptr);
    if (i < 2) continue;
    session.Save(path_);
    copy.Load(path_);
    Results found, added;
    RecordInto(found)(session.Localize(frames[i + 1]));
    copy.Add(frames[i + 1], RecordInto(added));
    if (added[0].keyframe) continue;
    EXPECT_EQ(FirstDifference(found, added), kNoDifference) << i;
    ++compared;
  }
  EXPECT_EQ(compared, 7);
}

TEST_F(LocalizeTest, RefusesWhatAddRefuses) {
  Session session(SmallModel(), kHeight, kWidth, SmallOptions());
  EXPECT_THROW(session.Localize(MakeFrames(1)[0]), Error);  // no map
  for (const auto& frame : MakeFrames(3)) session.Add(frame, nullptr);
  EXPECT_THROW(session.Localize(std::vector<float>(7)), Error);
  std::vector<float> frame = MakeFrames(1)[0];
  frame[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(session.Localize(frame), Error);
}

}  // namespace
}  // namespace lingbot
