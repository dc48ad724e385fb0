#include "weights/test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

namespace lingbot {

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "lingbot-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp " + pattern);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path WriteFile(const std::filesystem::path& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
  return path;
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<float> Values(const TensorSource& source, const std::string& tensor) {
  std::vector<float> values(static_cast<size_t>(source.Find(tensor).shape.elements()));
  source.ReadFloats(tensor, values.data());
  return values;
}

void ExpectError(ErrorCode code, const std::vector<std::string>& parts,
                 const std::function<void()>& action) {
  try {
    action();
    ADD_FAILURE() << "expected " << ErrorCodeName(code);
  } catch (const Error& error) {
    EXPECT_STREQ(ErrorCodeName(error.code()), ErrorCodeName(code)) << error.what();
    for (const std::string& part : parts) EXPECT_THAT(error.what(), testing::HasSubstr(part));
  }
}

std::filesystem::path SharedFile(const std::string& name) {
  return std::filesystem::path(LINGBOT_SOURCE_DIR) / "../shared" / name;
}

}  // namespace lingbot
