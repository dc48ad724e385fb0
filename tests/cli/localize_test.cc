// Poses of images in the map that a run left.

#include <cmath>
#include <sstream>

#include "fixtures.h"

namespace lingbot::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// Lines of a TUM trajectory without their times, comments apart.
std::vector<std::string> PosesOf(const std::string& text) {
  std::vector<std::string> poses;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty() && line[0] != '#') poses.push_back(line.substr(line.find(' ')));
  }
  return poses;
}

class LocalizeTest : public CliTest {
 protected:
  void MakeMap(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {"--scale-frames", "2", "--keyframe-interval", "10",
                                    "--max-frames",   "6", "--keep-snapshot"};
    all.insert(all.end(), more.begin(), more.end());
    const Finished run = Run(all);
    ASSERT_EQ(run.exit_code, 0) << run.err;
  }
  std::string map() const { return Path("out/snapshot.bin").string(); }
  Finished Localize(const std::string& input, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"localize", map(), Path(input).string(), "--threads",
                                          "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunProgram(arguments);
  }
};

// The frame after the map's last is what it would have been as a frame that is not stored, and so
// is every other: none leaves a trace.
TEST_F(LocalizeTest, GivesThePosesOfFramesThatAreNotStored) {
  WriteFrames(Path("in"), 7);
  MakeMap();
  const std::string before = ReadText(map());
  const Finished found = Localize("in");
  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_THAT(found.err, HasSubstr("map of 6 frames, 3 of them stored"));
  const std::vector<std::string> poses = PosesOf(found.out);
  ASSERT_EQ(poses.size(), 7u);
  EXPECT_EQ(ReadText(map()), before);
  for (const int frame : {0, 6}) {
    const Finished one = Localize("in/frame_" + std::to_string(frame) + ".png");
    EXPECT_EQ(PosesOf(one.out), std::vector<std::string>{poses[frame]}) << one.err;
  }
  const Finished longer = Run({"--scale-frames", "2", "--keyframe-interval", "10", "--overwrite"});
  ASSERT_EQ(longer.exit_code, 0) << longer.err;
  EXPECT_EQ(PosesOf(ReadText(Path("out/trajectory_tum.txt")))[6], poses[6]);
}

TEST_F(LocalizeTest, WritesLinesAndRecords) {
  WriteFrames(Path("in"), 7);
  MakeMap();
  const Finished found = Localize("in", {"--json", "--out", Path("poses.txt").string()});
  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_EQ(CountPoses(Path("poses.txt")), 7);
  const nlohmann::json json = found.json();
  ASSERT_TRUE(json.is_object()) << found.out;
  ASSERT_EQ(json["frames"].size(), 7u);
  EXPECT_EQ(json["frames"][3]["source"], "frame_3.png");
  EXPECT_EQ(json["frames"][3]["intrinsics_original"]["width"], 84);
  EXPECT_GE(json["frames"][3]["mean_confidence"], 1.0);
  EXPECT_EQ(json["map_frames"], 6);
  const Finished some = Localize("in", {"--stride", "3", "--max-frames", "2", "--quiet"});
  EXPECT_EQ(PosesOf(some.out).size(), 2u);
  EXPECT_EQ(some.err, "");
}

TEST_F(LocalizeTest, PreparesImagesAsTheRunDid) {
  WriteFrames(Path("in"), 6);
  MakeMap({"--preprocess", "pad", "--image-size", "56"});
  const Finished found = Localize("in/frame_2.png", {"--json"});
  ASSERT_EQ(found.exit_code, 0) << found.err;
  const nlohmann::json frame = found.json()["frames"][0];
  EXPECT_EQ(frame["intrinsics_resized"]["width"], 56);
  EXPECT_EQ(frame["intrinsics_resized"]["height"], 56);
}

