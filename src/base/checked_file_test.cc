#include "base/checked_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

namespace lingbot {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr CheckedFileKind kKind = {"TESTFILE", 3, "a file of this test"};

class CheckedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              (std::string("checked_file_") +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = folder_ / "file.bin";
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::vector<char> Numbers(size_t count) {
    std::vector<char> bytes(count);
    std::iota(bytes.begin(), bytes.end(), 0);
    return bytes;
  }
  void WriteNumbers(size_t count) {
    CheckedFileWriter writer(path_, kKind);
    const std::vector<char> bytes = Numbers(count);
    writer.Write(bytes.data(), bytes.size());
    writer.Commit();
  }
  std::string Bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void SetBytes(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }
  // Code and text of the error, or kInternal and "" if the file is read without one.
  std::pair<ErrorCode, std::string> ErrorOfReading() const {
    try {
      CheckedFileReader reader(path_, kKind);
      std::vector<char> all(reader.left());
      reader.Read(all.data(), all.size());
      reader.Finish();
    } catch (const Error& error) {
      return {error.code(), error.what()};
    }
    return {ErrorCode::kInternal, ""};
  }

  fs::path folder_;
  fs::path path_;
};

TEST_F(CheckedFileTest, GivesBackWhatWasWritten) {
  const std::vector<char> bytes = Numbers(5'000'000);
  {
    CheckedFileWriter writer(path_, kKind);
    for (size_t i = 0; i < bytes.size();) {  // pieces below, at and above the buffer's size
      const size_t piece = std::min(bytes.size() - i, i % 3 == 0 ? 700'001 : i % 2 + 1'048'576);
      writer.Write(bytes.data() + i, piece);
      i += piece;
    }
    writer.Commit();
  }
  CheckedFileReader reader(path_, kKind);
  EXPECT_EQ(reader.left(), bytes.size());
  std::vector<char> read(bytes.size());
  size_t piece = 1;
  for (size_t i = 0; i < read.size(); piece = piece * 3 % 1'500'000 + 1) {
    const size_t count = std::min(piece, read.size() - i);
    reader.Read(read.data() + i, count);
    i += count;
  }
  reader.Finish();
  EXPECT_TRUE(read == bytes);
  char more;
  EXPECT_THROW(reader.Read(&more, 1), Error);
}

TEST_F(CheckedFileTest, EveryTruncationAndEveryChangedByteIsSeen) {
  WriteNumbers(300);
  const std::string whole = Bytes();
  ASSERT_EQ(whole.size(), 340u);
  EXPECT_EQ(ErrorOfReading().second, "");
  for (size_t length = 0; length < whole.size(); ++length) {
    SetBytes(whole.substr(0, length));
    EXPECT_NE(ErrorOfReading().second, "") << length;
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    SetBytes(changed);
    EXPECT_THAT(ErrorOfReading().second, HasSubstr(path_.string())) << i;
  }
  SetBytes(whole + "x");
  EXPECT_EQ(ErrorOfReading().first, ErrorCode::kCorruptFile);
}

TEST_F(CheckedFileTest, SaysWhatAFileIs) {
  EXPECT_EQ(ErrorOfReading().first, ErrorCode::kFileNotFound);
  SetBytes("just a text, and long enough to be a header of one of ours");
  EXPECT_EQ(ErrorOfReading().first, ErrorCode::kUnsupportedFormat);
  SetBytes("");
  EXPECT_EQ(ErrorOfReading().first, ErrorCode::kUnsupportedFormat);
  {
    CheckedFileWriter writer(path_, {"TESTFILE", 4, "a file of this test"});
    writer.Commit();
  }
  EXPECT_EQ(ErrorOfReading().first, ErrorCode::kUnsupportedFormat);
  EXPECT_THAT(ErrorOfReading().second, HasSubstr("version 4"));
  EXPECT_THROW(CheckedFileReader(folder_, kKind), Error);
  EXPECT_THROW(CheckedFileReader("/dev/zero", kKind), Error);
}

TEST_F(CheckedFileTest, WithoutCommitTheOldFileStays) {
  WriteNumbers(10);
  const std::string before = Bytes();
  {
    CheckedFileWriter writer(path_, kKind);
    const std::vector<char> bytes = Numbers(3'000'000);
    writer.Write(bytes.data(), bytes.size());
  }
  EXPECT_EQ(Bytes(), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(CheckedFileTest, UnwritablePlacesAreErrors) {
  const auto code_of = [](const fs::path& path) {
    try {
      CheckedFileWriter writer(path, kKind);
      writer.Commit();
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kInternal;
  };
  EXPECT_EQ(code_of(folder_ / "none" / "file"), ErrorCode::kFileUnwritable);
  EXPECT_EQ(code_of("/proc/none"), ErrorCode::kFileUnwritable);
  EXPECT_EQ(code_of("/dev/full"), ErrorCode::kFileUnwritable);
  EXPECT_EQ(code_of(folder_), ErrorCode::kFileUnwritable);
}

}  // namespace
}  // namespace lingbot
