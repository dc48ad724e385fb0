#ifndef LINGBOT_WEIGHTS_TEST_SUPPORT_H_
#define LINGBOT_WEIGHTS_TEST_SUPPORT_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "lingbot/error.h"
#include "weights/tensor_source.h"

namespace lingbot {

// A folder that is removed with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lingbot-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp " + pattern);
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::filesystem::path WriteFile(const std::filesystem::path& path,
                                       const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
  return path;
}

inline std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::vector<float> Values(const TensorSource& source, const std::string& tensor) {
  std::vector<float> values(static_cast<size_t>(source.Find(tensor).shape.elements()));
  source.ReadFloats(tensor, values.data());
  return values;
}

// Expects an Error of `code` whose message holds every one of `parts`.
template <typename Action>
void ExpectError(ErrorCode code, const std::vector<std::string>& parts, Action&& action) {
  try {
    action();
    ADD_FAILURE() << "expected " << ErrorCodeName(code);
  } catch (const Error& error) {
    EXPECT_STREQ(ErrorCodeName(error.code()), ErrorCodeName(code)) << error.what();
    for (const std::string& part : parts) EXPECT_THAT(error.what(), testing::HasSubstr(part));
  }
}

// Files that some tests read where they are at hand.
inline std::filesystem::path SharedFile(const std::string& name) {
  return std::filesystem::path(LINGBOT_SOURCE_DIR) / "../shared" / name;
}

}  // namespace lingbot

#endif  // LINGBOT_WEIGHTS_TEST_SUPPORT_H_
