// The checking tools as programs: what they print and return when they cannot be used as asked.

#include "fixtures.h"

namespace lingbot::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ToolsTest : public CliTest {
 protected:
  // One line, "NAME: error: ...", and nothing else.
  static void ExpectUsageError(const std::string& tool, const std::vector<std::string>& arguments,
                               const std::string& part) {
    SCOPED_TRACE(tool + " " + testing::PrintToString(arguments));
    const Finished run = RunTool(tool, arguments);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, testing::StartsWith(tool + ": error: "));
    EXPECT_THAT(run.err, HasSubstr(part));
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
};

TEST_F(ToolsTest, SayInOneLineWhatIsWrong) {
  ExpectUsageError("lingbot-bench", {}, "usage: lingbot-bench stream|ops");
  ExpectUsageError("lingbot-bench", {"fly"}, "fly");
  ExpectUsageError("lingbot-bench", {"stream", "--frames", "many"},
                   "see lingbot-bench stream --help");
  ExpectUsageError("lingbot-bench", {"ops", "--only", "nothing"}, "no section \"nothing\"");
  ExpectUsageError("golden_check", {}, "see golden_check --help");
  ExpectUsageError("golden_check", {"file", "--precision", "fp64"}, "--precision");
  ExpectUsageError("golden_check", {"file", "--device", "abacus"}, "abacus");
  ExpectUsageError("hash_weights", {}, "see hash_weights --help");
  ExpectUsageError("hash_weights", {"one"}, "got 1 file names");
  ExpectUsageError("hash_weights", {"a", "b", "--dtype", "f8"}, "--dtype");
  ExpectUsageError("make_demo_clip", {}, "see make_demo_clip --help");
  ExpectUsageError("make_demo_clip", {"--frames"}, "see make_demo_clip --help");
  ExpectUsageError("make_demo_clip", {Path("clip").string(), "0"}, "FRAMES");
  EXPECT_TRUE(fs::is_empty(Path("")));
}

TEST_F(ToolsTest, FailuresAreNoUsageErrors) {
  const Finished run = RunTool("hash_weights", {Path("none").string(), Path("out").string()});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, testing::StartsWith("hash_weights: error: "));
  EXPECT_EQ(RunTool("golden_check", {Path("none").string()}).exit_code, 1);
}

TEST_F(ToolsTest, GoldenCheckTakesAModelFile) {
  const fs::path golden =
      fs::path(LINGBOT_SOURCE_DIR) / ".." / "shared" / "golden" / "tiny_stream.safetensors";
  if (!fs::exists(golden)) GTEST_SKIP() << "there is no recording " << golden;
  const std::string own = Path("own.safetensors").string();
  ASSERT_EQ(RunTool("hash_weights", {golden.string(), own}).exit_code, 0);
  const Finished pass = RunTool("golden_check", {golden.string(), "--model", own});
  EXPECT_EQ(pass.exit_code, 0) << pass.out << pass.err;
  EXPECT_EQ(pass.out, RunTool("golden_check", {golden.string()}).out);
  EXPECT_EQ(RunTool("golden_check", {golden.string(), "--model", model()}).exit_code, 1);
}

TEST_F(ToolsTest, HelpIsNoError) {
  const fs::path before = fs::current_path();
  fs::current_path(Path(""));
  for (const char* tool : {"lingbot-bench", "golden_check", "hash_weights", "make_demo_clip"}) {
    const Finished help = RunTool(tool, {"--help"});
    EXPECT_EQ(help.exit_code, 0) << tool;
    EXPECT_THAT(help.out, HasSubstr("Usage: "));
    EXPECT_EQ(help.err, "");
  }
  EXPECT_TRUE(fs::is_empty("."));
  fs::current_path(before);
}

}  // namespace
}  // namespace lingbot::cli
