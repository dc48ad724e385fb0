#include "media/frame_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/system_memory.h"
#include "media/test_images.h"

namespace lingbot {
namespace {

namespace fs = std::filesystem;
using namespace testing_images;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class FrameSourceTest : public testing::Test {
 protected:
  FrameSourceTest() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ =
        fs::path(testing::TempDir()) / ("frames_" + std::to_string(::getpid())) / info->name();
    fs::create_directories(folder_);
    options_.log = [this](const std::string& line) { log_.push_back(line); };
  }
  ~FrameSourceTest() override {
    std::error_code ignored;
    fs::remove_all(folder_.parent_path(), ignored);
  }

  void Write(const std::string& name, const FileBytes& bytes) {
    std::ofstream(folder_ / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  void WriteText(const std::string& name) { std::ofstream(folder_ / name) << "some notes\n"; }

  // An image whose first red sample is `mark`.
  static FileBytes Png(int mark) {
    std::vector<uint8_t> rgb(3 * 4 * 4, 0);
    rgb[0] = static_cast<uint8_t>(mark);
    return MakeRgbPng(4, 4, rgb);
  }
  static FileBytes Half(const FileBytes& file) {
    return {file.begin(), file.begin() + static_cast<std::ptrdiff_t>(file.size() / 2)};
  }
  void WriteTen() {
    for (int i = 1; i <= 10; ++i) Write("frame_" + std::to_string(i) + ".png", Png(i));
  }

  ImageFolderSource Source() { return ImageFolderSource(folder_, options_); }

  static std::vector<std::string> Names(FrameSource* source) {
    std::vector<std::string> names;
    for (Image image; source->Next(&image);) names.push_back(image.name);
    return names;
  }
  std::vector<std::string> Names() {
    ImageFolderSource source = Source();
    return Names(&source);
  }

  fs::path folder_;
  ImageFolderOptions options_;
  std::vector<std::string> log_;
  ThreadTeam team_{2};
};

TEST_F(FrameSourceTest, MixedExtensionsInAnyCase) {
  JpegSpec spec;
  spec.width = spec.height = 8;
  spec.samples = MakeScene(8, 8);
  Write("b.JPEG", MakeJpeg(spec));
  Write("a.jpg", MakeJpeg(spec));
  Write("c.PNG", Png(1));
  Write("e.Jpg", Png(1));   // misnamed, decodes
  Write("d.webp", Png(1));  // likewise
  Write("d.gif", Png(1));
  WriteText("notes.txt");
  Write(".hidden.png", Png(1));
  Write("._a.jpg", Half(Png(1)));
  Write("f.png.part", Half(Png(1)));
  fs::create_directory(folder_ / "folder.png");
  EXPECT_THAT(Names(), ElementsAre("a.jpg", "b.JPEG", "c.PNG", "d.webp", "e.Jpg"));
  EXPECT_THAT(log_, ElementsAre(HasSubstr("1 images are of formats that are not read")));
}

TEST_F(FrameSourceTest, NaturalOrderAndNumbering) {
  WriteTen();
  options_.frames_per_second = 4;
  ImageFolderSource source = Source();
  EXPECT_EQ(source.frame_count(), 10);
  Image image;
  for (int i = 1; i <= 10; ++i) {
    ASSERT_TRUE(source.Next(&image));
    EXPECT_EQ(image.name, "frame_" + std::to_string(i) + ".png");
    EXPECT_EQ(image.rgb[0], i);
    EXPECT_EQ(image.source_index, i - 1);
    EXPECT_EQ(image.timestamp, (i - 1) / 4.0);
  }
  EXPECT_FALSE(source.Next(&image));
  EXPECT_FALSE(source.Next(&image));
}

TEST_F(FrameSourceTest, StrideAndMaximum) {
  WriteTen();
  options_.stride = 4;
  EXPECT_THAT(Names(), ElementsAre("frame_1.png", "frame_5.png", "frame_9.png"));
  ImageFolderSource source = Source();
  EXPECT_EQ(source.Verify(team_)[2].source_index, 8);
  Image image;
  while (source.Next(&image)) EXPECT_EQ(image.source_index, image.rgb[0] - 1);
  EXPECT_EQ(image.source_index, 8);
  options_.max_frames = 2;
  EXPECT_THAT(Names(), ElementsAre("frame_1.png", "frame_5.png"));
  EXPECT_EQ(Source().frame_count(), 2);
  options_.stride = INT64_MAX;
  EXPECT_THAT(Names(), ElementsAre("frame_1.png"));
}

TEST_F(FrameSourceTest, ImpossibleOptions) {
  WriteTen();
  for (int64_t stride : {int64_t{0}, int64_t{-1}}) {
    options_.stride = stride;
    EXPECT_EQ(Catch([&] { Source(); }).code, ErrorCode::kInvalidArgument);
  }
  options_.stride = 1;
  options_.max_frames = -1;
  EXPECT_EQ(Catch([&] { Source(); }).code, ErrorCode::kInvalidArgument);
  options_.max_frames = 0;
  options_.frames_per_second = 0;
  EXPECT_EQ(Catch([&] { Source(); }).code, ErrorCode::kInvalidArgument);
}

TEST_F(FrameSourceTest, DamagedFileIsNamedBeforeTheFirstFrame) {
  WriteTen();
  Write("frame_4.png", Half(Png(4)));
  Write("frame_9.png", {});
  ImageFolderSource source = Source();
  const Thrown thrown = Catch([&] { source.Verify(team_); });
  EXPECT_EQ(thrown.code, ErrorCode::kCorruptFile);
  EXPECT_THAT(thrown.message, HasSubstr("frame_4.png"));
  EXPECT_THAT(thrown.message, HasSubstr("2 of 10 images are bad"));
}

TEST_F(FrameSourceTest, SkippingKeepsTheNumbering) {
  WriteTen();
  Write("frame_4.png", Half(Png(4)));
  WriteText("frame_9.png");
  options_.skip_bad = true;
  for (bool verify : {true, false}) {
    log_.clear();
    ImageFolderSource source = Source();
    if (verify) {
      const std::vector<FrameInfo> frames = source.Verify(team_);
      ASSERT_THAT(frames, SizeIs(8));
      EXPECT_EQ(frames[3].name, "frame_5.png");
      EXPECT_EQ(frames[3].source_index, 4);
      EXPECT_EQ(frames[3].size, (ImageSize{4, 4}));
      EXPECT_EQ(source.frame_count(), 8);
    }
    std::vector<int64_t> indices;
    for (Image image; source.Next(&image);) {
      EXPECT_EQ(image.rgb[0], image.source_index + 1);
      indices.push_back(image.source_index);
    }
    EXPECT_THAT(indices, ElementsAre(0, 1, 2, 4, 5, 6, 7, 9));
    EXPECT_EQ(source.frame_count(), 8);
    EXPECT_THAT(log_, ElementsAre(HasSubstr("frame_4.png"), HasSubstr("frame_9.png")));
    EXPECT_THAT(log_[0], HasSubstr("skipped image 3"));
  }
}

// Damage that only decoding sees comes late, but costs nothing that went before or comes after.
TEST_F(FrameSourceTest, LateFailureLosesNothing) {
  WriteTen();
  FileBytes rotten = Png(3);
  rotten[rotten.size() - 12 - 6 - 4] ^= std::byte{0xFF};  // in the compressed data
  RepairChecksums(&rotten);
  rotten[43] ^= std::byte{0x55};
  RepairChecksums(&rotten);
  Write("frame_3.png", rotten);
  ImageFolderSource source = Source();
  EXPECT_THAT(source.Verify(team_), SizeIs(10));
  Image image;
  EXPECT_TRUE(source.Next(&image));
  EXPECT_TRUE(source.Next(&image));
  const Thrown thrown = Catch([&] { source.Next(&image); });
  EXPECT_EQ(thrown.code, ErrorCode::kCorruptFile);
  EXPECT_THAT(thrown.message, HasSubstr("frame_3.png"));
  EXPECT_TRUE(source.Next(&image));
  EXPECT_EQ(image.name, "frame_4.png");
}

TEST_F(FrameSourceTest, NothingUsable) {
  const Thrown empty = Catch([&] { Source(); });
  EXPECT_EQ(empty.code, ErrorCode::kNoInput);
  EXPECT_THAT(empty.message, HasSubstr(".jpg, .jpeg, .png, .webp, .tif, .tiff and .bmp"));
  WriteText("a.txt");
  WriteText("b.md");
  EXPECT_THAT(Catch([&] { Source(); }).message, HasSubstr("2 other files"));
  const Thrown missing = Catch([&] { ImageFolderSource(folder_ / "absent", options_); });
  EXPECT_EQ(missing.code, ErrorCode::kFileNotFound);
  EXPECT_THAT(missing.message, HasSubstr("a folder of images, one image or a video"));
  WriteText("c.png");
  options_.skip_bad = true;
  ImageFolderSource source = Source();
  EXPECT_EQ(Catch([&] { source.Verify(team_); }).code, ErrorCode::kNoInput);
}

TEST_F(FrameSourceTest, OneFileOfAnyName) {
  Write("picture.data", Png(9));
  WriteText("text.txt");
  ImageFolderSource source(folder_ / "picture.data", options_);
  EXPECT_THAT(source.Verify(team_), SizeIs(1));
  EXPECT_THAT(Names(&source), ElementsAre("picture.data"));
  ImageFolderSource text(folder_ / "text.txt", options_);
  EXPECT_EQ(Catch([&] { text.Verify(team_); }).code, ErrorCode::kUnsupportedFormat);
}

TEST_F(FrameSourceTest, LinksLoopsAndPipes) {
  Write("a.png", Png(1));
  fs::create_symlink(folder_ / "a.png", folder_ / "b.png");
  fs::create_symlink(folder_, folder_ / "loop");
  EXPECT_THAT(Names(), ElementsAre("a.png", "b.png"));
  fs::create_symlink(folder_ / "absent.png", folder_ / "c.png");
  fs::create_symlink(folder_ / "d.png", folder_ / "d.png");
  ASSERT_EQ(::mkfifo((folder_ / "e.png").c_str(), 0600), 0);
  options_.skip_bad = true;
  ImageFolderSource source = Source();
  EXPECT_THAT(source.Verify(team_), SizeIs(2));
  EXPECT_THAT(log_, ElementsAre(HasSubstr("c.png"), HasSubstr("d.png"), HasSubstr("e.png")));
  EXPECT_EQ(Catch([&] { ImageFolderSource(folder_ / "d.png", options_); }).code,
            ErrorCode::kFileUnreadable);
  EXPECT_EQ(Catch([&] { ImageFolderSource(folder_ / "e.png", options_); }).code,
            ErrorCode::kFileUnreadable);
}

// Permissions do not bind the superuser, so a test that runs as one steps down for a while.
class AsOrdinaryUser {
 public:
  AsOrdinaryUser() : previous_(::geteuid()) {
    constexpr uid_t kNobody = 65534;
    if (previous_ == 0 && ::seteuid(kNobody) != 0) ADD_FAILURE() << "cannot step down";
  }
  ~AsOrdinaryUser() {
    if (previous_ == 0 && ::seteuid(previous_) != 0) ADD_FAILURE() << "cannot step up";
  }
  AsOrdinaryUser(const AsOrdinaryUser&) = delete;
  AsOrdinaryUser& operator=(const AsOrdinaryUser&) = delete;

 private:
  uid_t previous_;
};

TEST_F(FrameSourceTest, UnreadableFileAndFolder) {
  WriteTen();
  fs::permissions(folder_ / "frame_2.png", fs::perms::none);
  ImageFolderSource source = Source();
  {
    const AsOrdinaryUser user;
    const Thrown file = Catch([&] { source.Verify(team_); });
    EXPECT_EQ(file.code, ErrorCode::kFileUnreadable);
    EXPECT_THAT(file.message, HasSubstr("frame_2.png"));
  }
  fs::permissions(folder_, fs::perms::none);
  {
    const AsOrdinaryUser user;
    EXPECT_EQ(Catch([&] { Source(); }).code, ErrorCode::kFileUnreadable);
  }
  fs::permissions(folder_, fs::perms::owner_all);
}

TEST_F(FrameSourceTest, UnusualNames) {
  const std::vector<std::string> names = {"with space.png", "z\xC3\xBCrich \xE6\x97\xA5.png",
                                          "\xFFnot utf-8.png"};
  for (const std::string& name : names) Write(name, Png(1));
  EXPECT_EQ(Names(), names);
  Write("line\nfeed.png", Half(Png(1)));
  ImageFolderSource source = Source();
  const Thrown thrown = Catch([&] { source.Verify(team_); });
  EXPECT_THAT(thrown.message, HasSubstr("line?feed.png"));
  EXPECT_EQ(thrown.message.find('\n'), std::string::npos);
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kFreedMemoryIsKept = true;  // in a quarantine that finds late uses
#else
constexpr bool kFreedMemoryIsKept = false;
#endif

TEST_F(FrameSourceTest, MemoryDoesNotGrowWithTheNumberOfFrames) {
  if (kFreedMemoryIsKept) GTEST_SKIP() << "the address sanitizer keeps freed memory";
  const FileBytes file = MakeRgbPng(512, 512, std::vector<uint8_t>(3 * 512 * 512, 7));
  for (int i = 0; i < 100; ++i) Write(std::to_string(i) + ".png", file);
  ImageFolderSource source = Source();
  Image image;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(source.Next(&image));
  const uint64_t before = ResidentMemory();
  while (source.Next(&image)) {
  }
  EXPECT_LT(ResidentMemory(), before + 10'000'000);  // 80 frames would be 63 MB
}

}  // namespace
}  // namespace lingbot
