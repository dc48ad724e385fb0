// The command `export`, and `run --export`.

#include <filesystem>
#include <fstream>

#include "fixtures.h"

namespace lingbot::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ExportTest : public CliTest {
 protected:
  std::string Out() const { return Path("out").string(); }

  Finished Export(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"export", Out()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunProgram(arguments);
  }
};

TEST_F(ExportTest, LaterFilesAreThoseOfTheRun) {
  WriteFrames(Path("in"), 3);
  const std::vector<std::string> filters = {"--conf",       "0.2", "--distance-quantile", "0.1",
                                            "--depth-edge", "0.5", "--max-points",        "500"};
  std::vector<std::string> more = {"--export", "ply,glb,colmap-bin,kitti"};
  more.insert(more.end(), filters.begin(), filters.end());
  const Finished run = Run(more);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("points.glb"));
  EXPECT_THAT(run.out, HasSubstr("sparse/0/images.bin"));
  more.insert(more.end(), {"--out", Path("again").string(), "--json"});
  const Finished again = Export(more);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.json()["points"], 500);
  EXPECT_EQ(again.json()["exports"]["glb"][0], "points.glb");
  for (const char* name : {"points.ply", "points.glb", "trajectory_kitti.txt", "times_kitti.txt",
                           "sparse/0/cameras.bin", "sparse/0/images.bin", "sparse/0/points3D.bin",
                           "images/000002.png"}) {
    EXPECT_EQ(ReadText(Path("out") / name), ReadText(Path("again") / name)) << name;
    EXPECT_GT(fs::file_size(Path("again") / name), 0u) << name;
  }
  const auto manifest = ReadJson(Path("out/manifest.json"));
  EXPECT_EQ(manifest["exports"]["colmap-bin"].size(), 3u);
  EXPECT_EQ(manifest["options"]["exports"].size(), 3u);
  EXPECT_EQ(ReadJson(Path("again/export.json"))["run_status"], "complete");
}

TEST_F(ExportTest, KilledRun) {
  WriteFrames(Path("in"), 3);
  ASSERT_EQ(Run({"--no-ply"}).exit_code, 0);
  const std::string lines = ReadText(Path("out/frames.jsonl"));
  WriteBytes(Path("out/frames.jsonl"), lines.substr(0, lines.size() - 9));
  const Finished finished = Export({"--export", "ply,kitti", "--conf", "0"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("cut short"));
  EXPECT_EQ(CountVertices(Path("out/points.ply")), 2 * 84 * 56);
  const std::string poses = ReadText(Path("out/trajectory_kitti.txt"));
  EXPECT_EQ(std::count(poses.begin(), poses.end(), '\n'), 2);
}

TEST_F(ExportTest, MasksInBothCommands) {
  WriteFrames(Path("in"), 2);
  fs::create_directory(Path("masks"));
  // Of one of the frames: black but for what the test image happens to be bright in.
  fs::copy_file(Path("in/frame_0.png"), Path("masks/frame_0.png"));
  const std::vector<std::string> masked = {"--mask-dir", Path("masks").string(), "--conf", "0"};
  const Finished run = Run(masked);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("1 of 2 frames have no mask"));
  const int64_t points = CountVertices(Path("out/points.ply"));
  EXPECT_GE(points, 84 * 56);
  EXPECT_LT(points, 2 * 84 * 56);
  std::vector<std::string> more = masked;
  more.insert(more.end(), {"--export", "ply", "--out", Path("again").string()});
  const Finished again = Export(more);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(ReadText(Path("again/points.ply")), ReadText(Path("out/points.ply")));
  WriteBytes(Path("masks/000001.png"), "no picture");
  ExpectError(Export(more), 1, {"000001.png"});
  ExpectError(Export({"--export", "ply", "--mask-dir", Path("none").string()}), 2, {"none"});
}

TEST_F(ExportTest, MistakesAreSaidOnce) {
  WriteFrames(Path("in"), 1);
  ExpectError(Run({"--export", "ply,obj"}), 2, {"'obj'", "colmap-text", "nerfstudio"});
  ExpectError(Run({"--export", "glb", "--no-ply"}), 2, {"--no-ply"});
  ExpectError(Run({"--distance-quantile", "1"}), 2, {"--distance-quantile"});
  EXPECT_FALSE(fs::exists(Path("out")));
  ASSERT_EQ(Run({"--no-images"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(Path("out/images")));
  ExpectError(Export({}), 2, {"--export"});
  ExpectError(Export({"--export", ""}), 2, {"nerfstudio"});
  ExpectError(RunProgram({"export", Path("none").string(), "--export", "ply"}), 1,
              {"none", "does not exist"});
  ExpectError(RunProgram({"export", Path("in").string(), "--export", "ply"}), 1, {"frames.jsonl"});
  const Finished empty = Export({"--export", "ply,glb", "--conf-threshold", "1e9"});
  EXPECT_THAT(empty.err, HasSubstr("min "));
  EXPECT_THAT(empty.err, HasSubstr("median "));
  EXPECT_THAT(empty.err, HasSubstr("max "));
  EXPECT_EQ(empty.exit_code, 1);
  EXPECT_FALSE(fs::exists(Path("out/points.glb")));
  const Finished grey = Export({"--export", "glb"});
  EXPECT_EQ(grey.exit_code, 0) << grey.err;
  EXPECT_THAT(grey.err, HasSubstr("--no-images"));
}

}  // namespace
}  // namespace lingbot::cli
