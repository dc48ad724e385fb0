#include "cli/program_help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "cli/arguments.h"

namespace lingbot::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ProgramHelpTest : public testing::Test {
 protected:
  ProgramHelpTest() {
    CLI::App* app = program_.add_subcommand("make", "make a 'thing' [quickly]: now");
    BeginGroup(app, "Input");
    AddRequired(app, "FILE", "FILE", &file_, "what to read");
    BeginGroup(app, "Speed");
    AddCount(app, "--rounds", &rounds_, 1, "3", "how many rounds are made before the end of it all",
             9);
    AddChoice<int>(app, "--way", &rounds_, {{"short", 1}, {"long", 2}}, "short", "one | other");
    AddSwitch(
        app, "--all", [] {}, "everything");
    BeginGroup(app, "Input");
    AddName(app, "--from", "DIR", &folder_, "here", "where");
  }

  CLI::App program_{"makes things", "lingbot-map"};
  std::string file_, folder_;
  int rounds_ = 0;
};

TEST_F(ProgramHelpTest, DescribesOptionsUnderTheirHeadings) {
  const ProgramHelp help = DescribeProgram(program_);
  const CommandHelp* make = FindCommand(help, "make");
  ASSERT_NE(make, nullptr);
  EXPECT_EQ(FindCommand(help, "mak"), nullptr);
  ASSERT_EQ(make->arguments.size(), 1u);
  EXPECT_TRUE(make->arguments[0].required);
  ASSERT_EQ(make->groups.size(), 2u);
  EXPECT_EQ(make->groups[0].heading, "Speed");
  EXPECT_EQ(make->groups[1].heading, "Input");
  EXPECT_EQ(make->groups[0].options[0].value, "1..9");
  EXPECT_EQ(make->groups[0].options[0].fallback, "3");
  EXPECT_EQ(make->groups[0].options[2].value, "");
  EXPECT_EQ(make->groups[1].options.back().name, "--help");
  EXPECT_EQ(Synopsis(*make), "lingbot-map make FILE [OPTIONS]");
}

TEST_F(ProgramHelpTest, KnowsWhatAShellCanOffer) {
  OptionHelp option;
  option.value = "auto|cuda[:N]";
  EXPECT_EQ(ValueOf(option).kind, ValueHelp::Kind::kWords);
  EXPECT_THAT(ValueOf(option).words, ElementsAre("auto", "cuda"));
  EXPECT_FALSE(ValueOf(option).list);
  option.value = "glb|ply,...";
  EXPECT_THAT(ValueOf(option).words, ElementsAre("glb", "ply"));
  EXPECT_TRUE(ValueOf(option).list);
  option.value = "N|auto|off";
  EXPECT_THAT(ValueOf(option).words, ElementsAre("auto", "off"));
  option.value = "DIR";
  EXPECT_EQ(ValueOf(option).kind, ValueHelp::Kind::kFolder);
  option.value = "1..9";
  EXPECT_EQ(ValueOf(option).kind, ValueHelp::Kind::kNothing);
}

TEST_F(ProgramHelpTest, WrapsLines) {
  const ProgramHelp help = DescribeProgram(program_);
  const std::string text = HelpText(help, *FindCommand(help, "make"), 60);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 60u) << line;
  EXPECT_THAT(text, HasSubstr("  --rounds 1..9           how many rounds are made before\n"
                              "                          the end of it all [3]\n"));
}

TEST_F(ProgramHelpTest, EscapesWhatAFormatWouldTakeForItself) {
  const ProgramHelp help = DescribeProgram(program_);
  EXPECT_THAT(MarkdownManual(help), HasSubstr("| `--way short\\|long` | one \\| other [short] |"));
  EXPECT_THAT(ManPage(help, "1"), HasSubstr("\\fB\\-\\-way\\fR \\fIshort|long\\fR"));
  EXPECT_THAT(ZshCompletion(help), HasSubstr("'make:make a '\\''thing'\\'' \\[quickly\\]\\: now'"));
  EXPECT_THAT(FishCompletion(help), HasSubstr("'make a \\'thing\\' [quickly]: now'"));
}

TEST(MostAlike, FindsWhatWasMeant) {
  EXPECT_EQ(MostAlike("--tride", {"--fps", "--stride", "--strict"}), "--stride");
  EXPECT_EQ(MostAlike("rnu", {"eval", "run"}), "run");
  EXPECT_EQ(MostAlike("--banana", {"--fps", "--stride"}), "");
}

}  // namespace
}  // namespace lingbot::cli
