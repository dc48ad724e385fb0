// Command lines, images and checkpoints that cannot be used: one line, an exit code, nothing done.

#include <cstdint>

#include "fixtures.h"

namespace lingbot::cli {
namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::HasSubstr;

class InputTest : public CliTest {
 protected:
  // A refusal before the run: the output folder was not even made.
  void ExpectRefusal(const Finished& run, int exit_code, const std::vector<std::string>& parts) {
    ExpectError(run, exit_code, parts);
    EXPECT_FALSE(fs::exists(Path("out")));
  }
};

TEST_F(InputTest, RefusesCommandLines) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "--help"},
      {{"fly"}, "fly"},
      {{"run"}, "INPUT"},
      {{"run", "in", "--model", "m"}, "--out"},
      {{"info"}, "FILE"},
      {{"run", "in", "--model", "m", "--out", "o", "--frobnicate"}, "--frobnicate"},
      {{"run", "in", "more", "--model", "m", "--out", "o"}, "more"},
  };
  for (const auto& [arguments, part] : cases) {
    const Finished run = RunProgram(arguments);
    ExpectError(run, 2, {part, "--help"});
    EXPECT_EQ(run.out, "");
  }
}

TEST_F(InputTest, RefusesOptions) {
  WriteFrames(Path("in"), 2);
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--image-size", "0"}, "--image-size"},
      {{"--image-size", "83"}, "multiple of the patch size 14"},
      {{"--image-size", "1000000"}, "--image-size"},
      {{"--image-size", "big"}, "--image-size"},
      {{"--scale-frames", "0"}, "--scale-frames"},
      {{"--scale-frames", "5000"}, "1024"},
      {{"--window", "-1"}, "--window"},
      {{"--window", "99999999999999999999"}, "--window"},
      {{"--keyframe-interval", "0"}, "--keyframe-interval"},
      {{"--keyframe-interval", "automatic"}, "--keyframe-interval"},
      {{"--keyframe-motion", "-0.1"}, "--keyframe-motion"},
      {{"--keyframe-motion", "nan"}, "--keyframe-motion"},
      {{"--keyframe-motion", "0.1", "--keyframe-interval", "2"}, "excludes"},
      {{"--keyframe-motion", "0.1", "--mode", "windowed"}, "--keyframe-motion does not go with"},
      {{"--keyframe-max-gap", "0"}, "--keyframe-max-gap"},
      {{"--camera-iterations", "1000"}, "64"},
      {{"--trajectory-frames", "3"}, "trajectory_frames is 3"},
      {{"--mode", "backwards"}, "--mode"},
      {{"--mode", "windowed", "--window-size", "7"}, "window size 7 is smaller"},
      {{"--mode", "windowed", "--overlap-frames", "64"}, "overlap of 64 frames"},
      {{"--mode", "windowed", "--overlap-frames", "9", "--overlap-keyframes", "9"}, "excludes"},
      {{"--stride", "0"}, "--stride"},
      {{"--max-frames", "-1"}, "--max-frames"},
      {{"--precision", "fp64"}, "--precision"},
      {{"--attention", "magic"}, "--attention"},
      {{"--preprocess", "squash"}, "--preprocess"},
      {{"--threads", "0"}, "--threads"},
      {{"--memory-limit", "4 bananas"}, "4GiB"},
      {{"--conf", "1"}, "--conf-threshold"},
      {{"--conf", "-0.1"}, "--conf"},
      {{"--conf", "nan"}, "--conf"},
      {{"--conf", "0.5", "--conf-threshold", "2"}, "excludes"},
      {{"--conf-threshold", "inf"}, "--conf-threshold"},
      {{"--voxel", "-1"}, "--voxel"},
      {{"--max-points", "0"}, "--max-points"},
  };
  for (const auto& [options, part] : cases) {
    SCOPED_TRACE(testing::PrintToString(options));
    ExpectRefusal(Run(options), 2, {part});
  }
}

