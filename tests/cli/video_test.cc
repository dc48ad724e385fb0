// Runs of videos and streams: what the program makes of times, damage and ends.

#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "fixtures.h"
#include "media/open_source.h"
#include "media/test_videos.h"

namespace lingbot::cli {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;
using testing_videos::VideoSpec;
using testing_videos::WriteVideo;

VideoSpec Clip(int frames) {
  VideoSpec spec;
  spec.width = 84;
  spec.height = 56;
  spec.frames = frames;
  return spec;
}

class VideoRunTest : public CliTest {
 protected:
  std::vector<std::string> VideoArguments(const std::string& input,
                                          const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = Arguments(more);
    arguments[1] = input == "-" ? input : Path(input).string();
    return arguments;
  }
  Finished RunVideo(const std::string& input, const std::vector<std::string>& more = {},
                    const Limits& limits = {}) const {
    return RunProgram(VideoArguments(input, more), limits);
  }

  std::vector<double> Times() const {
    std::vector<double> times;
    for (const std::string& line : ReadLines(Path("out/frames.jsonl"))) {
      times.push_back(nlohmann::json::parse(line)["timestamp"]);
    }
    return times;
  }
};

TEST_F(VideoRunTest, KeepsTheTimesOfTheVideo) {
  WriteVideo(Path("clip.mp4"), Clip(30));
  const Finished run = RunVideo("clip.mp4", {"--fps", "4", "--start", "0:01", "--end", "2.5"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  ExpectFrames(6);
  EXPECT_THAT(run.err, HasSubstr("asked for 4 frames/s, achieved 3.846 with 6 frames"));
  EXPECT_THAT(Times(), Pointwise(testing::DoubleNear(1e-9),
                                 std::vector<double>{1.0, 1.3, 1.5, 1.8, 2.0, 2.3}));
  const auto first = nlohmann::json::parse(ReadLines(Path("out/frames.jsonl"))[0]);
  EXPECT_EQ(first["source"], "clip.mp4 frame 10");
  EXPECT_EQ(first["source_index"], 10);
  EXPECT_EQ(ReadLines(Path("out/trajectory_tum.txt"))[2].rfind("1.300000000 ", 0), 0u);
  EXPECT_EQ(ReadJson(Path("out/manifest.json"))["options"]["frames_per_second"], 4.0);
  EXPECT_EQ(std::distance(fs::directory_iterator(Path("")), {}), 2) << "beside clip.mp4 and out";
}

TEST_F(VideoRunTest, RefusesRatesAndTimes) {
  WriteVideo(Path("clip.mp4"), Clip(3));
  for (const auto& [option, value] : {std::pair("--fps", "0"),
                                      {"--fps", "-5"},
                                      {"--fps", "nan"},
                                      {"--start", "-1"},
                                      {"--start", "1:99"},
                                      {"--end", "0"},
                                      {"--size", "64"},
                                      {"--size", "0x5"},
                                      {"--rate", "0"},
                                      {"--timeout", "-1"},
                                      {"--input-format", "yuv"}}) {
    const Finished run = RunVideo("clip.mp4", {option, value});
    EXPECT_EQ(run.exit_code, 2) << option << " " << value << "\n" << run.err;
    EXPECT_FALSE(fs::exists(Path("out")));
  }
  ExpectError(RunVideo("clip.mp4", {"--start", "9"}), 2, {"no frame lies between 9 s"});
  ExpectError(RunVideo("clip.mp4", {"--size", "8x8"}), 2, {"for cameras and standard input"});
}

TEST_F(VideoRunTest, SaysWhatWasDamaged) {
  VideoSpec spec = Clip(12);
  spec.codec = "mjpeg";
  spec.pixel_format = "yuvj420p";
  spec.full_range = true;
  WriteVideo(Path("clip.avi"), spec);
  std::string bytes = ReadText(Path("clip.avi"));
  const size_t at = bytes.find("\xFF\xD8\xFF", bytes.size() / 2);
  bytes.replace(at, 100, 100, 'U');
  const size_t end = bytes.find("00dc", at);
  for (size_t i = at; i < end; ++i) bytes[i] = 'U';
  WriteBytes(Path("clip.avi"), bytes);
  const Finished run = RunVideo("clip.avi", {"--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  ExpectFrames(11);
  EXPECT_THAT(run.err, HasSubstr("warning: clip.avi: 1 damaged frame was left out, at 0."));
  EXPECT_THAT(run.json()["warnings"].dump(), HasSubstr("1 damaged frame was left out"));
}

// Two clips in one transport stream, the second of another shape.
TEST_F(VideoRunTest, NamesTheFrameWhereTheSizeChanges) {
  WriteVideo(Path("a.ts"), Clip(6));
  VideoSpec tall = Clip(6);
  std::swap(tall.width, tall.height);
  WriteVideo(Path("b.ts"), tall);
  WriteBytes(Path("clip.ts"), ReadText(Path("a.ts")) + ReadText(Path("b.ts")));
  const Finished run = RunVideo("clip.ts", {"--scale-frames", "2"});
  ExpectError(
      run, 1,
      {"clip.ts frame ", "(56x84) comes to 84x84 pixels, but clip.ts frame 0 came to 84x56"});
  EXPECT_GE(CountPoses(Path("out/trajectory_tum.txt")), 4);
  const Finished skipping =
      RunVideo("clip.ts", {"--scale-frames", "2", "--skip-bad", "--overwrite"});
  ASSERT_EQ(skipping.exit_code, 0) << skipping.err;
}

TEST_F(VideoRunTest, TakesRawFramesFromStandardInput) {
  std::string frames;
  for (int i = 0; i < 5; ++i) frames += std::string(84 * 56 * 3, static_cast<char>(40 * i));
  WriteBytes(Path("raw"), frames + "cut off");
  Limits limits;
  limits.stdin_path = Path("raw").string();
  const std::vector<std::string> options = {"--input-format", "rgb24",  "--size",
                                            "84x56",          "--rate", "10"};
  const Finished run = RunVideo("-", options, limits);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  ExpectFrames(5);
  EXPECT_THAT(run.err, HasSubstr("keyframes by motion: stored is what has moved by 5 %"));
  const nlohmann::json used = ReadJson(Path("out/manifest.json"))["options"];
  EXPECT_EQ(used["keyframes"], "motion");
  EXPECT_EQ(used["keyframe_motion"], 0.05);
  EXPECT_EQ(used["mode"], "streaming");
  EXPECT_THAT(Times(), ElementsAre(0.0, 0.1, 0.2, 0.3, 0.4));
  EXPECT_THAT(run.err, HasSubstr("an unknown number of frames of 84x56 pixels"));
  EXPECT_THAT(run.err, HasSubstr("the last frame is cut off (7 of 14112 bytes)"));
  ExpectError(RunVideo("-", {"--input-format", "rgb24", "--overwrite"}, limits), 2,
              {"--size WIDTHxHEIGHT"});
}

TEST_F(VideoRunTest, TakesAVideoFromStandardInput) {
  WriteVideo(Path("clip.mkv"), Clip(9));
  Limits limits;
  limits.stdin_path = Path("clip.mkv").string();
  const Finished run = RunVideo("-", {}, limits);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  ExpectFrames(9);
}

// A walk through a room with the bundled model; the lens is covered after 14 frames.
TEST_F(VideoRunTest, SaysOnceThatTrackingHasDegraded) {
  const fs::path root = LINGBOT_SOURCE_DIR;
  const auto source = OpenSource((root / "samples/room/video.mp4").string(), {});
  source->Verify(ThreadTeam(1));
  std::string frames;
  Image image;
  for (int i = 0; i < 14 && source->Next(&image); ++i) {
    frames.append(reinterpret_cast<const char*>(image.rgb.data()), image.rgb.size());
  }
  const std::string black(image.rgb.size(), '\0');
  WriteBytes(Path("healthy"), frames);
  WriteBytes(Path("covered"), frames + black + black + black);
  const std::string notice = "tracking has degraded since frame ";
  for (const bool covered : {false, true}) {
    Limits limits;
    limits.stdin_path = Path(covered ? "covered" : "healthy").string();
    const Finished run =
        RunProgram({"run", "-", "--input-format", "rgb24", "--size", "336x252", "--rate", "30",
                    "--model", (root / "models/nano.safetensors").string(), "--out",
                    Path("out").string(), "--overwrite", "--json"},
                   limits);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("keyframes by motion"));
    const nlohmann::json health = ReadJson(Path("out/manifest.json"))["health"];
    EXPECT_EQ(health, run.json()["health"]);
    EXPECT_EQ(health["frames"], covered ? 17 : 14);
    const size_t said = run.err.find(notice);
    EXPECT_EQ(said != std::string::npos, covered) << run.err;
    if (!covered) {
      EXPECT_TRUE(health["degraded_at"].is_null());
      EXPECT_EQ(health["warning"], "");
      continue;
    }
    EXPECT_EQ(run.err.find(notice, said + 1), std::string::npos) << run.err;
    EXPECT_EQ(health["degraded_at"], 14);
    EXPECT_THAT(health["warning"].get<std::string>(), HasSubstr("confidence"));
  }
}

// The writer goes on living and says nothing more.
class SilentStream : public VideoRunTest {
 protected:
  void SetUp() override {
    VideoRunTest::SetUp();
    ASSERT_EQ(::mkfifo(Path("fifo").c_str(), 0600), 0);
    limits_.stdin_path = Path("fifo").string();
  }
  void SendFrames(std::ofstream* writer, int count) {
    for (int i = 0; i < count; ++i) *writer << std::string(84 * 56 * 3, static_cast<char>(9 * i));
    writer->flush();
  }
  std::vector<std::string> RawArguments(const std::vector<std::string>& more) const {
    std::vector<std::string> options = {"--input-format", "rgb24", "--size",         "84x56",
                                        "--rate",         "10",    "--scale-frames", "2"};
    options.insert(options.end(), more.begin(), more.end());
    return VideoArguments("-", options);
  }
  Limits limits_;
};

TEST_F(SilentStream, EndsByCtrlC) {
  Program program(RawArguments({"--timeout", "0"}), limits_);
  std::ofstream writer(Path("fifo"), std::ios::binary);
  SendFrames(&writer, 4);
  ASSERT_TRUE(program.WaitForError("frame 1  "));
  program.Send(SIGINT);
  const Finished run = program.Wait();
  ExpectError(run, 130, {"interrupted by signal 2 after ", " frames; they are in "});
  EXPECT_EQ(ReadJson(Path("out/manifest.json"))["status"], "interrupted");
  EXPECT_GE(CountPoses(Path("out/trajectory_tum.txt")), 2);
}

// Windows of 5 frames, 3 apart: of 9 frames all are final when the last one has come, and in the
// files, though the stream goes on.
TEST_F(SilentStream, WindowsAreWrittenWhenTheyEnd) {
  Program program(RawArguments({"--timeout", "0", "--mode", "windowed", "--window-size", "5",
                                "--overlap-frames", "2"}),
                  limits_);
  std::ofstream writer(Path("fifo"), std::ios::binary);
  SendFrames(&writer, 9);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  const auto written = [&] {
    return fs::exists(Path("out/frames.jsonl")) ? ReadLines(Path("out/frames.jsonl")).size() : 0;
  };
  while (written() < 9 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_EQ(written(), 9u);
  EXPECT_EQ(CountPoses(Path("out/trajectory_tum.txt")), 9);
  EXPECT_EQ(ReadJson(Path("out/manifest.json"))["status"], "running");
  program.Send(SIGINT);
  const Finished run = program.Wait();
  ExpectError(run, 130, {"interrupted by signal 2 after 9 frames; they are in "});
  ExpectFrames(9, "interrupted");
  EXPECT_EQ(ReadJson(Path("out/manifest.json"))["windows"].size(), 3u);
}

TEST_F(SilentStream, EndsByItself) {
  Program program(RawArguments({"--timeout", "0.3"}), limits_);
  std::ofstream writer(Path("fifo"), std::ios::binary);
  SendFrames(&writer, 4);
  const Finished run = program.Wait();
  ExpectError(run, 1,
              {"standard input: nothing came for 0.3 s after 4 frames", "(4 frames are in"});
  ExpectFrames(4, "failed");
}

TEST_F(VideoRunTest, TakesAPattern) {
  WriteFrames(Path("in"), 12);
  const Finished run = RunVideo("in/frame_1*.png");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  ExpectFrames(3);  // 1, 10, 11
}

}  // namespace
}  // namespace lingbot::cli
