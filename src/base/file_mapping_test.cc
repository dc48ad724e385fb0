#include "base/file_mapping.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "lingbot/error.h"

namespace lingbot {
namespace {

std::filesystem::path WriteFile(const char* name, const std::string& text) {
  const auto path = std::filesystem::path(testing::TempDir()) / name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TEST(FileMapping, ReadsAndRereadsAfterDropping) {
  const std::string text(100000, 'x');
  const FileMapping mapping(WriteFile("mapped.bin", text));
  ASSERT_EQ(mapping.bytes().size(), text.size());
  mapping.DropResident(0, text.size());
  mapping.DropResident(5000, text.size() * 2);
  mapping.DropResident(text.size(), 1);
  for (std::byte b : mapping.bytes()) ASSERT_EQ(static_cast<char>(b), 'x');
}

TEST(FileMapping, EmptyFileIsAnEmptySpan) {
  EXPECT_TRUE(FileMapping(WriteFile("empty.bin", "")).bytes().empty());
}

TEST(FileMapping, SaysWhyItCannotRead) {
  try {
    FileMapping missing("/nonexistent/file");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kFileNotFound);
  }
  try {
    FileMapping folder(testing::TempDir());
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kFileUnreadable);
  }
}

}  // namespace
}  // namespace lingbot