TEST_F(LocalizeTest, SaysWhatCannotBeUsed) {
  WriteFrames(Path("in"), 8);
  MakeMap();
  fs::create_directories(Path("mixed"));
  WriteBytes(Path("mixed/a.png"), Png(84, 56, 1));
  WriteBytes(Path("mixed/b.png"), Png(84, 84, 1));
  ExpectError(Localize("mixed"), 2, {"b.png", "84x84", "84x56"});
  const Finished skipped = Localize("mixed", {"--skip-bad"});
  EXPECT_EQ(skipped.exit_code, 0) << skipped.err;
  EXPECT_EQ(PosesOf(skipped.out).size(), 1u);
  ExpectError(Localize("none"), 2, {"none"});
  ExpectError(Localize("in/frame_1.png", {"--model", Path("missing").string()}), 2, {"missing"});
  WriteModel(Path("other.safetensors"),
             {.drop = {}, .shapes = {}, .damage = "aggregator.camera_token"});
  ExpectError(Localize("in", {"--model", Path("other.safetensors").string()}), 2,
              {"another model", "other.safetensors"});
  const std::string whole = ReadText(map());
  WriteBytes(map(), whole.substr(0, whole.size() - 100));
  ExpectError(Localize("in"), 2, {"snapshot.bin", "damaged"});
  WriteBytes(map(), "no snapshot at all, just a text that lies in its place");
  ExpectError(Localize("in"), 2, {"not a snapshot"});
  fs::remove(map());
  ExpectError(Localize("in"), 2, {"does not exist"});
}

TEST_F(LocalizeTest, MapsMustHoldSomethingToLookIn) {
  WriteFrames(Path("in"), 8);
  // Saved while the scale frames were still being collected.
  WriteBytes(Path("in/frame_3.png"), "broken");
  const Finished early = Run({"--scale-frames", "6", "--snapshot-every", "1", "--skip-bad",
                              "--keep-snapshot", "--max-frames", "8"});
  ASSERT_EQ(early.exit_code, 0) << early.err;
  const Finished windowed = Run({"--mode", "windowed", "--scale-frames", "2", "--window-size", "4",
                                 "--keep-snapshot", "--skip-bad", "--overwrite"});
  ASSERT_EQ(windowed.exit_code, 0) << windowed.err;
  ExpectError(Localize("in/frame_1.png"), 2, {"windowed mode"});
}

// The bundled model continues a stream: a frame that follows the map's last one is found where a
// longer run puts it.
TEST_F(LocalizeTest, FindsTheNextFrameOfTheSampleRoom) {
#ifndef LINGBOT_HAVE_VIDEO
  GTEST_SKIP() << "this build reads no video";
#endif
  const fs::path room = fs::path(LINGBOT_SOURCE_DIR) / "samples/room/video.mp4";
  const fs::path bundled = fs::path(LINGBOT_SOURCE_DIR) / "models/nano.safetensors";
  if (!fs::exists(room) || !fs::exists(bundled)) GTEST_SKIP() << "no " << room << " or " << bundled;
  const auto run = [&](const std::string& out, const std::string& frames) {
    return RunProgram({"run", room.string(), "--model", bundled.string(), "--out",
                       Path(out).string(), "--no-ply", "--no-depth", "--keep-snapshot", "--stride",
                       "2", "--max-frames", frames});
  };
  ASSERT_EQ(run("out", "12").exit_code, 0);     // frames 0, 2, ..., 22
  ASSERT_EQ(run("longer", "13").exit_code, 0);  // and 24
  const Finished found = RunProgram(
      {"localize", map(), room.string(), "--stride", "8", "--max-frames", "4", "--json"});
  ASSERT_EQ(found.exit_code, 0) << found.err;
  const nlohmann::json frames = found.json()["frames"];
  ASSERT_EQ(frames.size(), 4u);
  std::vector<nlohmann::json> records;
  for (const std::string& line : ReadLines(Path("longer/frames.jsonl"))) {
    records.push_back(nlohmann::json::parse(line));
  }
  ASSERT_EQ(records.size(), 13u);
  EXPECT_EQ(frames[3]["source"], records[12]["source"]);
  const auto distance = [](const nlohmann::json& a, const nlohmann::json& b) {
    double sum = 0;
    for (int i = 0; i < 3; ++i) {
      const double d = a["center"][i].get<double>() - b["center"][i].get<double>();
      sum += d * d;
    }
    return std::sqrt(sum);
  };
  double length = 0;
  for (size_t i = 1; i < records.size(); ++i) length += distance(records[i], records[i - 1]);
  EXPECT_LT(distance(frames[3], records[12]), 0.05 * length);
}

}  // namespace
}  // namespace lingbot::cli
