#include "output/run_folder.h"

#include "output/test_support.h"

namespace lingbot {
namespace {

namespace fs = std::filesystem;

void MakeRun(const fs::path& folder) {
  fs::create_directories(folder / "depth");
  fs::create_directories(folder / "confidence");
  WriteText(folder / "manifest.json", R"({"format": "lingbot-map run"})");
  for (const char* name :
       {"points.ply", "frames.jsonl", "trajectory_tum.txt", ".points.ply.partial",
        "depth/000007.png", "depth/.000008.png.partial", "confidence/000007.npy"}) {
    WriteText(folder / name, "x");
  }
}

TEST(RunFolderTest, CreatesMissingFolders) {
  const ScratchFolder folder;
  PrepareRunFolder(folder / "a/b/c", false);
  EXPECT_TRUE(fs::is_directory(folder / "a/b/c"));
  PrepareRunFolder(folder / "a/b/c", false);  // empty: again
}

TEST(RunFolderTest, RemovesAnEarlierRunAndNothingElse) {
  const ScratchFolder folder;
  MakeRun(folder.path());
  WriteText(folder / "notes.txt", "mine");
  WriteText(folder / "depth/room.png", "mine");
  EXPECT_TRUE(IsRunFolder(folder.path()));
  PrepareRunFolder(folder.path(), false);
  EXPECT_EQ(ReadText(folder / "notes.txt"), "mine");
  EXPECT_EQ(ReadText(folder / "depth/room.png"), "mine");
  EXPECT_EQ(CountFiles(folder / "depth"), 1);
  EXPECT_EQ(CountFiles(folder / "confidence"), 0);
  EXPECT_EQ(CountFiles(folder.path()), 4);  // notes, manifest, depth, confidence
}

TEST(RunFolderTest, RefusesAFolderOfOtherThings) {
  const ScratchFolder folder;
  WriteText(folder / "thesis.tex", "years of work");
  ExpectError(ErrorCode::kFileUnwritable, "not the output of an earlier run",
              [&] { PrepareRunFolder(folder.path(), false); });
  PrepareRunFolder(folder.path(), true);
  EXPECT_EQ(ReadText(folder / "thesis.tex"), "years of work");
}

TEST(RunFolderTest, ManifestOfSomethingElseIsNoRun) {
  const ScratchFolder folder;
  for (const std::string text :
       {"", "{", "[]", "3", R"({"format": "other"})", R"({"format": {}})"}) {
    WriteText(folder / "manifest.json", text);
    EXPECT_FALSE(IsRunFolder(folder.path())) << text;
  }
  fs::remove(folder / "manifest.json");
  fs::create_directory(folder / "manifest.json");
  EXPECT_FALSE(IsRunFolder(folder.path()));
}

TEST(RunFolderTest, AFileInTheWay) {
  const ScratchFolder folder;
  WriteText(folder / "out", "x");
  ExpectError(ErrorCode::kFileUnwritable, "a file of that name exists",
              [&] { PrepareRunFolder(folder / "out", true); });
  ExpectError(ErrorCode::kFileUnwritable, "out/deeper",
              [&] { PrepareRunFolder(folder / "out/deeper", true); });
}

TEST(RunFolderTest, ChecksWhatTheRecordsName) {
  const ScratchFolder folder;
  WriteText(folder / "a.npy", "x");
  WriteText(folder / "frames.jsonl", R"({"files": {"depth_npy": "a.npy"}})"
                                     "\n");
  CheckRunFiles(folder.path(), 1);
  ExpectError(ErrorCode::kFileUnwritable, "holds 1 records although 2",
              [&] { CheckRunFiles(folder.path(), 2); });
  WriteText(folder / "a.npy", "");
  ExpectError(ErrorCode::kFileUnwritable, "empty", [&] { CheckRunFiles(folder.path(), 1); });
  fs::remove(folder / "a.npy");
  ExpectError(ErrorCode::kFileUnwritable, "missing", [&] { CheckRunFiles(folder.path(), 1); });
  WriteText(folder / "frames.jsonl", "{\"files\"\n");
  ExpectError(ErrorCode::kFileUnwritable, "line 1", [&] { CheckRunFiles(folder.path(), 1); });
}

}  // namespace
}  // namespace lingbot
