// Sessions on a GPU against sessions on the CPU, and against themselves. Without a GPU every test
// is skipped with the reason.

#include <gtest/gtest.h>

#include <filesystem>

#include "base/option_names.h"
#include "engine/test_stream.h"
#include "lingbot/error.h"
#include "tensor/device_memory.h"

namespace lingbot {
namespace {

using namespace testing;  // NOLINT: frames, results and the small network

const Model& GpuModel(Precision precision) {
  const auto make = [](Precision wanted) {
    ModelOptions options;
    options.device = DeviceKind::kCuda;
    options.precision = wanted;
    return MakeModel(SmallWeights(), options);
  };
  if (precision == Precision::kFloat32) {
    static const Model model = make(Precision::kFloat32);
    return model;
  }
  static const Model model = make(Precision::kBFloat16);
  return model;
}

Results RunOnGpu(Precision precision, const Frames& frames, const SessionOptions& options) {
  Session session(GpuModel(precision), kHeight, kWidth, options);
  return RunStream(session, frames);
}

class CudaSession : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    if (CudaDevices(&reason).empty()) GTEST_SKIP() << reason;
  }
};

// Back ends that this GPU and build have.
std::vector<AttentionBackend> Available() {
  std::vector<AttentionBackend> available;
  for (const AttentionBackend backend :
       {AttentionBackend::kSdpa, AttentionBackend::kFlashInfer, AttentionBackend::kFlashInferFa3,
        AttentionBackend::kDense}) {
    SessionOptions options = SmallOptions();
    options.attention = backend;
    try {
      PlanMemory(GpuModel(Precision::kBFloat16).info(), kHeight, kWidth, options);
      available.push_back(backend);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnavailable) << error.what();
    }
  }
  return available;
}

void ExpectClose(const Results& a, const Results& b, double pose, double depth,
                 const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_LE(PoseDistance(a[i].pose, b[i].pose), pose) << what << ", frame " << i;
    EXPECT_LE(RelativeL2(a[i].depth, b[i].depth), depth) << what << ", frame " << i;
    EXPECT_TRUE(SameOccupancy(a[i].cache, b[i].cache)) << what << ", frame " << i;
  }
}

// Past eviction and thinning, with keyframes: float32 decides whether tokens are the right ones.
TEST_F(CudaSession, AgreesWithTheCpuInFloat32) {
  const Frames frames = MakeFrames(24);
  for (const int interval : {1, 3}) {
    SessionOptions options = SmallOptions();
    options.keyframe_interval = interval;
    options.trajectory_frames = 8;
    options.attention = AttentionBackend::kCpu;
    const Results expected = RunFresh(frames, options);
    options.attention = AttentionBackend::kSdpa;
    for (const KvLayout layout : {KvLayout::kPlanes, KvLayout::kInterleaved}) {
      options.kv_layout = layout;
      options.poison_cache = layout == KvLayout::kInterleaved;
      ExpectClose(RunOnGpu(Precision::kFloat32, frames, options), expected, 2e-5, 1e-5,
                  "interval " + std::to_string(interval));
    }
  }
}

// bfloat16 shows that each back end attends to the same tokens as sdpa, whose float32 twin is
// exact.
TEST_F(CudaSession, BackEndsAgreeInBFloat16) {
  const Frames frames = MakeFrames(16);
  SessionOptions options = SmallOptions();
  options.keyframe_interval = 2;
  options.trajectory_frames = 8;
  options.poison_cache = true;
  options.attention = AttentionBackend::kSdpa;
  const Results expected = RunOnGpu(Precision::kBFloat16, frames, options);
  for (const AttentionBackend backend : Available()) {
    options.attention = backend;
    ExpectClose(RunOnGpu(Precision::kBFloat16, frames, options), expected, 3e-2, 1e-2,
                NameOf(backend));
  }
}

TEST_F(CudaSession, TheBackEndAskedForRuns) {
  for (const AttentionBackend backend : Available()) {
    SessionOptions options = SmallOptions();
    options.attention = backend;
    Session session(GpuModel(Precision::kBFloat16), kHeight, kWidth, options);
    RunStream(session, MakeFrames(5));
    EXPECT_EQ(session.attention(), backend);
    EXPECT_EQ(session.impl().stream().last_attention(), backend);
  }
}

