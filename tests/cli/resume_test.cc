// Runs that end early and are taken up again: whatever the end, the results are those of a run that
// was never interrupted, byte for byte.

#include <signal.h>

#include <set>

#include "fixtures.h"

namespace lingbot::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class ResumeTest : public CliTest {
 protected:
  // The same command, into another folder.
  std::vector<std::string> Into(const std::string& out,
                                const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = Arguments(more);
    arguments[5] = Path(out).string();
    return arguments;
  }

  // All files of a run but those that speak of how it went.
  std::map<std::string, std::string> FilesOf(const std::string& out) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(Path(out))) {
      const std::string name = fs::relative(entry.path(), Path(out)).string();
      if (!entry.is_regular_file() || name == "manifest.json" || name == "snapshot.bin") continue;
      files[name] = ReadText(entry.path());
    }
    return files;
  }

  void ExpectSameResults(const std::string& out, const std::string& expected) const {
    const auto files = FilesOf(out);
    const auto expected_files = FilesOf(expected);
    for (const auto& [name, text] : expected_files) {
      EXPECT_TRUE(files.count(name) == 1 && files.at(name) == text) << name;
    }
    for (const auto& [name, text] : files) EXPECT_EQ(expected_files.count(name), 1u) << name;
  }

  // Frame `index` cannot be decoded from now on, or can be again.
  void Break(int index) const { WriteBytes(Frame(index), BrokenPng(index)); }
  void Mend(int index) const { WriteBytes(Frame(index), Png(84, 56, index)); }

 private:
  fs::path Frame(int index) const { return Path("in/frame_" + std::to_string(index) + ".png"); }

  // Whole to the eye that only looks at chunks and checksums.
  static std::string BrokenPng(int index) {
    const std::string png = Png(84, 56, index);
    testing_images::FileBytes bytes(reinterpret_cast<const std::byte*>(png.data()),
                                    reinterpret_cast<const std::byte*>(png.data()) + png.size());
    const size_t data = png.find("IDAT") + 4;
    for (size_t i = data + 20; i < data + 60; ++i) bytes[i] = std::byte{0xff};
    testing_images::RepairChecksums(&bytes);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

struct Mode {
  std::vector<std::string> options;
};
class EveryMode : public ResumeTest, public testing::WithParamInterface<Mode> {};

// Ends at a frame that cannot be read, before, with and after the scale frames; in windowed mode
// also while frames of two windows are held back. Ends twice before it comes to the end.
TEST_P(EveryMode, GoesOnAsIfNothingHadHappened) {
  constexpr int kFrames = 24;
  WriteFrames(Path("in"), kFrames);
  std::vector<std::string> more = GetParam().options;
  ASSERT_EQ(RunProgram(Into("whole", more)).exit_code, 0);
  more.insert(more.end(), {"--snapshot-every", "1000"});
  for (const auto& [first, second] :
       std::vector<std::pair<int, int>>{{1, 2}, {3, 11}, {5, 6}, {10, 23}}) {
    SCOPED_TRACE(std::to_string(first) + ", " + std::to_string(second));
    fs::remove_all(Path("out"));
    std::vector<std::string> command = more;
    for (const int end : {first, second}) {
      Break(end);
      const Finished run = Run(command);
      ASSERT_EQ(run.exit_code, 1) << run.err;
      ASSERT_TRUE(fs::exists(Path("out/snapshot.bin")));
      Mend(end);
      if (command.size() == more.size()) command.push_back("--resume");
    }
    const Finished run = Run(command);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.err,
                HasSubstr("resuming from a snapshot after frame " + std::to_string(second)));
    ExpectSameResults("out", "whole");
    const nlohmann::json manifest = ReadJson(Path("out/manifest.json"));
    EXPECT_EQ(manifest["status"], "complete");
    EXPECT_EQ(manifest["frames"], kFrames);
    EXPECT_EQ(manifest["resumed_at_frames"].size(), 2u);
    EXPECT_EQ(manifest["keyframes"], ReadJson(Path("whole/manifest.json"))["keyframes"]);
    EXPECT_EQ(manifest["cloud"], ReadJson(Path("whole/manifest.json"))["cloud"]);
    EXPECT_EQ(manifest.value("windows", nlohmann::json()),
              ReadJson(Path("whole/manifest.json")).value("windows", nlohmann::json()));
    EXPECT_FALSE(fs::exists(Path("out/snapshot.bin"))) << "of a finished run";
  }
}
INSTANTIATE_TEST_SUITE_P(
    All, EveryMode,
    testing::Values(Mode{{"--scale-frames", "3", "--window", "4", "--keyframe-interval", "2",
                          "--trajectory-frames", "8"}},
                    Mode{{"--scale-frames", "2", "--window", "2", "--max-points", "3000", "--conf",
                          "0.3", "--no-depth", "--export",
                          "kitti,glb,colmap-text,colmap-bin,nerfstudio,npz"}},
                    Mode{{"--scale-frames", "2", "--mode", "windowed", "--window-size", "6",
                          "--overlap-frames", "3", "--preprocess", "pad"}}));

