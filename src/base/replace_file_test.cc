#include "base/replace_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "lingbot/error.h"

namespace lingbot {
namespace {

namespace fs = std::filesystem;

TEST(ReplaceableFile, TakesNewAndRegularFilesAndFollowsLinks) {
  const fs::path folder =
      fs::path(testing::TempDir()) / fs::path("replace_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  EXPECT_EQ(ReplaceableFile(folder / "new"), folder / "new");
  std::ofstream(folder / "old") << "x";
  EXPECT_EQ(ReplaceableFile(folder / "old"), folder / "old");
  fs::create_symlink(folder / "old", folder / "link");
  EXPECT_EQ(ReplaceableFile(folder / "link"), fs::canonical(folder / "old"));
  EXPECT_THROW(ReplaceableFile(folder), Error);
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(ReplaceableFile(folder / "pipe"), Error);
  EXPECT_THROW(ReplaceableFile("/dev/null"), Error);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace lingbot