// What the parser has to say comes in our words.
TEST_F(InputTest, SaysWhatAWordShouldHaveBeen) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"run", "in", "--out", "o", "--mode", "fast"},
       "--mode: 'fast' is none of auto, streaming, windowed"},
      {{"run", "in", "--out", "o", "--fsp", "3"}, "run has no option --fsp; did you mean --fps?"},
      {{"rnu"}, "'rnu' is no command of lingbot-map; did you mean run?"},
      {{"run", "my", "clip.mp4", "--out", "o"}, "a name with spaces needs quotes"},
      {{"run", "in", "--out"}, "--out needs a value"},
      {{"run", "in", "--out", "o", "--quiet=x"}, "--quiet takes no value"},
      {{"run", "in", "--out", "o", "--fps", "1", "--fps", "2"}, "--fps is given more than once"},
      {{"run", "in", "--out", "o", "--threads", "two"},
       "'two' is not a whole number from 1 to 1024"},
      {{"eval", "r", "--ground-truth", "t", "--associate", "x"}, "none of auto, time, index, name"},
      {{"help", "rnu"}, "'rnu' is no command"},
  };
  for (const auto& [arguments, part] : cases) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    ExpectError(RunProgram(arguments), 2, {part});
  }
}

TEST_F(InputTest, DoctorSaysWhatFitsIntoACard) {
  const Finished four =
      RunProgram({"doctor", "--device", "cpu", "--memory-limit", "4GiB", "--json"});
  const Finished eight =
      RunProgram({"doctor", "--device", "cpu", "--memory-limit", "8GiB", "--json"});
  const auto fitting = [](const Finished& doctor) {
    int count = 0;
    const auto json = doctor.json();
    for (const auto& row : json["memory"]) count += row["fits"].get<bool>() ? 1 : 0;
    return count;
  };
  ASSERT_EQ(four.exit_code, 0) << four.err;
  EXPECT_GT(fitting(four), 0);
  EXPECT_GT(fitting(eight), fitting(four));
  EXPECT_THAT(RunProgram({"doctor", "--memory-limit", "1MB"}).out, HasSubstr("none of these fits"));
  EXPECT_THAT(RunProgram({"doctor", "--memory-limit", "8GiB"}).out,
              HasSubstr("+ fits, - does not"));
  std::filesystem::create_directories(Path("models"));
  std::filesystem::copy(model(), Path("models") / "mine.safetensors");
  const std::string folder = Path("models").string();
  EXPECT_EQ(RunProgram({"doctor", "--model", "mine", "--models-dir", folder}).exit_code, 0);
  EXPECT_EQ(RunProgram({"info", "mine", "--models-dir", folder}).exit_code, 0);
}

