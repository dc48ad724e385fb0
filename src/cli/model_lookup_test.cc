#include "cli/model_lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "lingbot/error.h"

namespace lingbot::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ModelLookupTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "models XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path Touch(const std::string& name) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << "x";
    return folder_ / name;
  }

  static std::string MessageOf(const std::string& name, const std::vector<fs::path>& folders) {
    try {
      return "found " + FindModel(name, folders).string();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kFileNotFound);
      return error.what();
    }
  }

  fs::path folder_;
};

TEST_F(ModelLookupTest, TakesAPathAsItIs) {
  const fs::path file = Touch("elsewhere/m.pt");
  EXPECT_EQ(FindModel(file.string(), {}), file);
}

TEST_F(ModelLookupTest, FindsNamesInTheFirstFolderThatHasThem) {
  const fs::path second = Touch("b/small.safetensors");
  EXPECT_EQ(FindModel("small", {folder_ / "a", folder_ / "b"}), second);
  EXPECT_EQ(FindModel("small.safetensors", {folder_ / "a", folder_ / "b"}), second);
  const fs::path first = Touch("a/small.pt");
  EXPECT_EQ(FindModel("small", {folder_ / "a", folder_ / "b"}), first);
}

TEST_F(ModelLookupTest, PassesFoldersOfTheNameOver) {
  fs::create_directories(folder_ / "a" / "small");
  const fs::path file = Touch("a/small.safetensors");
  EXPECT_EQ(FindModel("small", {folder_ / "a"}), file);
}

TEST_F(ModelLookupTest, NamesAllPlacesWhereNothingIs) {
  const std::string message = MessageOf("small", {folder_ / "a", folder_ / "b"});
  EXPECT_THAT(message, HasSubstr("no model small"));
  EXPECT_THAT(message, HasSubstr((folder_ / "a").string() + ", " + (folder_ / "b").string()));
}

// A path that does not exist is not looked for elsewhere.
TEST_F(ModelLookupTest, KeepsPathsApartFromNames) {
  Touch("a/small.safetensors");
  EXPECT_THAT(MessageOf("../a/small", {folder_ / "a"}), HasSubstr("../a/small does not exist"));
  EXPECT_THAT(MessageOf("..", {folder_ / "a"}), HasSubstr("does not exist"));
}

TEST_F(ModelLookupTest, LooksIntoTheFolderOfTheUserFirst) {
  const fs::path own = Touch("nano.safetensors");
  EXPECT_EQ(LookUpModel("", folder_.string()), own);
  EXPECT_EQ(LookUpModel("nano", folder_.string()), own);
}

}  // namespace
}  // namespace lingbot::cli
