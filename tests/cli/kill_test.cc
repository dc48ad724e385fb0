// A long run that is killed five times and resumed as often: its trajectory is that of a run that
// nothing happened to, memory stays flat, and no temporary file is left.
//
// The environment variable LINGBOT_KILL_FRAMES is the length of the stream (10,000 takes minutes).

#include <poll.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <random>

#include "fixtures.h"
#ifdef LINGBOT_HAVE_VIDEO
#include "media/test_videos.h"
#endif
#include "weights/model_tensors.h"

namespace lingbot::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kKills = 5;

int FrameCount() {
  const char* text = std::getenv("LINGBOT_KILL_FRAMES");
  return text == nullptr ? LINGBOT_KILL_FRAMES : std::max(50, std::atoi(text));
}

// The smallest network that the program takes.
HashedWeights SmallestWeights() {
  ModelTensorSizes sizes;
  sizes.img_size = 56;
  sizes.embed_dim = 64;
  sizes.num_heads = 1;
  sizes.depth = 4;
  sizes.vit_depth = 1;
  sizes.camera_depth = 1;
  sizes.dpt_features = 16;
  sizes.dpt_channels = {16, 16, 16, 16};
  return HashedWeights(ModelTensorShapes(sizes), /*seed=*/7, /*fc2_bias_offset=*/1.0f,
                       {{"config", R"({"taps": [0, 1, 2, 3], "camera_heads": 1})"}});
}

// Counts the lines of a file that grows, reading each byte once.
class LineCounter {
 public:
  explicit LineCounter(fs::path path) : path_(std::move(path)) {}

  int64_t Count() {
    std::error_code error;
    const auto size = static_cast<int64_t>(fs::file_size(path_, error));
    if (error) return 0;
    if (size < read_) read_ = lines_ = 0;  // cut by a run that goes on
    std::ifstream file(path_, std::ios::binary);
    file.seekg(read_);
    std::string text(static_cast<size_t>(size - read_), '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    read_ += file.gcount();
    lines_ += std::count(text.begin(), text.begin() + file.gcount(), '\n');
    return lines_;
  }

 private:
  fs::path path_;
  int64_t read_ = 0;
  int64_t lines_ = 0;
};

int64_t ResidentKilobytes(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::stoll(line.substr(6));
  }
  return 0;
}

class KillTest : public CliTest {
 protected:
  void WriteInput(int frames) {
#ifdef LINGBOT_HAVE_VIDEO
    testing_videos::VideoSpec spec;
    spec.frames = frames;  // of 64x48
    spec.rate = 25;
    testing_videos::WriteVideo(Path("in"), (spec.container = "mp4", spec));
#else
    fs::create_directories(Path("in"));
    constexpr int kDifferent = 50;
    for (int i = 0; i < frames; ++i) {
      const fs::path path = Path("in/frame_" + std::to_string(i) + ".png");
      if (i < kDifferent) {
        WriteBytes(path, Png(64, 48, i));
      } else {
        fs::create_hard_link(Path("in/frame_" + std::to_string(i % kDifferent) + ".png"), path);
      }
    }
#endif
  }

  std::vector<std::string> Command(const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"run",
                                          Path("in").string(),
                                          "--model",
                                          Path("model.safetensors").string(),
                                          "--out",
                                          Path(out).string(),
                                          "--precision",
                                          "fp32",
                                          "--threads",
                                          "1",
                                          "--scale-frames",
                                          "2",
                                          "--window",
                                          "4",
                                          "--camera-iterations",
                                          "1",
                                          "--trajectory-frames",
                                          "100",
                                          "--keyframe-interval",
                                          "2",
                                          "--no-depth",
                                          "--no-images",
                                          "--max-points",
                                          "20000"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  // Waits until the run has written so many frames; false if it ends before.
  static bool WaitForFrames(const Program& program, LineCounter* lines, int64_t frames) {
    while (lines->Count() < frames) {
      if (program.ended()) return false;
      ::poll(nullptr, 0, 1);
    }
    return true;
  }

  void ExpectNoTemporaryFiles() const {
    for (const auto& entry : fs::recursive_directory_iterator(Path(""))) {
      EXPECT_NE(entry.path().extension(), ".partial") << entry.path();
    }
    EXPECT_EQ(std::distance(fs::directory_iterator(Path("")), fs::directory_iterator()), 4)
        << "in, model, whole and out";
  }
};

TEST_F(KillTest, KilledFiveTimesAndResumed) {
  const int frames = FrameCount();
  WriteWeights(SmallestWeights(), Path("model.safetensors"));
  WriteInput(frames);

  int64_t early = 0, late = 0;
  {
    Program whole(Command("whole", {}));
    LineCounter lines(Path("whole/frames.jsonl"));
    ASSERT_TRUE(WaitForFrames(whole, &lines, frames / 5));
    early = ResidentKilobytes(whole.process());
    ASSERT_TRUE(WaitForFrames(whole, &lines, frames - frames / 100 - 5));
    late = ResidentKilobytes(whole.process());
    const Finished run = whole.Wait();
    ASSERT_EQ(run.exit_code, 0) << run.err;
  }
  std::printf("resident after %d frames: %ld KB, after nearly all %d: %ld KB\n", frames / 5,
              static_cast<long>(early), frames, static_cast<long>(late));
#if !defined(__SANITIZE_ADDRESS__)  // which keeps freed memory back
  EXPECT_LE(late, early + 2048);
#endif

  std::mt19937 random(20240607);
  std::vector<int64_t> kills;
  for (int i = 0; i < kKills; ++i) {
    kills.push_back(1 + static_cast<int64_t>(random() % static_cast<unsigned>(frames - 20)));
  }
  std::sort(kills.begin(), kills.end());
  const std::string every = std::to_string(std::max(10, frames / 40));
  std::vector<std::string> more = {"--snapshot-every", every};
  LineCounter lines(Path("out/frames.jsonl"));
  for (const int64_t kill : kills) {
    Program program(Command("out", more));
    ASSERT_TRUE(WaitForFrames(program, &lines, kill)) << program.Wait().err;
    program.Send(SIGKILL);
    ASSERT_EQ(program.Wait().signal, SIGKILL);
    std::printf("killed after %ld of %d frames\n", static_cast<long>(lines.Count()), frames);
    more = {"--snapshot-every", every, "--resume"};
  }
  const Finished run = RunProgram(Command("out", more));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, testing::HasSubstr("resuming from a snapshot"));
  for (const char* file : {"trajectory_tum.txt", "frames.jsonl", "points.ply"}) {
    EXPECT_TRUE(ReadText(Path("out") / file) == ReadText(Path("whole") / file)) << file;
  }
  EXPECT_EQ(CountPoses(Path("out/trajectory_tum.txt")), frames);
  int64_t compared = 0;
  for (const auto& entry : fs::directory_iterator(Path("whole/confidence"))) {
    const std::string name = entry.path().filename().string();
    ASSERT_TRUE(ReadText(entry.path()) == ReadText(Path("out/confidence") / name)) << name;
    ++compared;
  }
  EXPECT_EQ(compared, frames);
  EXPECT_EQ(ReadJson(Path("out/manifest.json"))["status"], "complete");
  ExpectNoTemporaryFiles();
}

}  // namespace
}  // namespace lingbot::cli