TEST_F(InputTest, HelpAndVersionAreNoErrors) {
  const Finished help = RunProgram({"run", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.err, "");
  for (const char* option :
       {"--image-size", "--keyframe-interval", "--memory-limit", "--skip-bad"}) {
    EXPECT_THAT(help.out, HasSubstr(option));
  }
  EXPECT_THAT(help.out, HasSubstr("--scale-frames 1..1024"));
  EXPECT_THAT(help.out, HasSubstr("--camera-iterations 1..64"));
  EXPECT_THAT(help.out, HasSubstr("stop after so many frames; 0 = all"));
  EXPECT_EQ(RunProgram({"--help"}).exit_code, 0);
  EXPECT_THAT(RunProgram({"--version"}).out, HasSubstr("lingbot-map 0."));
}

TEST_F(InputTest, RefusesFoldersWithoutImages) {
  ExpectRefusal(Run(), 2, {"does not exist", "a folder of images, one image or a video"});
  fs::create_directories(Path("in"));
  ExpectRefusal(Run(), 2,
                {"no images in the folder", ".jpg, .jpeg, .png, .webp, .tif, .tiff and .bmp"});
  WriteBytes(Path("in/notes.txt"), "text");
  WriteBytes(Path("in/.hidden.png"), Png(84, 56, 0));
  fs::create_directories(Path("in/more.png"));
  ExpectRefusal(Run(), 2, {"no images in the folder", "1 other files", "1 folders"});
  WriteBytes(Path("in/text.png"), "no image at all");
  ExpectRefusal(Run(), 2, {"text.png", "1 of 1 images are bad"});
  ExpectRefusal(Run({"--skip-bad"}), 2, {"none of the 1 images"});
}

TEST_F(InputTest, RefusesAFileThatIsNoImage) {
  WriteBytes(Path("notes.txt"), "text");
  const Finished run = RunProgram(
      {"run", Path("notes.txt").string(), "--model", model(), "--out", Path("out").string()});
  ExpectRefusal(run, 2, {"notes.txt"});
}

TEST_F(InputTest, NamesImagesThatAreTooSmall) {
  for (const auto& [width, height] : {std::pair(1000, 10), std::pair(518, 7), std::pair(1, 1)}) {
    fs::create_directories(Path("in"));
    WriteBytes(Path("in/thin.png"), Png(width, height, 0));
    ExpectRefusal(Run(), 2, {"thin.png", "too small"});
  }
  WriteFrames(Path("in"), 2);
  ASSERT_EQ(Run({"--skip-bad"}).exit_code, 0);
  ExpectFrames(2);
}

TEST_F(InputTest, StopsBeforeWorkAtABrokenImageOrSkipsIt) {
  WriteFrames(Path("in"), 10);
  const std::string whole = ReadText(Path("in/frame_3.png"));
  WriteBytes(Path("in/frame_3.png"), whole.substr(0, whole.size() / 2));
  ExpectRefusal(Run(), 2, {"frame_3.png", "1 of 10 images are bad"});
  const Finished run = Run({"--skip-bad"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("frame_3.png"));
  ExpectFrames(9);
  const std::vector<std::string> lines = ReadLines(Path("out/frames.jsonl"));
  EXPECT_EQ(nlohmann::json::parse(lines[2])["source_index"], 2);
  EXPECT_EQ(nlohmann::json::parse(lines[3])["source_index"], 4);
  EXPECT_EQ(nlohmann::json::parse(lines[3])["source"], "frame_4.png");
}

TEST_F(InputTest, NamesAFrameOfAnotherSizeOrSkipsIt) {
  WriteFrames(Path("in"), 4);
  WriteBytes(Path("in/frame_2.png"), Png(84, 84, 0));
  ExpectRefusal(Run(), 2, {"frame_2.png (84x84)", "frame_0.png came to 84x56"});
  const Finished run = Run({"--skip-bad"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("skipped image 2: frame_2.png"));
  ExpectFrames(3);
  // Other pixels that come to the same size are no other size.
  WriteBytes(Path("in/frame_2.png"), Png(168, 112, 0));
  EXPECT_EQ(Run({"--overwrite"}).exit_code, 0);
  ExpectFrames(4);
}

class ModelFileTest : public InputTest {
 protected:
  void ExpectRefused(const std::string& file, const std::vector<std::string>& parts,
                     int exit_code = 1) {
    SCOPED_TRACE(file);
    WriteFrames(Path("in"), 2);
    ExpectRefusal(
        RunProgram({"run", Path("in").string(), "--model", file, "--out", Path("out").string()}),
        exit_code, parts);
    ExpectError(RunProgram({"info", file}), exit_code, parts);
  }
  std::string File(const std::string& name, const std::string& bytes) {
    WriteBytes(Path(name), bytes);
    return Path(name).string();
  }
};

TEST_F(ModelFileTest, RecognisesWhatIsNoCheckpoint) {
  ExpectRefused(Path("none.pt").string(), {"none.pt"}, 2);
  ExpectRefused(Path("in").string(), {"in"}, 2);
  ExpectRefused(File("empty.pt", ""), {"empty.pt"});
  ExpectRefused(File("lfs.pt", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
                {"LFS"});
  ExpectRefused(File("page.pt", "<!DOCTYPE html><html><body>404</body></html>"), {"page.pt"});
  ExpectRefused(File("length.safetensors", std::string(8, '\xff') + "{}"), {"length.safetensors"});
}

TEST_F(ModelFileTest, RecognisesATruncatedFile) {
  ExpectRefused(File("cut.safetensors", ReadText(model()).substr(0, 1 << 20)), {"cut.safetensors"});
}

TEST_F(ModelFileTest, NamesAMissingTensor) {
  const std::string name = "aggregator.global_blocks.2.attn.qkv.weight";
  WriteModel(Path("missing.safetensors"), {name, {}});
  ExpectRefused(Path("missing.safetensors").string(), {name});
}

TEST_F(ModelFileTest, NamesATensorOfAnotherShape) {
  const std::string name = "aggregator.frame_blocks.1.mlp.fc2.weight";
  WriteModel(Path("shape.safetensors"), {"", {{name, {128, 500}}}});
  ExpectRefused(Path("shape.safetensors").string(), {name, "[128, 500]", "[128, 512]"});
}

TEST_F(ModelFileTest, RefusesLegacyAndHostilePickles) {
  const fs::path folder = fs::path(LINGBOT_SOURCE_DIR) / "../shared/cases/pt";
  if (!fs::exists(folder)) GTEST_SKIP() << "needs " << folder;
  ExpectRefused((folder / "legacy.pt").string(), {"re-save"});
  ExpectRefused((folder / "evil.pt").string(), {"evil.pt"});
  EXPECT_FALSE(fs::exists("pwned_by_pickle"));
}

TEST_F(ModelFileTest, WarnsOnceOfTensorsItHasNoUseFor) {
  WriteFrames(Path("in"), 1);
  const std::string path = Path("more.safetensors").string();
  WriteModel(path, {"", {{"point_head.a.weight", {3, 4}}, {"point_head.b.weight", {3, 4}}}});
  const Finished run = RunProgram({"run", Path("in").string(), "--model", path, "--out",
                                   Path("out").string(), "--precision", "fp32"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const size_t first = run.err.find("2 tensors");
  ASSERT_NE(first, std::string::npos) << run.err;
  EXPECT_EQ(run.err.find("point_head", run.err.find("point_head") + 1), std::string::npos);
}

TEST_F(ModelFileTest, ErrorsAreJsonToo) {
  const Finished run = Run({"--json"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.json()["status"], "failed");
  EXPECT_EQ(run.json()["error"]["code"], "FILE_NOT_FOUND");
}

TEST_F(CliTest, InfoDescribesACheckpoint) {
  const Finished text = RunProgram({"info", model()});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  for (const char* part : {"safetensors", "image width 84", "84x84", "84x42", "8 scale frames"}) {
    EXPECT_THAT(text.out, HasSubstr(part));
  }
  const nlohmann::json info = RunProgram({"info", model(), "--json"}).json();
  ASSERT_TRUE(info.is_object());
  EXPECT_EQ(info["model"]["embed_dim"], 128);
  EXPECT_EQ(info["model"]["scale_frames"], 8);
  EXPECT_EQ(info["model"]["parameters"], info["elements"]);
  EXPECT_EQ(info["tensors_by_dtype"].size(), 1u);
  EXPECT_EQ(info["memory"].size(), 10u);
  EXPECT_EQ(info["memory"][0]["width"], info["model"]["img_size"]);
  EXPECT_GT(info["memory"][0]["bytes"], info["memory"][0]["weight_bytes"]);
  EXPECT_EQ(info["file_bytes"], fs::file_size(model()));
}

TEST_F(InputTest, FindsModelsByName) {
  WriteFrames(Path("in"), 2);
  std::filesystem::create_directories(Path("models"));
  std::filesystem::create_symlink(model(), Path("models") / "nano.safetensors");
  std::vector<std::string> arguments = {"run",          Path("in").string(),
                                        "--out",        Path("out").string(),
                                        "--models-dir", Path("models").string()};
  const Finished bundled = RunProgram(arguments);
  ASSERT_EQ(bundled.exit_code, 0) << bundled.err;
  EXPECT_THAT(bundled.err, HasSubstr("no --model given: using the bundled model nano"));
  arguments.insert(arguments.end(), {"--model", "nano", "--overwrite"});
  const Finished named = RunProgram(arguments);
  ASSERT_EQ(named.exit_code, 0) << named.err;
  EXPECT_THAT(named.err, testing::Not(HasSubstr("no --model given")));
  arguments[arguments.size() - 2] = "mega";
  ExpectError(RunProgram(arguments), 2, {"no model mega", Path("models").string()});
}

TEST_F(CliTest, DoctorDescribesTheMachine) {
  const Finished text = RunProgram({"doctor"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("oneDNN"));
  EXPECT_THAT(text.out, HasSubstr("518x518"));
  const nlohmann::json doctor = RunProgram({"doctor", "--model", model(), "--json"}).json();
  ASSERT_TRUE(doctor.is_object());
  EXPECT_GE(doctor["cores"], 1);
  EXPECT_GT(doctor["memory_bytes"], 0);
  EXPECT_EQ(doctor["memory"].size(), 5u * 4 * 2);
  EXPECT_TRUE(doctor["memory"][0].contains("fits"));
  ExpectError(RunProgram({"doctor", "--model", Path("none.pt").string()}), 2, {"none.pt"});
}

}  // namespace
}  // namespace lingbot::cli
