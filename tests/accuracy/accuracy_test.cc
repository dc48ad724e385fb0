// The bundled model on the sample clips, as a user runs it, within the limits of limits.json.
// There, under "all" and under a sample's name, the place of a figure in the JSON of `eval` has a
// limit: {"max": x}, {"min": x} or {"below":
// "/place/of/another"}.

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "program.h"

namespace lingbot::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const fs::path kRoot = LINGBOT_SOURCE_DIR;

struct Case {
  std::string sample;
  std::string precision;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.sample << " in " << c.precision; }

// Samples of the tree, in both precisions.
std::vector<Case> Cases() {
  std::vector<Case> cases;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(kRoot / "samples", ignored)) {
    if (!fs::exists(entry.path() / "ground_truth")) continue;
    for (const char* precision : {"fp32", "bf16"}) {
      cases.push_back({entry.path().filename().string(), precision});
    }
  }
  return cases;
}

double FigureAt(const Json& figures, const std::string& place) {
  const Json::json_pointer pointer(place);
  const bool is_number = figures.contains(pointer) && figures[pointer].is_number();
  EXPECT_TRUE(is_number) << "eval gives no number at " << place;
  return is_number ? figures[pointer].get<double>() : std::nan("");
}

void CheckLimits(const Json& limits, const Json& figures, const std::string& what) {
  for (const auto& [place, limit] : limits.items()) {
    const double figure = FigureAt(figures, place);
    std::cout << what << " " << place << " = " << figure << ", limit " << limit << std::endl;
    for (const auto& [kind, value] : limit.items()) {
      const double bound =
          kind == "below" ? FigureAt(figures, value.get<std::string>()) : value.get<double>();
      EXPECT_TRUE(kind == "max" || kind == "min" || kind == "below") << kind;
      EXPECT_TRUE(kind == "min" ? figure >= bound : figure <= bound)
          << what << ": " << place << " is " << figure << ", " << kind << " " << bound;
    }
  }
}

class Accuracy : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "accuracy-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  fs::path folder_;
};

TEST_P(Accuracy, StaysWithinTheLimits) {
  const auto& [sample, precision] = GetParam();
  const fs::path model = kRoot / "models" / "nano.safetensors";
  if (!fs::exists(model)) GTEST_SKIP() << "there is no model " << model;
  const fs::path clip = kRoot / "samples" / sample;
  const std::string out = (folder_ / "out").string();
  const Finished run =
      RunProgram({"run", (clip / "video.mp4").string(), "--model", model.string(), "--out", out,
                  "--precision", precision, "--no-ply", "--quiet", "--device", "cpu"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Finished eval =
      RunProgram({"eval", out, "--ground-truth", (clip / "ground_truth").string(), "--json"});
  ASSERT_EQ(eval.exit_code, 0) << eval.err;
  EXPECT_EQ(eval.json()["association"]["run_unmatched"], 0);
  std::ifstream file(kRoot / "tests" / "accuracy" / "limits.json");
  const Json limits = Json::parse(file);
  CheckLimits(limits.at("all"), eval.json(), sample + " " + precision);
  if (limits.contains(sample)) CheckLimits(limits[sample], eval.json(), sample + " " + precision);
}

// A tree without samples has nothing to check.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Accuracy);
INSTANTIATE_TEST_SUITE_P(Samples, Accuracy, testing::ValuesIn(Cases()), [](const auto& param) {
  std::string name = param.param.sample + "_" + param.param.precision;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

void CheckText(const char* limits, const char* figures) {
  CheckLimits(Json::parse(limits), Json::parse(figures), "text");
}

TEST(AccuracyLimits, AreReadAsTheyAreMeant) {
  static const char* const figures = R"({"a": 2, "b": {"c": 3}})";
  CheckText(R"({"/a": {"max": 2, "min": 2, "below": "/b/c"}})", figures);
  EXPECT_NONFATAL_FAILURE(CheckText(R"({"/a": {"max": 1.5}})", figures), "/a is 2, max 1.5");
  EXPECT_NONFATAL_FAILURE(CheckText(R"({"/a": {"min": 2.5}})", figures), "/a is 2, min 2.5");
  EXPECT_NONFATAL_FAILURE(CheckText(R"({"/b/c": {"below": "/a"}})", figures), "below 2");
}

}  // namespace
}  // namespace lingbot::cli
