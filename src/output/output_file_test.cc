#include "output/output_file.h"

#include "output/test_support.h"

namespace lingbot {
namespace {

TEST(OutputFileTest, AppearsWhenCommitted) {
  const ScratchFolder folder;
  {
    OutputFile file(folder / "a.bin");
    file.Write("abc", 3);
    EXPECT_FALSE(std::filesystem::exists(folder / "a.bin"));
    file.Write("de", 2);
    file.Commit();
  }
  EXPECT_EQ(ReadText(folder / "a.bin"), "abcde");
  EXPECT_EQ(CountFiles(folder.path()), 1);
}

TEST(OutputFileTest, WithoutCommitTheOldFileStays) {
  const ScratchFolder folder;
  WriteFile(folder / "a.txt", std::string_view("old"));
  { OutputFile(folder / "a.txt").Write("new", 3); }
  EXPECT_EQ(ReadText(folder / "a.txt"), "old");
  EXPECT_EQ(CountFiles(folder.path()), 1);
}

TEST(OutputFileTest, FullDiskLeavesTheOldFileAndNoRest) {
  const ScratchFolder folder;
  WriteFile(folder / "a.txt", std::string_view("old"));
  const std::string big(100'000, 'x');
  {
    const FileSizeLimit limit(50'000);
    ExpectError(ErrorCode::kFileUnwritable, "a.txt: File too large",
                [&] { WriteFile(folder / "a.txt", std::string_view(big)); });
  }
  EXPECT_EQ(ReadText(folder / "a.txt"), "old");
  EXPECT_EQ(CountFiles(folder.path()), 1);
}

TEST(OutputFileTest, MissingFolderAndFolderInTheWay) {
  const ScratchFolder folder;
  ExpectError(ErrorCode::kFileUnwritable, "nowhere/a.txt: No such file or directory",
              [&] { OutputFile file(folder / "nowhere/a.txt"); });
  std::filesystem::create_directories(folder / "taken/full");
  ExpectError(ErrorCode::kFileUnwritable, "taken",
              [&] { WriteFile(folder / "taken", std::string_view("x")); });
  EXPECT_EQ(CountFiles(folder.path()), 1);
}

TEST(OutputFileTest, FolderWithoutPermission) {
  if (::geteuid() == 0) GTEST_SKIP() << "the superuser may write anywhere";
  const ScratchFolder folder;
  std::filesystem::permissions(
      folder.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  ExpectError(ErrorCode::kFileUnwritable, "Permission denied",
              [&] { OutputFile file(folder / "a.txt"); });
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
}

TEST(LineFileTest, EveryLineIsOnTheDiskAtOnce) {
  const ScratchFolder folder;
  LineFile file(folder / "lines.txt");
  file.Append("one");
  EXPECT_EQ(ReadText(folder / "lines.txt"), "one\n");
  file.Append("two");
  EXPECT_EQ(ReadText(folder / "lines.txt"), "one\ntwo\n");
  file.Verify();
  std::filesystem::resize_file(folder / "lines.txt", 3);
  ExpectError(ErrorCode::kFileUnwritable, "holds 3 bytes although 8", [&] { file.Verify(); });
}

TEST(LineFileTest, ALineThatDoesNotFitIsTakenBack) {
  const ScratchFolder folder;
  LineFile file(folder / "lines.txt");
  file.Append("first");
  {
    const FileSizeLimit limit(10);
    ExpectError(ErrorCode::kFileUnwritable, "lines.txt: File too large",
                [&] { file.Append("second, too long"); });
    EXPECT_EQ(ReadText(folder / "lines.txt"), "first\n");
  }
  file.Append("third");
  EXPECT_EQ(ReadText(folder / "lines.txt"), "first\nthird\n");
  file.Verify();
}

TEST(LineFileTest, FullDevice) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  LineFile file("/dev/full");
  ExpectError(ErrorCode::kFileUnwritable, "/dev/full: No space left on device",
              [&] { file.Append("x"); });
}

}  // namespace
}  // namespace lingbot
