// Runs that end early: what was computed stays usable, and the first cause is what is said.

#include <signal.h>

#include <algorithm>
#include <regex>

#include "fixtures.h"

namespace lingbot::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class FailureTest : public CliTest {};

// A PNG whose chunks and checksums are whole but whose pixels cannot be decoded: only decoding
// notices.
std::string UndecodablePng() {
  const std::string png = Png(84, 56, 1);
  testing_images::FileBytes bytes(reinterpret_cast<const std::byte*>(png.data()),
                                  reinterpret_cast<const std::byte*>(png.data()) + png.size());
  const size_t data = png.find("IDAT") + 4;
  for (size_t i = data + 20; i < data + 60; ++i) bytes[i] = std::byte{0xff};
  testing_images::RepairChecksums(&bytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_F(FailureTest, KeepsTheFramesBeforeABadOne) {
  WriteFrames(Path("in"), 8);
  WriteBytes(Path("in/frame_5.png"), UndecodablePng());
  ExpectError(Run({"--scale-frames", "2"}), 1, {"frame_5.png", "5 of 8 frames"});
  ExpectFrames(5, "failed");
  EXPECT_THAT(ReadJson(Path("out/manifest.json"))["error"].get<std::string>(),
              HasSubstr("frame_5.png"));
}

TEST_F(FailureTest, ProcessesHeldBackFramesBeforeABadOne) {
  WriteFrames(Path("in"), 8);
  WriteBytes(Path("in/frame_5.png"), UndecodablePng());
  const Finished run = Run({"--json"});
  ExpectError(run, 1, {"frame_5.png", "5 of 8 frames"});
  EXPECT_EQ(run.json()["status"], "failed");
  EXPECT_EQ(run.json()["frames"], 5);
  EXPECT_EQ(run.json()["error"]["code"], "CORRUPT_FILE");
  ExpectFrames(5, "failed");
}

TEST_F(FailureTest, KeepsTheOverlapOfAWindowBeforeABadFrame) {
  WriteFrames(Path("in"), 12);
  WriteBytes(Path("in/frame_9.png"), UndecodablePng());
  ExpectError(Run({"--mode", "windowed", "--scale-frames", "2", "--window-size", "5",
                   "--overlap-frames", "2"}),
              1, {"frame_9.png"});
  ExpectFrames(9, "failed");
}

TEST_F(FailureTest, SkipsABadFrameDuringTheRun) {
  WriteFrames(Path("in"), 8);
  WriteBytes(Path("in/frame_5.png"), UndecodablePng());
  const Finished run = Run({"--skip-bad"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("frame 7/7"));
  ExpectFrames(7);
}

TEST_F(FailureTest, StrictTrajectoryEndsWithTheFramesThatFit) {
  WriteFrames(Path("in"), 20);
  ExpectError(Run({"--scale-frames", "2", "--trajectory-frames", "10", "--strict"}), 1,
              {"10 of 20 frames"});
  ExpectFrames(10, "failed");
}

TEST_F(FailureTest, NoPointIsAnErrorWithTheConfidences) {
  WriteFrames(Path("in"), 2);
  ExpectError(Run({"--conf-threshold", "1e9"}), 1, {"no point cloud", "median"});
  EXPECT_EQ(ReadLines(Path("out/frames.jsonl")).size(), 2u);
  EXPECT_EQ(ReadJson(Path("out/manifest.json"))["status"], "failed");
  EXPECT_FALSE(fs::exists(Path("out/points.ply")));
}

// Enough frames that the run cannot end before the signal arrives.
void WriteManyFrames(const fs::path& folder) {
  WriteFrames(folder, 1);
  for (int i = 1; i < 3000; ++i) {
    fs::create_hard_link(folder / "frame_0.png", folder / ("frame_" + std::to_string(i) + ".png"));
  }
}

TEST_F(FailureTest, KilledRunLeavesValidFiles) {
  WriteManyFrames(Path("in"));
  Program program(Arguments({"--scale-frames", "1", "--window", "2"}));
  ASSERT_TRUE(program.WaitForError("frame 1/3000"));
  program.Send(SIGKILL);
  EXPECT_EQ(program.Wait().signal, SIGKILL);
  const std::vector<std::string> lines = ReadLines(Path("out/frames.jsonl"));
  ASSERT_GE(lines.size(), 1u);
  EXPECT_EQ(ReadJson(Path("out/manifest.json"))["status"], "running");
  for (const std::string& line : lines) {
    const auto record = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(record.is_object()) << line;
    for (const auto& file : record["files"]) {
      EXPECT_TRUE(fs::exists(Path("out") / file.get<std::string>()));
    }
    EXPECT_EQ(ReadNpy(Path("out") / record["files"]["depth_npy"].get<std::string>()).size(),
              84u * 56);
  }
  EXPECT_GE(CountPoses(Path("out/trajectory_tum.txt")), static_cast<int>(lines.size()));
}

TEST_F(FailureTest, InterruptedRunIsFinished) {
  WriteManyFrames(Path("in"));
  for (const int signal : {SIGINT, SIGTERM}) {
    Program program(Arguments({"--scale-frames", "1", "--window", "2", "--overwrite", "--json"}));
    ASSERT_TRUE(program.WaitForError("frame 1/3000"));
    program.Send(signal);
    const Finished run = program.Wait();
    ExpectError(run, 130, {"interrupted by signal " + std::to_string(signal), "of 3000 frames"});
    ASSERT_TRUE(run.json().is_object()) << run.out;
    EXPECT_EQ(run.json()["status"], "interrupted");
    const int frames = run.json()["frames"];
    EXPECT_GE(frames, 1);
    EXPECT_LT(frames, 3000);
    ExpectFrames(frames, "interrupted");
  }
}

// The first result needs more frames than can be read before the signal is seen.
TEST_F(FailureTest, InterruptedBeforeTheFirstFrame) {
  WriteManyFrames(Path("in"));
  Program program(Arguments({"--scale-frames", "1000"}));
  ASSERT_TRUE(program.WaitForError("loading"));
  program.Send(SIGINT);
  const Finished run = program.Wait();
  ExpectError(run, 130, {"interrupted by signal 2 before the first of 3000 frames was done"});
  EXPECT_THAT(run.err, testing::Not(HasSubstr("they are in")));
  ExpectFrames(0, "interrupted");
}

TEST_F(FailureTest, TwoRunsDoNotShareAFolder) {
  WriteManyFrames(Path("in"));
  WriteFrames(Path("short"), 2);
  Program first(Arguments({"--scale-frames", "1", "--window", "2"}));
  ASSERT_TRUE(first.WaitForError("frame 1/3000"));
  const Finished second = RunProgram({"run", Path("short").string(), "--model", model(), "--out",
                                      Path("out").string(), "--overwrite"});
  ExpectError(second, 1, {"another run is writing into", Path("out").string()});
  first.Send(SIGINT);
  const Finished run = first.Wait();
  EXPECT_EQ(run.exit_code, 130) << run.err;
  const nlohmann::json manifest = ReadJson(Path("out/manifest.json"));
  EXPECT_EQ(manifest["input"], Path("in").string());
  ExpectFrames(manifest["frames"], "interrupted");
}

TEST_F(FailureTest, NoFinitePoseIsAnError) {
  WriteFrames(Path("in"), 3);
  ModelChange change;
  change.damage = "camera_head.pose_branch.fc2.bias";
  WriteModel(Path("damaged.safetensors"), change);
  const std::vector<std::string> arguments = {
      "run",   Path("in").string(),  "--model", Path("damaged.safetensors").string(),
      "--out", Path("out").string(), "--json"};
  for (const bool ply : {true, false}) {
    std::vector<std::string> all = arguments;
    all.push_back(ply ? "--overwrite" : "--no-ply");
    if (!ply) all.push_back("--overwrite");
    const Finished run = RunProgram(all);
    ExpectError(run, 1, {"none of the 3 frames has a finite pose", "weights are damaged"});
    EXPECT_EQ(run.json()["status"], "failed");
    const nlohmann::json manifest = ReadJson(Path("out/manifest.json"));
    EXPECT_EQ(manifest["status"], "failed");
    EXPECT_THAT(manifest["error"].get<std::string>(), HasSubstr("finite pose"));
    EXPECT_EQ(CountPoses(Path("out/trajectory_tum.txt")), 0);
  }
}

// Without a descriptor 0, 1 or 2 the next file to be opened would get its number, and with it what
// the program prints.
TEST_F(FailureTest, ResultsStayCleanWhenStreamsAreClosed) {
  WriteFrames(Path("in"), 3);
  const std::vector<std::string> more = {"--scale-frames", "2", "--overwrite"};
  ASSERT_EQ(Run(more).exit_code, 0);
  std::map<fs::path, std::string> expected;
  for (const auto& entry : fs::recursive_directory_iterator(Path("out"))) {
    const fs::path& path = entry.path();
    if (entry.is_regular_file() && path.filename() != "manifest.json") {
      expected[path] = ReadText(path);
    }
  }
  ASSERT_GE(expected.size(), 3u * 3 + 3);
  for (const std::vector<int>& closed :
       std::vector<std::vector<int>>{{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 1, 2}}) {
    SCOPED_TRACE(testing::PrintToString(closed));
    const bool lost = std::count(closed.begin(), closed.end(), 1) > 0;  // the summary
    EXPECT_EQ(Run(more, {0, "", closed}).exit_code, lost ? 1 : 0);
    ExpectFrames(3);
    for (const auto& [path, text] : expected) EXPECT_TRUE(ReadText(path) == text) << path;
  }
}

// Frames are written until a file reaches the limit, which is what a full disk looks like.
TEST_F(FailureTest, FullDiskEndsTheRunWithTheFramesThatFit) {
  WriteFrames(Path("in"), 40);
  const Finished run = Run({"--scale-frames", "2"}, {/*file_bytes=*/24000, "", {}});
  ExpectError(run, 1, {"frames.jsonl"});
  const nlohmann::json manifest = ReadJson(Path("out/manifest.json"));
  EXPECT_EQ(manifest["status"], "failed");
  EXPECT_THAT(manifest["error"].get<std::string>(), HasSubstr("frames.jsonl"));
  const std::vector<std::string> lines = ReadLines(Path("out/frames.jsonl"));
  EXPECT_GT(lines.size(), 5u);
  EXPECT_EQ(manifest["frames"], lines.size());
  for (const std::string& line : lines) {
    ASSERT_TRUE(nlohmann::json::parse(line, nullptr, false).is_object()) << line;
  }
  for (const auto& entry : fs::recursive_directory_iterator(Path("out"))) {
    EXPECT_NE(entry.path().extension(), ".partial");
  }
}

TEST_F(FailureTest, ASummaryThatNobodyGotIsAnError) {
  WriteFrames(Path("in"), 1);
  ExpectError(Run({"--json"}, {0, "/dev/full", {}}), 1, {"standard output"});
  ExpectFrames(1);
}

TEST_F(FailureTest, RefusesOutputFolders) {
  WriteFrames(Path("in"), 2);
  const auto run_into = [&](const std::string& out) {
    return RunProgram({"run", Path("in").string(), "--model", model(), "--out", out});
  };
  WriteBytes(Path("file"), "text");
  ExpectError(run_into(Path("file").string()), 2, {"not a folder"});
  ExpectError(run_into(Path("file/below").string()), 1, {"file/below"});
  ExpectError(run_into("/proc/none"), 1, {"/proc/none"});
  ExpectError(run_into(Path("in").string()), 2, {"lies in the output folder"});
  ExpectError(run_into(Path("").string()), 2, {"lies in the output folder"});
  EXPECT_EQ(ReadText(Path("file")), "text");
}

TEST_F(FailureTest, ReplacesAnEarlierRunOnlyWhenAsked) {
  WriteFrames(Path("in"), 3);
  ASSERT_EQ(Run({"--max-frames", "3"}).exit_code, 0);
  ExpectError(Run({"--max-frames", "2"}), 2, {"an earlier run", "--overwrite"});
  ExpectFrames(3);
  ASSERT_EQ(Run({"--max-frames", "2", "--overwrite"}).exit_code, 0);
  ExpectFrames(2);
  EXPECT_FALSE(fs::exists(Path("out/depth/000002.npy")));
}

TEST_F(FailureTest, WritesBesideOtherFilesOnlyWhenAsked) {
  WriteFrames(Path("in"), 1);
  fs::create_directories(Path("out"));
  WriteBytes(Path("out/diary.txt"), "mine");
  ExpectError(Run(), 2, {"other files", "--overwrite"});
  ASSERT_EQ(Run({"--overwrite"}).exit_code, 0);
  ExpectFrames(1);
  EXPECT_EQ(ReadText(Path("out/diary.txt")), "mine");
}

class MemoryTest : public CliTest {
 protected:
  // "precision bf16 with window 8" and the like as options.
  static std::vector<std::string> OptionsOf(const std::string& setting) {
    std::vector<std::string> options;
    std::smatch match;
    if (std::regex_search(setting, match, std::regex("precision (\\w+)"))) {
      options.insert(options.end(), {"--precision", match[1]});
    }
    if (std::regex_search(setting, match, std::regex("window (\\d+)"))) {
      options.insert(options.end(), {"--window", match[1]});
    }
    if (std::regex_search(setting, match, std::regex("image size (\\d+)"))) {
      options.insert(options.end(), {"--image-size", match[1]});
    }
    return options;
  }
};

// The message names settings; each of them must run under the same limit.
TEST_F(MemoryTest, AdvisesSettingsThatRun) {
  WriteFrames(Path("in"), 20);
  const std::vector<std::string> base = {"run",   Path("in").string(),  "--model",  model(),
                                         "--out", Path("out").string(), "--no-ply", "--threads",
                                         "1"};
  const auto run = [&](const std::string& limit, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = base;
    arguments.insert(arguments.end(), {"--memory-limit", limit, "--overwrite"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunProgram(arguments);
  };
  const Finished plenty = run("10GB", {"--precision", "fp32", "--json"});
  ASSERT_EQ(plenty.exit_code, 0) << plenty.err;
  const uint64_t total = plenty.json()["planned_memory"]["total"];
  const std::string limit = std::to_string(total - 100'000);
  const Finished refused = run(limit, {"--precision", "fp32"});
  ExpectError(refused, 1, {"weights", "cache", "workspace", "these would fit: ", "set aside"});
  const std::string line = refused.error_lines().at(0);
  std::string advice = line.substr(line.find("these would fit: ") + 17);
  advice = advice.substr(0, advice.find(" (of the "));
  int settings = 0;
  for (std::istringstream stream(advice); std::getline(stream, advice, ';'); ++settings) {
    SCOPED_TRACE(advice);
    std::vector<std::string> options = OptionsOf(advice);
    ASSERT_FALSE(options.empty());
    if (advice.find("precision") == std::string::npos) {
      options.insert(options.end(), {"--precision", "fp32"});
    }
    const Finished advised = run(limit, options);
    EXPECT_EQ(advised.exit_code, 0) << advised.err;
  }
  EXPECT_GE(settings, 2);
}

// What a run says that it needs is no less than what it takes, and not beyond reason more.
TEST_F(MemoryTest, PlansNoLessThanItTakes) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  WriteFrames(Path("in"), 24);
  const Finished run = Run({"--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto planned = run.json()["planned_memory"]["total"].get<double>();
  const auto peak = run.json()["peak_resident_bytes"].get<double>();
  constexpr double kFilesOfLibraries = 300e6;  // resident, but in no plan
  EXPECT_LE(peak, planned + kFilesOfLibraries);
  EXPECT_LE(planned, 3 * peak);
}

TEST_F(MemoryTest, RefusesBeforeAnythingIsMade) {
  WriteFrames(Path("in"), 2);
  ExpectError(Run({"--memory-limit", "1MB", "--no-ply"}), 1, {"need", "but"});
  ExpectError(Run({"--memory-limit", "50kB"}), 1, {"--max-points or --no-ply"});
  EXPECT_FALSE(fs::exists(Path("out")));
}

}  // namespace
}  // namespace lingbot::cli
