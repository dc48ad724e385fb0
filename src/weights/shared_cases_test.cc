// Checkpoint files that PyTorch itself wrote, with what they must read as.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "weights/checkpoint.h"
#include "weights/test_support.h"

namespace lingbot {
namespace {

class SharedCases : public testing::TestWithParam<const char*> {};

TEST_P(SharedCases, ReadAsExpected) {
  const auto expectations = SharedFile("cases/pt/expected.json");
  if (!std::filesystem::exists(expectations)) GTEST_SKIP() << expectations << " is not here";
  const std::string name = GetParam();
  const auto expected = nlohmann::json::parse(ReadFile(expectations)).at(name).at("tensors");
  const auto source = OpenCheckpoint(SharedFile("cases/pt/" + name));
  EXPECT_EQ(source->tensors().size(), expected.size());
  for (const auto& [tensor, facts] : expected.items()) {
    SCOPED_TRACE(tensor);
    const TensorInfo& info = source->Find(tensor);
    EXPECT_EQ(NameOf(info.dtype), facts.at("dtype").get<std::string>());
    EXPECT_EQ(info.shape, Shape(facts.at("shape").get<std::vector<int64_t>>()));
    const std::vector<float> values = Values(*source, tensor);
    double sum = 0.0;
    for (const float value : values) sum += value;
    EXPECT_NEAR(sum, facts.at("sum").get<double>(), 1e-5);
    const auto first = facts.at("first").get<std::vector<float>>();
    const auto last = facts.at("last").get<std::vector<float>>();
    ASSERT_LE(std::max(first.size(), last.size()), values.size());
    EXPECT_TRUE(std::equal(first.begin(), first.end(), values.begin()));
    EXPECT_TRUE(std::equal(last.rbegin(), last.rend(), values.rbegin()));
  }
}

INSTANTIATE_TEST_SUITE_P(TorchPt, SharedCases,
                         testing::Values("dtypes.pt", "ordered_v4.pt", "nested_model.pt",
                                         "module_prefix.pt", "strided.pt"));

TEST(TorchPt, RefusesSharedHostileAndLegacyFiles) {
  if (!std::filesystem::exists(SharedFile("cases/pt"))) GTEST_SKIP() << "../shared is not here";
  ExpectError(ErrorCode::kUnsafeFile, {"evil.pt", "posix.system"},
              [] { OpenCheckpoint(SharedFile("cases/pt/evil.pt")); });
  EXPECT_FALSE(std::filesystem::exists("pwned_by_pickle"));
  ExpectError(ErrorCode::kUnsupportedFormat, {"legacy.pt", "legacy format", "re-save"},
              [] { OpenCheckpoint(SharedFile("cases/pt/legacy.pt")); });
}

}  // namespace
}  // namespace lingbot
