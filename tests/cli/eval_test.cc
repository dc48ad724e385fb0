// `eval` as its users meet it: runs of this program against files that others write.

#include <cmath>
#include <fstream>
#include <sstream>

#include "fixtures.h"

namespace lingbot::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class EvalTest : public CliTest {
 protected:
  // A bent path, in the unit `scale`, as a TUM file.
  std::string Trajectory(const std::string& name, int count, double scale) const {
    std::ostringstream text;
    for (int i = 0; i < count; ++i) {
      const double t = 0.3 * i;
      text << i / 30.0 << ' ' << scale * std::cos(t) << ' ' << scale * std::sin(t) << ' '
           << scale * 0.1 * t * t << " 0 0 0 1\n";
    }
    WriteBytes(Path(name), text.str());
    return Path(name).string();
  }
};

TEST_F(EvalTest, TrajectoriesOfTwoUnits) {
  const std::string truth = Trajectory("truth.txt", 30, 2);
  const std::string run = Trajectory("run.txt", 25, 0.5);
  const std::string plot = Path("plot.svg").string();
  const Finished json =
      RunProgram({"eval", run, "--ground-truth", truth, "--json", "--plot", plot});
  ASSERT_EQ(json.exit_code, 0) << json.err;
  const nlohmann::json result = json.json();
  ASSERT_TRUE(result.is_object()) << json.out;
  EXPECT_EQ(result["association"]["matched"], 25);
  EXPECT_EQ(result["association"]["truth_unmatched"], 5);
  EXPECT_NEAR(result["ate"]["sim3"]["alignment"]["scale"], 4, 1e-5);
  EXPECT_LT(result["ate"]["sim3"]["rmse"], 1e-4);
  EXPECT_GT(result["baselines"]["straight_line"]["ate"]["rmse"], 0.1);
  EXPECT_THAT(ReadText(plot), HasSubstr("</svg>"));
  const Finished table = RunProgram({"eval", run, "--ground-truth", truth});
  EXPECT_THAT(table.out, HasSubstr("ATE, Sim3 (scale 4)"));
  EXPECT_THAT(table.out, HasSubstr("baseline: straight line"));
}

TEST_F(EvalTest, RunOfThisProgram) {
  WriteFrames(Path("in"), 9);
  ASSERT_EQ(Run({"--quiet"}).exit_code, 0);
  std::filesystem::create_directories(Path("truth") / "depth");
  std::filesystem::rename(Trajectory("t.txt", 9, 1), Path("truth") / "poses.txt");
  std::filesystem::copy(Path("out") / "depth" / "000004.npy", Path("truth") / "depth");
  const Finished eval = RunProgram({"eval", Path("out").string(), "--ground-truth",
                                    Path("truth").string(), "--associate", "index", "--json"});
  ASSERT_EQ(eval.exit_code, 0) << eval.err;
  EXPECT_EQ(eval.json()["association"]["matched"], 9);
  EXPECT_EQ(eval.json()["depth"]["frames"], 1);
  EXPECT_LT(eval.json()["depth"]["abs_rel"], 1e-6);  // its own depth
  EXPECT_NEAR(eval.json()["depth"]["scale"], 1, 1e-6);
  EXPECT_THAT(eval.err, Not(HasSubstr("not complete")));

  // As a killed run leaves it.
  std::string manifest = ReadText(Path("out") / "manifest.json");
  const size_t at = manifest.find("\"complete\"");
  ASSERT_NE(at, std::string::npos);
  WriteBytes(Path("out") / "manifest.json", manifest.replace(at, 10, "\"running\""));
  const Finished partial = RunProgram({"eval", Path("out").string(), "--ground-truth",
                                       Path("truth").string(), "--associate", "index"});
  EXPECT_EQ(partial.exit_code, 0);
  EXPECT_THAT(partial.err, HasSubstr("not complete"));
}

TEST_F(EvalTest, ThePlotReplacesPicturesOnly) {
  const std::string truth = Trajectory("truth.txt", 30, 2);
  const std::string run = Trajectory("run.txt", 30, 1);
  const std::string before = ReadText(run);
  const Finished refused = RunProgram({"eval", run, "--ground-truth", truth, "--plot", run});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, HasSubstr("is no SVG picture"));
  EXPECT_EQ(ReadText(run), before);
  const std::string plot = Path("plot.svg").string();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(RunProgram({"eval", run, "--ground-truth", truth, "--plot", plot}).exit_code, 0);
  }
  EXPECT_EQ(RunProgram({"eval", run, "--ground-truth", truth, "--plot", ""}).exit_code, 2);
}

TEST_F(EvalTest, BadInputIsOneError) {
  const std::string truth = Trajectory("truth.txt", 5, 1);
  const std::string run = Trajectory("run.txt", 5, 1);
  const auto expect = [&](const std::vector<std::string>& arguments, int code,
                          const std::string& part) {
    std::vector<std::string> all = {"eval"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    ExpectError(RunProgram(all), code, {part});
  };
  expect({run}, 2, "--ground-truth");
  expect({run, "--ground-truth", ""}, 2, "empty");
  expect({Path("absent").string(), "--ground-truth", truth}, 2, "absent does not exist");
  expect({run, "--ground-truth", Path("absent").string()}, 2, "absent does not exist");
  WriteBytes(Path("words.txt"), "these are no poses\n");
  expect({run, "--ground-truth", Path("words.txt").string()}, 2, "line 1");
  expect({run, "--ground-truth", truth, "--delta", "0"}, 2, "--delta");
  expect({run, "--ground-truth", truth, "--tolerance", "nan"}, 2, "--tolerance");
  expect({run, "--ground-truth", truth, "--depth-scale", "-1"}, 2, "--depth-scale");
  expect({run, "--ground-truth", truth, "--truth-depth", Path("").string()}, 2, "depth map");
  expect({run, "--ground-truth", truth, "--associate", "name"}, 2, "no image names");
  expect({run, "--ground-truth", truth, "--plot", Path("no/plot.svg").string()}, 1, "plot.svg");
  std::ofstream(Path("late.txt")) << "99 0 0 0 0 0 0 1\n";
  expect({Path("late.txt").string(), "--ground-truth", truth}, 2, "no pose of the run matches");
}

TEST_F(EvalTest, StraightMotionIsSaidNotGuessed) {
  std::ofstream(Path("line.txt")) << "0 0 0 0 0 0 0 1\n1 0 0 1 0 0 0 1\n2 0 0 2 0 0 0 1\n";
  const std::string line = Path("line.txt").string();
  const Finished eval = RunProgram({"eval", line, "--ground-truth", line});
  EXPECT_EQ(eval.exit_code, 0) << eval.err;
  EXPECT_THAT(eval.out, HasSubstr("not determined: the positions lie on one line"));
  EXPECT_THAT(eval.out, testing::Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace lingbot::cli