// The files are ahead of the snapshot: what came after it is computed again.
TEST_F(ResumeTest, TakesBackWhatCameAfterTheSnapshot) {
  WriteFrames(Path("in"), 20);
  const std::vector<std::string> more = {"--scale-frames", "2", "--window", "3"};
  ASSERT_EQ(RunProgram(Into("whole", more)).exit_code, 0);
  // Half of the frames, a snapshot of the middle, and then the frames that follow.
  std::vector<std::string> command = more;
  command.insert(command.end(), {"--snapshot-every", "1000"});
  Break(7);
  ASSERT_EQ(Run(command).exit_code, 1);
  fs::copy_file(Path("out/snapshot.bin"), Path("early.bin"));
  Mend(7);
  Break(15);
  command.push_back("--resume");
  ASSERT_EQ(Run(command).exit_code, 1);
  ASSERT_EQ(ReadLines(Path("out/frames.jsonl")).size(), 15u);
  fs::copy_file(Path("early.bin"), Path("out/snapshot.bin"), fs::copy_options::overwrite_existing);
  // As a process leaves them that is killed while it writes.
  WriteBytes(Path("out/.snapshot.bin.partial"), "half");
  WriteBytes(Path("out/depth/.000015.npy.partial"), "half");
  WriteBytes(Path("out/depth/000015.npy"), "a file whose line was not written");
  Mend(15);
  const Finished run = Run(command);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("after frame 7"));
  ExpectSameResults("out", "whole");
}

TEST_F(ResumeTest, CtrlCSavesTheRun) {
  WriteFrames(Path("in"), 1);
  for (int i = 1; i < 400; ++i) {
    fs::create_hard_link(Path("in/frame_0.png"), Path("in/frame_" + std::to_string(i) + ".png"));
  }
  std::vector<std::string> command = {"--scale-frames",      "2", "--window", "2",
                                      "--camera-iterations", "1"};
  ASSERT_EQ(RunProgram(Into("whole", command)).exit_code, 0);
  command.insert(command.end(), {"--snapshot-every", "100000"});
  {
    Program program(Arguments(command));
    ASSERT_TRUE(program.WaitForError("frame 1/400"));
    program.Send(SIGINT);
    ASSERT_EQ(program.Wait().exit_code, 130);
  }
  EXPECT_TRUE(fs::exists(Path("out/snapshot.bin")));
  command.push_back("--resume");
  const Finished run = Run(command);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("resuming from a snapshot"));
  ExpectSameResults("out", "whole");
}

