#include "cli/mask_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "lingbot/error.h"
#include "output/output_file.h"
#include "output/png.h"

namespace lingbot::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MaskFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "masks XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Grey pixels, row by row.
  void Write(const std::string& name, int height, int width, const std::vector<uint8_t>& grey) {
    std::vector<uint8_t> rgb;
    for (const uint8_t value : grey) rgb.insert(rgb.end(), 3, value);
    WriteFile(folder_ / name, EncodePngRgb(rgb, height, width));
  }

  static FrameRecord Record(int64_t index, const std::string& source, int height, int width) {
    FrameRecord record;
    record.index = index;
    record.source_name = source;
    record.height = height;
    record.width = width;
    return record;
  }

  std::string Refusal() {
    try {
      MaskFolder masks(folder_);
      masks.MaskOf(Record(0, "a.jpg", 2, 2));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  fs::path folder_;
};

TEST_F(MaskFolderTest, FoundByNameThenByNumber) {
  Write("b.png", 1, 2, {255, 0});
  Write("IMG.JPG.png", 1, 2, {0, 255});
  Write("0007.png", 1, 2, {255, 255});
  MaskFolder masks(folder_);
  const auto mask = [&](int64_t index, const std::string& source) {
    const auto found = masks.MaskOf(Record(index, source, 1, 2));
    return std::vector<int>(found.begin(), found.end());
  };
  EXPECT_THAT(mask(7, "b.jpg"), ElementsAre(1, 0));
  EXPECT_THAT(mask(0, "IMG.JPG"), ElementsAre(0, 1));
  EXPECT_THAT(mask(7, "clip.mp4"), ElementsAre(1, 1));
  EXPECT_TRUE(masks.Warnings().empty());
  EXPECT_THAT(mask(8, "clip.mp4"), ElementsAre());
  EXPECT_THAT(mask(9, ""), ElementsAre());
  ASSERT_EQ(masks.Warnings().size(), 1u);
  EXPECT_THAT(masks.Warnings()[0], HasSubstr("2 of 5 frames have no mask"));
}

TEST_F(MaskFolderTest, HalfWhiteKeeps) {
  Write("a.png", 2, 2, {0, 127, 128, 255});
  MaskFolder masks(folder_);
  EXPECT_THAT(masks.MaskOf(Record(0, "a.jpg", 2, 2)), ElementsAre(0, 0, 1, 1));
}

TEST_F(MaskFolderTest, AnySizeIsStretchedOverTheFrame) {
  Write("a.png", 1, 2, {255, 0});
  MaskFolder masks(folder_);
  EXPECT_THAT(masks.MaskOf(Record(0, "a.jpg", 2, 4)), ElementsAre(1, 1, 0, 0, 1, 1, 0, 0));
}

TEST_F(MaskFolderTest, LiesOverTheSourceImageThatWasCropped) {
  // The source has 4 columns and 8 rows; half its size is 2x4, of which the middle two rows are
  // left.
  Write("a.png", 4, 1, {255, 255, 0, 255});
  MaskFolder masks(folder_);
  FrameRecord record = Record(0, "a.jpg", 2, 2);
  record.mapping = {4, 8, 0.5, 0.5, 0.0, -1.0};
  EXPECT_THAT(masks.MaskOf(record), ElementsAre(1, 1, 0, 0));
  // One of the frame's own size is the frame's.
  Write("a.png", 2, 2, {0, 255, 255, 0});
  EXPECT_THAT(masks.MaskOf(record), ElementsAre(0, 1, 1, 0));
}

TEST_F(MaskFolderTest, WhatIsWrongIsNamed) {
  EXPECT_THAT(Refusal(), HasSubstr("holds no picture"));
  std::ofstream(folder_ / "a.png") << "no picture";
  EXPECT_THAT(Refusal(), HasSubstr("a.png"));
  Write("a.png", 1, 1, {1});
  Write("a.jpg", 1, 1, {1});
  EXPECT_THAT(Refusal(), HasSubstr("same name"));
  fs::remove_all(folder_);
  EXPECT_THAT(Refusal(), HasSubstr("does not exist"));
}

}  // namespace
}  // namespace lingbot::cli
