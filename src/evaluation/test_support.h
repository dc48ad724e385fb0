#ifndef LINGBOT_EVALUATION_TEST_SUPPORT_H_
#define LINGBOT_EVALUATION_TEST_SUPPORT_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "evaluation/trajectory_metrics.h"
#include "lingbot/error.h"

namespace lingbot {

// A folder that is removed at the end of the test.
class EvaluationFolder {
 public:
  EvaluationFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "evaluation XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "cannot create " << name;
    path_ = name;
  }
  ~EvaluationFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  // Writes a file, with the folders above it, and returns its path.
  std::filesystem::path Write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Runs `action` and expects an Error of `code` whose message contains `text`.
template <typename Action>
void ExpectEvaluationError(ErrorCode code, const std::string& text, Action action) {
  try {
    action();
    ADD_FAILURE() << "no error; expected one with: " << text;
  } catch (const Error& error) {
    EXPECT_STREQ(ErrorCodeName(error.code()), ErrorCodeName(code)) << error.what();
    EXPECT_THAT(error.what(), ::testing::HasSubstr(text));
  }
}

inline RigidPose MakePose(const Eigen::Vector3d& center, double degrees = 0,
                          const Eigen::Vector3d& axis = Eigen::Vector3d::UnitY()) {
  return {Eigen::Quaterniond(Eigen::AngleAxisd(degrees * M_PI / 180, axis.normalized())), center};
}

// A path in three dimensions with rotations.
inline std::vector<RigidPose> Helix(int count) {
  std::vector<RigidPose> poses;
  for (int i = 0; i < count; ++i) {
    const double t = 0.2 * i;
    poses.push_back(MakePose({std::cos(t), 0.1 * t, std::sin(t)}, 5.0 * i, {0.3, 1, -0.2}));
  }
  return poses;
}

inline PosePairs PairsOf(const std::vector<RigidPose>& run, const std::vector<RigidPose>& truth) {
  PosePairs pairs{run, truth, {}};
  for (size_t i = 0; i < run.size(); ++i) pairs.times.push_back(static_cast<double>(i));
  return pairs;
}

}  // namespace lingbot

#endif  // LINGBOT_EVALUATION_TEST_SUPPORT_H_