TEST_F(ResumeTest, WithoutASnapshotEverythingIsComputedAgain) {
  WriteFrames(Path("in"), 8);
  const std::vector<std::string> more = {"--scale-frames", "2"};
  ASSERT_EQ(RunProgram(Into("whole", more)).exit_code, 0);
  Break(5);
  const Finished failed = Run({"--scale-frames", "2", "--snapshot-every", "off"});
  ASSERT_EQ(failed.exit_code, 1);
  EXPECT_FALSE(fs::exists(Path("out/snapshot.bin")));
  Mend(5);
  const Finished run = Run({"--scale-frames", "2", "--resume"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("no snapshot"));
  EXPECT_THAT(run.err, HasSubstr("from the start"));
  ExpectSameResults("out", "whole");
}

TEST_F(ResumeTest, ACompleteRunStaysAsItIs) {
  WriteFrames(Path("in"), 4);
  ASSERT_EQ(Run({"--resume"}).exit_code, 0) << "a new run, for scripts that always say --resume";
  std::map<std::string, fs::file_time_type> times;
  for (const auto& entry : fs::recursive_directory_iterator(Path("out"))) {
    times[entry.path().string()] = entry.last_write_time();
  }
  const Finished run = Run({"--resume", "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("is complete"));
  EXPECT_EQ(run.json()["status"], "complete");
  EXPECT_EQ(run.json()["frames"], 4);
  for (const auto& entry : fs::recursive_directory_iterator(Path("out"))) {
    EXPECT_EQ(times[entry.path().string()], entry.last_write_time()) << entry.path();
  }
}

// One line that names what differs, and nothing is touched.
TEST_F(ResumeTest, RefusesAnotherRun) {
  WriteFrames(Path("in"), 8);
  WriteFrames(Path("other"), 8);
  WriteFrames(Path("longer"), 9);
  Break(5);
  const std::vector<std::string> more = {"--scale-frames", "2", "--snapshot-every", "1000"};
  ASSERT_EQ(Run(more).exit_code, 1);
  Mend(5);
  const auto before = FilesOf("out");
  const auto refused = [&](std::vector<std::string> command,
                           const std::vector<std::string>& words) {
    command.push_back("--resume");
    ExpectError(RunProgram(command), 2, words);
    EXPECT_EQ(FilesOf("out"), before);
  };
  const auto with = [&](const std::string& option, const std::string& value) {
    std::vector<std::string> command = Arguments(more);
    command.insert(command.end(), {option, value});
    return command;
  };
  refused(with("--window", "5"), {"window", "64", "5"});
  refused(with("--keyframe-interval", "3"), {"keyframe_interval", "1", "3"});
  refused(with("--camera-iterations", "1"), {"camera_iterations"});
  refused(with("--conf", "0.25"), {"conf", "0.5", "0.25"});
  refused(with("--preprocess", "pad"), {"preprocessing.mode", "crop", "pad"});
  refused(with("--image-size", "70"), {"preprocessing.image_size", "84", "70"});
  refused(with("--max-frames", "7"), {"max_frames"});
  refused(with("--attention", "sdpa"), {"attention", "sdpa"});
  std::vector<std::string> command = with("--mode", "windowed");
  command.insert(command.end(), {"--window-size", "6"});
  refused(command, {"mode", "streaming", "windowed"});
  command = Arguments(more);
  command[1] = Path("other").string();
  refused(command, {"the input", "other"});
  WriteModel(Path("model.safetensors"),
             {.drop = {}, .shapes = {}, .damage = "aggregator.camera_token"});
  command = Arguments(more);
  command[3] = Path("model.safetensors").string();
  refused(command, {"weights"});
  fs::remove_all(Path("in"));
  fs::rename(Path("longer"), Path("in"));
  refused(Arguments(more), {"input"});
}

TEST_F(ResumeTest, RefusesADamagedSnapshot) {
  WriteFrames(Path("in"), 8);
  Break(5);
  ASSERT_EQ(Run({"--scale-frames", "2", "--snapshot-every", "1000"}).exit_code, 1);
  Mend(5);
  const std::string whole = ReadText(Path("out/snapshot.bin"));
  const auto before = FilesOf("out");
  for (const size_t length : {size_t{0}, size_t{30}, whole.size() / 2, whole.size() - 1}) {
    WriteBytes(Path("out/snapshot.bin"), whole.substr(0, length));
    ExpectError(Run({"--scale-frames", "2", "--resume"}), 2, {"cannot resume", "snapshot.bin"});
  }
  std::string changed = whole;
  changed[whole.size() / 2] = static_cast<char>(~changed[whole.size() / 2]);
  WriteBytes(Path("out/snapshot.bin"), changed);
  ExpectError(Run({"--scale-frames", "2", "--resume"}), 1, {"snapshot.bin", "damaged"});
  EXPECT_EQ(FilesOf("out"), before);
  // A power cut may take lines that a process had written.
  WriteBytes(Path("out/snapshot.bin"), whole);
  WriteBytes(Path("out/frames.jsonl"), ReadLines(Path("out/frames.jsonl"))[0] + "\n");
  ExpectError(Run({"--scale-frames", "2", "--resume"}), 1, {"frames.jsonl"});
}

TEST_F(ResumeTest, LiveInputsCannotBeResumed) {
  WriteFrames(Path("in"), 1);
  ASSERT_EQ(Run().exit_code, 0);
  WriteBytes(Path("raw"), std::string(84 * 56 * 3 * 2, 'x'));
  std::vector<std::string> command =
      Arguments({"--input-format", "rgb24", "--size", "84x56", "--rate", "10", "--resume"});
  command[1] = "-";
  ExpectError(RunProgram(command, {0, "", {}, Path("raw").string()}), 2, {"live"});
}

// Nothing of the run depends on its snapshots.
TEST_F(ResumeTest, ASnapshotThatCannotBeWrittenCostsAWarning) {
  WriteFrames(Path("in"), 8);
  const std::vector<std::string> more = {"--scale-frames", "2", "--max-points", "5000"};
  ASSERT_EQ(RunProgram(Into("whole", more)).exit_code, 0);
  std::vector<std::string> command = more;
  command.insert(command.end(), {"--snapshot-every", "2"});
  // A full disk: smaller than a snapshot, larger than any result.
  const Finished full = Run(command, {/*file_bytes=*/200'000, "", {}});
  EXPECT_EQ(full.exit_code, 0) << full.err;
  EXPECT_THAT(full.err, HasSubstr("the run goes on without a new snapshot"));
  EXPECT_EQ(full.err.find("without a new snapshot"), full.err.rfind("without a new snapshot"))
      << "said once";
  ExpectSameResults("out", "whole");
  // Asked for as a result, it is missed.
  command.insert(command.end(), {"--keep-snapshot", "--overwrite"});
  ExpectError(Run(command, {200'000, "", {}}), 1, {"snapshot.bin"});
  ExpectFrames(8, "failed");
}

TEST_F(ResumeTest, AFullDiskIsNoEnd) {
  WriteFrames(Path("in"), 40);
  std::vector<std::string> command = {"--scale-frames", "2", "--window", "2"};
  ASSERT_EQ(RunProgram(Into("whole", command)).exit_code, 0);
  command.insert(command.end(), {"--snapshot-every", "5"});
  // Snapshots fit at first; the run ends when the list of frames no longer does.
  Break(9);
  ASSERT_EQ(Run(command).exit_code, 1);
  Mend(9);
  command.push_back("--resume");
  const Finished full = Run(command, {/*file_bytes=*/24000, "", {}});
  ASSERT_EQ(full.exit_code, 1) << full.err;
  const Finished run = Run(command);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("resuming from a snapshot after frame 9"));
  ExpectSameResults("out", "whole");
}

TEST_F(ResumeTest, OnlyOneProcessGoesOn) {
  WriteFrames(Path("in"), 1);
  for (int i = 1; i < 2000; ++i) {
    fs::create_hard_link(Path("in/frame_0.png"), Path("in/frame_" + std::to_string(i) + ".png"));
  }
  const std::vector<std::string> more = {"--scale-frames", "2", "--window", "2"};
  Program first(Arguments(more));
  ASSERT_TRUE(first.WaitForError("frame 1/2000"));
  std::vector<std::string> command = more;
  command.push_back("--resume");
  ExpectError(Run(command), 1, {"another run is writing into"});
  first.Send(SIGINT);
  EXPECT_EQ(first.Wait().exit_code, 130);
}

TEST_F(ResumeTest, KeepsTheSnapshotOfAFinishedMapWhenAsked) {
  WriteFrames(Path("in"), 5);
  ASSERT_EQ(Run({"--keep-snapshot"}).exit_code, 0);
  EXPECT_TRUE(fs::exists(Path("out/snapshot.bin")));
  const Finished again = Run({"--overwrite"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_FALSE(fs::exists(Path("out/snapshot.bin"))) << "of another run";
  ExpectError(Run({"--resume", "--overwrite"}), 2, {"--overwrite"});
  ExpectError(Run({"--snapshot-every", "often", "--overwrite"}), 2, {"--snapshot-every"});
}

}  // namespace
}  // namespace lingbot::cli
