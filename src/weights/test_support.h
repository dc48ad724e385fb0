#ifndef LINGBOT_WEIGHTS_TEST_SUPPORT_H_
#define LINGBOT_WEIGHTS_TEST_SUPPORT_H_

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lingbot/error.h"
#include "weights/tensor_source.h"

namespace lingbot {

// A folder that is removed with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::filesystem::path WriteFile(const std::filesystem::path& path, const std::string& contents);
std::string ReadFile(const std::filesystem::path& path);

// All elements of a tensor.
std::vector<float> Values(const TensorSource& source, const std::string& tensor);

// Expects an Error of `code` whose message holds every one of `parts`.
void ExpectError(ErrorCode code, const std::vector<std::string>& parts,
                 const std::function<void()>& action);

// Files that some tests read where they are at hand.
std::filesystem::path SharedFile(const std::string& name);

}  // namespace lingbot

#endif  // LINGBOT_WEIGHTS_TEST_SUPPORT_H_
