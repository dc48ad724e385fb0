#ifndef LINGBOT_TESTS_CLI_FIXTURES_H_
#define LINGBOT_TESTS_CLI_FIXTURES_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "media/test_images.h"
#include "program.h"
#include "tensor/tensor_view.h"
#include "weights/hashed_weights.h"

namespace lingbot::cli {

// Changes to the tiny model before it is written.
struct ModelChange {
  std::string drop;                     // tensor to leave out
  std::map<std::string, Shape> shapes;  // tensors to add or to give another shape
  std::string damage = {};              // tensor whose values are no numbers
};

// A seeded network small enough to run hundreds of frames in a test: width 84, 128 channels; scale
// frames and window are the released network's (8 and 64), as the file says nothing of them.
void WriteModel(const std::filesystem::path& path, const ModelChange& change = {});
// `weights` as a file; of the tensor named `damage` the values are no numbers.
void WriteWeights(const HashedWeights& weights, const std::filesystem::path& path,
                  const std::string& damage = {});

void WriteBytes(const std::filesystem::path& path, const std::string& bytes);
std::string ReadText(const std::filesystem::path& path);
std::vector<std::string> ReadLines(const std::filesystem::path& path);
nlohmann::json ReadJson(const std::filesystem::path& path);

std::string Png(int width, int height, int salt);
std::string Jpeg(int width, int height, int salt);

// `count` PNGs frame_0.png, frame_1.png, ... of 84x56 pixels, all different.
void WriteFrames(const std::filesystem::path& folder, int count);

// Lines of eight numbers in a TUM trajectory, comments apart.
int CountPoses(const std::filesystem::path& path);

// Vertices that the header of a PLY states, having checked that the file's length agrees and that
// every coordinate is finite; -1 if anything is wrong.
int64_t CountVertices(const std::filesystem::path& path);

// The numbers of a two-dimensional float32 NPY file.
std::vector<float> ReadNpy(const std::filesystem::path& path);

// A folder of its own for each test, and one model for all of them.
class CliTest : public testing::Test {
 protected:
  static void SetUpTestSuite();
  void SetUp() override;
  void TearDown() override;

  std::filesystem::path Path(const std::string& name) const { return folder_ / name; }
  static std::string model();

  // Arguments of a run of `in` into `out`, both in the test's folder, at image size 84 in fp32.
  std::vector<std::string> Arguments(const std::vector<std::string>& more = {}) const;
  Finished Run(const std::vector<std::string>& more = {}, const Limits& limits = {}) const;

  // Expects `count` frames in `out` whose files all stand and whose manifest has this status, and
  // the cloud that it states.
  void ExpectFrames(int count, const std::string& status = "complete") const;

  // Expects this exit code, exactly one error line, holding all of `parts`, and none of an
  // exception or an abort.
  static void ExpectError(const Finished& finished, int exit_code,
                          const std::vector<std::string>& parts);

 private:
  std::filesystem::path folder_;
};

}  // namespace lingbot::cli

#endif  // LINGBOT_TESTS_CLI_FIXTURES_H_