// Recorded launches, poison, another session beside it and a second stream change no bit.
TEST_F(CudaSession, ResultsDoNotDependOnHowTheyAreLaunched) {
  const Frames frames = MakeFrames(20);
  for (const AttentionBackend backend : Available()) {
    SessionOptions options = SmallOptions();
    options.keyframe_interval = 2;
    options.attention = backend;
    Session session(GpuModel(Precision::kBFloat16), kHeight, kWidth, options);
    const Results first = RunStream(session, frames);
    session.Reset();
    EXPECT_EQ(FirstDifference(RunStream(session, frames), first), -1) << NameOf(backend);
    options.graph = false;
    options.poison_cache = true;
    EXPECT_EQ(FirstDifference(RunOnGpu(Precision::kBFloat16, frames, options), first), -1)
        << NameOf(backend) << " without graphs, poisoned";
  }
}

// A race shows as bits that change from run to run.
TEST_F(CudaSession, AThousandRepeatsGiveTheSameBits) {
  const Frames frames = MakeFrames(4);
  for (const AttentionBackend backend : Available()) {
    SessionOptions options = SmallOptions();
    options.attention = backend;
    options.keyframe_interval = 1 << 20;  // frame 3 is stored, later ones are not: all see the same
    Session session(GpuModel(Precision::kBFloat16), kHeight, kWidth, options);
    Results results;
    for (int i = 0; i < 4; ++i) session.Add(frames[i], RecordInto(results));
    Results repeats;
    for (int i = 0; i < 1000; ++i) {
      Results one;
      session.Add(frames[0], RecordInto(one));
      if (repeats.empty()) repeats = one;
      ASSERT_EQ(std::memcmp(one[0].pose.data(), repeats[0].pose.data(), sizeof(one[0].pose)), 0)
          << NameOf(backend) << ", repeat " << i;
      ASSERT_TRUE(SameBits(one[0].depth, repeats[0].depth)) << NameOf(backend) << ", repeat " << i;
    }
  }
}

