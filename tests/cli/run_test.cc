// Runs that end well, and what they leave behind.

#include <algorithm>

#include "fixtures.h"
#include "geometry/window_layout.h"
#include "lingbot/session.h"
#include "media/frame_source.h"
#include "preprocess/preprocess.h"

namespace lingbot::cli {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class RunTest : public CliTest {};

// Around the default of 8 scale frames, which the model's file does not name.
class FrameCounts : public CliTest, public testing::WithParamInterface<int> {};

TEST_P(FrameCounts, AreAllValid) {
  WriteFrames(Path("in"), GetParam());
  const Finished run = Run({"--json", "--quiet"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, Not(HasSubstr("error")));
  ExpectFrames(GetParam());
  const nlohmann::json summary = run.json();
  ASSERT_TRUE(summary.is_object()) << run.out;
  EXPECT_EQ(summary["status"], "complete");
  EXPECT_EQ(summary["frames"], GetParam());
  EXPECT_EQ(summary["keyframes"], GetParam());
  EXPECT_EQ(summary["width"], 84);
  EXPECT_EQ(summary["height"], 56);
  EXPECT_EQ(summary["points"], CountVertices(Path("out") / "points.ply"));
}

INSTANTIATE_TEST_SUITE_P(Counts, FrameCounts, testing::Values(1, 2, 7, 8, 9));

std::vector<bool> Keyframes(const fs::path& out) {
  std::vector<bool> keyframes;
  for (const std::string& line : ReadLines(out / "frames.jsonl")) {
    keyframes.push_back(nlohmann::json::parse(line)["keyframe"].get<bool>());
  }
  return keyframes;
}

TEST_F(RunTest, StoresEveryNthFrame) {
  WriteFrames(Path("in"), 9);
  const Finished run = Run({"--scale-frames", "2", "--keyframe-interval", "3", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  ExpectFrames(9);
  EXPECT_THAT(Keyframes(Path("out")),
              ElementsAre(true, true, true, false, false, true, false, false, true));
  EXPECT_EQ(run.json()["keyframes"], 5);
  EXPECT_EQ(run.json()["options"]["keyframe_interval"], 3);
  EXPECT_THAT(run.err, Not(HasSubstr("keyframe interval 3 (automatic")));
}

TEST_F(RunTest, StoresByMotion) {
  WriteFrames(Path("in"), 9);
  const Finished run =
      Run({"--scale-frames", "2", "--keyframe-motion", "1e6", "--keyframe-max-gap", "3", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  ExpectFrames(9);
  EXPECT_THAT(Keyframes(Path("out")),
              ElementsAre(true, true, false, false, true, false, false, true, false));
  EXPECT_EQ(run.json()["options"]["keyframes"], "motion");
  EXPECT_EQ(run.json()["options"]["keyframe_max_gap"], 3);
}

// Seven frames after two, at interval 1 within what one stream may store: the windows are asked
// for by their option.
TEST_F(RunTest, AnOptionOfWindowsChoosesThem) {
  WriteFrames(Path("in"), 9);
  const Finished run = Run({"--scale-frames", "2", "--window-size", "5", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  ExpectFrames(9);
  EXPECT_EQ(run.json()["options"]["mode"], "windowed");
  EXPECT_THAT(run.err, HasSubstr("mode windowed (automatic: an option of windows was given)"));
  EXPECT_EQ(ReadJson(Path("out/manifest.json"))["windows"].size(), 3u);
}

TEST_F(RunTest, RunsWindows) {
  WriteFrames(Path("in"), 14);
  const Finished run = Run({"--mode", "windowed", "--scale-frames", "2", "--window-size", "5",
                            "--window", "2", "--overlap-keyframes", "3", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  ExpectFrames(14);
  WindowOptions layout;
  layout.scale_frames = 2;
  layout.window_size = 5;
  layout.overlap_keyframes = 3;
  const auto spans = SplitIntoWindows(PlanWindows(layout), 14);
  const nlohmann::json windows = ReadJson(Path("out") / "manifest.json")["windows"];
  ASSERT_EQ(windows.size(), spans.size());
  for (size_t i = 0; i < spans.size(); ++i) {
    EXPECT_EQ(windows[i]["first_frame"], spans[i].begin);
    EXPECT_GT(windows[i]["scale"], 0);
    EXPECT_EQ(windows[i]["rotation"].size(), 9u);
  }
  EXPECT_EQ(windows[0]["scale"], 1.0);
}

// What is on the disk is what the library computes from the same images: no frame is mixed up, no
// colours swapped, nothing lost between session and file.
TEST_F(RunTest, WritesWhatTheLibraryComputes) {
  WriteFrames(Path("in"), 5);
  const Finished run = Run({"--scale-frames", "2", "--camera-iterations", "2"});
  ASSERT_EQ(run.exit_code, 0) << run.err;

  const ThreadTeam team(1);
  ImageFolderSource source(Path("in"), {});
  Preprocessor preprocessor({84, 14, ResizeMode::kCrop}, &team);
  ModelOptions precision;
  precision.precision = Precision::kFloat32;
  precision.threads = 1;
  SessionOptions options;
  options.scale_frames = 2;
  options.camera_iterations = 2;
  options.threads = 1;
  Session session(Model::Load(model(), precision), 56, 84, options);
  int compared = 0;
  const auto compare = [&](const FrameResult& result) {
    char name[16];
    std::snprintf(name, sizeof(name), "%06d.npy", static_cast<int>(result.index));
    EXPECT_EQ(ReadNpy(Path("out") / "depth" / name),
              std::vector<float>(result.depth.begin(), result.depth.end()))
        << name;
    EXPECT_EQ(ReadNpy(Path("out") / "confidence" / name),
              std::vector<float>(result.confidence.begin(), result.confidence.end()))
        << name;
    ++compared;
  };
  Image image;
  while (source.Next(&image)) {
    const auto& frame = preprocessor.Run(image.rgb.data(), image.width, image.height, image.name);
    session.Add({frame.pixels.data<float>(), size_t{3} * 56 * 84}, compare);
  }
  session.Finish(compare);
  EXPECT_EQ(compared, 5);
}

TEST_F(RunTest, TakesOneImageAndLargerOnes) {
  WriteBytes(Path("photo.jpg"), Jpeg(168, 112, 3));
  const Finished run = RunProgram({"run", Path("photo.jpg").string(), "--model", model(), "--out",
                                   Path("out").string(), "--precision", "fp32"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  ExpectFrames(1);
  const auto record = nlohmann::json::parse(ReadLines(Path("out") / "frames.jsonl")[0]);
  EXPECT_EQ(record["source"], "photo.jpg");
  EXPECT_EQ(record["intrinsics_original"]["width"], 168);
  EXPECT_EQ(record["intrinsics_resized"]["width"], 84);
  EXPECT_NEAR(record["intrinsics_original"]["fx"],
              2 * record["intrinsics_resized"]["fx"].get<double>(), 1e-9);
}

TEST_F(RunTest, TakesImagesOfAFolderInNaturalOrder) {
  fs::create_directories(Path("in"));
  for (const char* name : {"f_10.PNG", "f_9.png", "f_2.png"}) {
    WriteBytes(Path("in") / name, Png(84, 56, 1));
  }
  WriteBytes(Path("in") / "f_1.JPEG", Jpeg(84, 56, 2));
  WriteBytes(Path("in") / "f_3.jpg", Jpeg(84, 56, 2));
  WriteBytes(Path("in") / "notes.txt", "no image");
  WriteBytes(Path("in") / "f_4.gif", "another format");
  const Finished run = Run();
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("1 images are of formats that are not read"));
  std::vector<std::string> names;
  for (const std::string& line : ReadLines(Path("out") / "frames.jsonl")) {
    names.push_back(nlohmann::json::parse(line)["source"]);
  }
  EXPECT_THAT(names, ElementsAre("f_1.JPEG", "f_2.png", "f_3.jpg", "f_9.png", "f_10.PNG"));
}

TEST_F(RunTest, StridesAndStops) {
  WriteFrames(Path("in"), 12);
  ASSERT_EQ(Run({"--stride", "3", "--max-frames", "3"}).exit_code, 0);
  std::vector<int> indices;
  for (const std::string& line : ReadLines(Path("out") / "frames.jsonl")) {
    indices.push_back(nlohmann::json::parse(line)["source_index"]);
  }
  EXPECT_THAT(indices, ElementsAre(0, 3, 6));
}

// Spaces and letters beyond ASCII; nothing appears beside the input.
TEST_F(RunTest, LeavesTheInputAlone) {
  const fs::path input = Path("Bilder vom Großglockner №1");
  const fs::path out = Path("die Karte/für später");
  WriteFrames(input, 2);
  const Finished run = RunProgram(
      {"run", input.string(), "--model", model(), "--out", out.string(), "--precision", "fp32"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(input)) {
    names.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("frame_0.png", "frame_1.png"));
  EXPECT_EQ(ReadJson(out / "manifest.json")["input"], input.string());
  EXPECT_GT(CountVertices(out / "points.ply"), 0);
}

// File names are bytes; JSON is UTF-8.
TEST_F(RunTest, TakesNamesThatAreNoUtf8) {
  const fs::path input = Path("in \xe4\xff");
  fs::create_directories(input);
  for (const char* name : {"a \xc3.png", "b \xfc\xdf.png", "c \xed\xa0\x80.png"}) {
    WriteBytes(input / name, Png(84, 56, name[0]));
  }
  const fs::path out = Path("out \xe9");
  const Finished run = RunProgram({"run", input.string(), "--model", model(), "--out", out.string(),
                                   "--precision", "fp32", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(run.json().is_object()) << run.out;
  const nlohmann::json manifest = ReadJson(out / "manifest.json");
  ASSERT_TRUE(manifest.is_object()) << ReadText(out / "manifest.json");
  EXPECT_EQ(manifest["input"], Path("in \ufffd\ufffd").string());
  std::vector<std::string> names;
  for (const std::string& line : ReadLines(out / "frames.jsonl")) {
    const auto record = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(record.is_object()) << line;
    names.push_back(record["source"]);
  }
  EXPECT_THAT(names,
              ElementsAre("a \ufffd.png", "b \ufffd\ufffd.png", testing::StartsWith("c \ufffd")));
}

TEST_F(RunTest, SaysOnceThatPortraitsLoseRows) {
  fs::create_directories(Path("in"));
  for (int i = 0; i < 3; ++i) {
    WriteBytes(Path("in") / (std::to_string(i) + ".png"), Png(72, 128, i));
  }
  const Finished run = Run();
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const size_t first = run.err.find("crop mode cuts off 45 % of their height");  // 84 of 154 rows
  ASSERT_NE(first, std::string::npos) << run.err;
  EXPECT_EQ(run.err.find("crop mode", first + 1), std::string::npos);
}

TEST_F(RunTest, PaddingHasNoDepth) {
  fs::create_directories(Path("in"));
  WriteBytes(Path("in/a.png"), Png(84, 42, 5));
  const Finished run = Run({"--preprocess", "pad", "--conf", "0"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::vector<float> depth = ReadNpy(Path("out/depth/000000.npy"));
  ASSERT_EQ(depth.size(), 84u * 84);
  for (int y = 0; y < 84; ++y) {
    for (int x = 0; x < 84; ++x) {
      EXPECT_EQ(depth[y * 84 + x] != 0, y >= 21 && y < 63) << y;
    }
  }
  EXPECT_EQ(CountVertices(Path("out/points.ply")), 84 * 42);
}

TEST_F(RunTest, LeavesOutWhatIsNotWanted) {
  WriteFrames(Path("in"), 2);
  const Finished run = Run({"--no-ply", "--no-depth", "--quiet"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out + run.err, "");
  EXPECT_FALSE(fs::exists(Path("out/points.ply")));
  EXPECT_FALSE(fs::exists(Path("out/depth/000000.npy")));
  EXPECT_TRUE(fs::exists(Path("out/confidence/000001.npy")));
  EXPECT_EQ(CountPoses(Path("out/trajectory_tum.txt")), 2);
}

TEST_F(RunTest, ThinsPointsAsAsked) {
  WriteFrames(Path("in"), 2);
  ASSERT_EQ(Run({"--max-points", "100"}).exit_code, 0);
  EXPECT_EQ(CountVertices(Path("out/points.ply")), 100);
  ASSERT_EQ(Run({"--overwrite", "--conf", "0"}).exit_code, 0);
  EXPECT_EQ(CountVertices(Path("out/points.ply")), 2 * 84 * 56);
  ASSERT_EQ(Run({"--overwrite", "--conf", "0", "--voxel", "1e6"}).exit_code, 0);
  EXPECT_LE(CountVertices(Path("out/points.ply")), 8);
}

TEST_F(RunTest, SaysThatTheTrajectoryIsThinned) {
  WriteFrames(Path("in"), 20);
  const Finished run = Run({"--scale-frames", "2", "--trajectory-frames", "6"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  ExpectFrames(20);
  const std::string notice = "trajectory";
  const size_t first = run.err.find("lingbot-map: warning: ");
  ASSERT_NE(first, std::string::npos) << run.err;
  const size_t second =
      run.err.find("warning: ", first + std::string("lingbot-map: warning: ").size());
  EXPECT_THAT(run.err.substr(first, second - first), HasSubstr(notice));
  EXPECT_TRUE(second == std::string::npos ||
              run.err.substr(second).find(notice) == std::string::npos)
      << run.err;
}

TEST_F(RunTest, SaysProgressWithRateAndCache) {
  WriteFrames(Path("in"), 3);
  const Finished run = Run({"--scale-frames", "2"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("frame 1/3"));
  EXPECT_THAT(run.err, HasSubstr("frame 3/3"));
  EXPECT_THAT(run.err, testing::ContainsRegex("[0-9.]+ frames/s  ETA 0:00  cache 2 \\+ 1 pages, 3 "
                                              "stored frames, 18 specials"));
  EXPECT_THAT(run.err, HasSubstr("keyframe interval 1 (automatic for 3 frames)"));
  EXPECT_THAT(run.err, HasSubstr("mode streaming (automatic"));
  EXPECT_THAT(run.err, Not(HasSubstr("\r")));
  EXPECT_THAT(run.out, HasSubstr("3 of 3 frames (3 stored)"));
}

TEST_F(RunTest, WritesAManifestThatRepeatsTheRun) {
  WriteFrames(Path("in"), 2);
  ASSERT_EQ(Run({"--window", "5"}).exit_code, 0);
  const nlohmann::json manifest = ReadJson(Path("out/manifest.json"));
  EXPECT_EQ(manifest["input"], Path("in").string());
  EXPECT_EQ(manifest["model"]["name"], model());
  EXPECT_THAT(manifest["model"]["weights_hash"].get<std::string>(),
              testing::MatchesRegex("fnv1a64(-sampled)?:[0-9a-f]{16}"));
  EXPECT_EQ(manifest["options"]["window"], 5);
  EXPECT_EQ(manifest["options"]["scale_frames"], 8);
  EXPECT_EQ(manifest["options"]["precision"], "fp32");
  EXPECT_EQ(manifest["preprocessing"]["image_size"], 84);
  EXPECT_THAT(manifest["conventions"]["scale"].get<std::string>(), HasSubstr("relative"));
  EXPECT_TRUE(manifest["library"].contains("version"));
  EXPECT_GE(manifest["timings"]["seconds_per_frame"], 0.0);
}

TEST_F(RunTest, EndsOnceTheInputEndsInBf16AndEveryBackEnd) {
  WriteFrames(Path("in"), 3);
  for (const char* attention : {"reference", "cpu", "sdpa"}) {
    const Finished run = RunProgram({"run", Path("in").string(), "--model", model(), "--out",
                                     Path(attention).string(), "--precision", "bf16", "--attention",
                                     attention, "--scale-frames", "2"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(ReadJson(Path(attention) / "manifest.json")["options"]["precision"], "bf16");
  }
}

}  // namespace
}  // namespace lingbot::cli