// A file for one test.
class SnapshotFile {
 public:
  explicit SnapshotFile(const std::string& name)
      : path_(std::filesystem::path(::testing::TempDir()) / (name + ".snapshot")) {}
  ~SnapshotFile() { std::filesystem::remove(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Past eviction, thinning and frames that are not stored; loaded into a fresh session and into one
// whose launches are recorded already.
TEST_F(CudaSession, GoesOnFromASnapshot) {
  const SnapshotFile file("cuda_goes_on");
  const Frames frames = MakeFrames(18);
  for (const AttentionBackend backend : Available()) {
    for (const KvLayout layout : {KvLayout::kPlanes, KvLayout::kInterleaved}) {
      if (backend == AttentionBackend::kDense && layout == KvLayout::kInterleaved) continue;
      SessionOptions options = SmallOptions();
      options.keyframe_interval = 2;
      options.trajectory_frames = 8;
      options.attention = backend;
      options.kv_layout = layout;
      options.poison_cache = true;
      const Model& model = GpuModel(Precision::kBFloat16);
      const Results expected = RunOnGpu(Precision::kBFloat16, frames, options);
      Session running(model, kHeight, kWidth, options);
      Session used(model, kHeight, kWidth, options);
      RunStream(used, MakeFrames(9, kHeight, kWidth, 4));
      for (size_t i = 0; i < frames.size(); i += i < 4 ? 1 : 3) {
        running.Reset();
        Results results;
        for (size_t k = 0; k < i; ++k) running.Add(frames[k], RecordInto(results));
        running.Save(file.path());
        Session fresh(model, kHeight, kWidth, options);
        for (Session* session : {&fresh, &used}) {
          Results all = results;
          session->Load(file.path());
          const Results rest = RunStream(*session, {frames.begin() + i, frames.end()});
          all.insert(all.end(), rest.begin(), rest.end());
          EXPECT_EQ(FirstDifference(all, expected), -1)
              << NameOf(backend) << ", saved after " << i
              << (session == &used ? ", into a used session" : "");
        }
      }
    }
  }
}

// In float32 a map of one device serves the other.
TEST_F(CudaSession, SnapshotsMoveBetweenDevices) {
  const SnapshotFile file("cuda_moves");
  const Frames frames = MakeFrames(14);
  SessionOptions options = SmallOptions();
  options.keyframe_interval = 2;
  const Results expected = RunFresh(frames, options);
  Session on_gpu(GpuModel(Precision::kFloat32), kHeight, kWidth, options);
  Session on_cpu(SmallModel(), kHeight, kWidth, options);
  Results results;
  for (size_t i = 0; i < frames.size(); ++i) {
    Session& session = i / 3 % 2 == 0 ? on_gpu : on_cpu;
    Session& next = (i + 1) / 3 % 2 == 0 ? on_gpu : on_cpu;
    session.Add(frames[i], RecordInto(results));
    if (&next == &session) continue;
    session.Save(file.path());
    next.Load(file.path());
  }
  ExpectClose(results, expected, 2e-5, 1e-5, "back and forth");
}

// Frames decided after their pass replay the launches of frames that are not stored.
TEST_F(CudaSession, KeyframesByMotion) {
  const Frames frames = MakeFrames(24);
  SessionOptions options = SmallOptions();
  options.trajectory_frames = 8;
  options.keyframe_max_gap = 3;
  for (const double motion : {1e-30, 1e9}) {  // all, and by the gap: rounding decides nothing
    options.keyframe_motion = motion;
    options.attention = AttentionBackend::kCpu;
    const Results expected = RunFresh(frames, options);
    options.attention = AttentionBackend::kSdpa;
    const Results results = RunOnGpu(Precision::kFloat32, frames, options);
    ExpectClose(results, expected, 2e-5, 1e-5, "motion " + std::to_string(motion));
    for (size_t i = 0; i < frames.size(); ++i) {
      EXPECT_EQ(results[i].keyframe, expected[i].keyframe) << i;
    }
  }
  options.keyframe_motion = 0.01;
  for (const AttentionBackend backend : Available()) {
    options.attention = backend;
    options.graph = true;
    options.poison_cache = false;
    const Results first = RunOnGpu(Precision::kBFloat16, frames, options);
    options.graph = false;
    options.poison_cache = true;
    EXPECT_EQ(FirstDifference(RunOnGpu(Precision::kBFloat16, frames, options), first), -1)
        << NameOf(backend) << " without graphs, poisoned";
  }
}

TEST_F(CudaSession, LocalisesWithoutATrace) {
  const Frames frames = MakeFrames(14);
  const Frames others = MakeFrames(14, kHeight, kWidth, 3);
  for (const AttentionBackend backend : Available()) {
    SessionOptions options = SmallOptions();
    options.keyframe_interval = 2;
    options.attention = backend;
    const Results expected = RunOnGpu(Precision::kBFloat16, frames, options);
    Session session(GpuModel(Precision::kBFloat16), kHeight, kWidth, options);
    Results results;
    for (size_t i = 0; i < frames.size(); ++i) {
      session.Add(frames[i], RecordInto(results));
      if (i >= 2) session.Localize(others[i]);
    }
    EXPECT_EQ(FirstDifference(results, expected), -1) << NameOf(backend);
  }
}

TEST_F(CudaSession, SessionsShareAModel) {
  const Frames frames = MakeFrames(8);
  const Frames others = MakeFrames(8, kHeight, kWidth, 2);
  const SessionOptions options = SmallOptions();
  const Results expected = RunOnGpu(Precision::kBFloat16, frames, options);
  Session one(GpuModel(Precision::kBFloat16), kHeight, kWidth, options);
  Session two(GpuModel(Precision::kBFloat16), kHeight, kWidth, options);
  Results results, other_results;
  for (size_t i = 0; i < frames.size(); ++i) {
    one.Add(frames[i], RecordInto(results));
    two.Add(others[i], RecordInto(other_results));
  }
  EXPECT_EQ(FirstDifference(results, expected), -1);
}

TEST_F(CudaSession, RefusesWhatItCannotRun) {
  SessionOptions options = SmallOptions();
  options.attention = AttentionBackend::kCpu;
  EXPECT_THROW(RunOnGpu(Precision::kBFloat16, {}, options), Error);
  options.attention = AttentionBackend::kFlashInfer;  // takes bfloat16 only
  EXPECT_THROW(RunOnGpu(Precision::kFloat32, {}, options), Error);
  ModelOptions model;
  model.device = DeviceKind::kCuda;
  model.device_ordinal = 99;
  EXPECT_THROW(MakeModel(SmallWeights(), model), Error);
}

TEST(CudaSessionWithoutGpu, SaysWhyThereIsNone) {
  std::string reason;
  if (!CudaDevices(&reason).empty()) GTEST_SKIP() << "there is a GPU";
  EXPECT_FALSE(reason.empty());
  ModelOptions options;
  options.device = DeviceKind::kCuda;
  try {
    MakeModel(SmallWeights(), options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    EXPECT_EQ(error.what(), reason);
  }
  options.device = DeviceKind::kAuto;
  EXPECT_EQ(MakeModel(SmallWeights(), options).info().device, DeviceKind::kCpu);
}

}  // namespace
}  // namespace lingbot
