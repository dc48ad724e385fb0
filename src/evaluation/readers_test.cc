// Pose files, COLMAP models, depth maps and run folders, whole and damaged.

#include <png.h>

#include <fmt/format.h>

#include <cstring>
#include <random>

#include "evaluation/colmap.h"
#include "evaluation/depth_map.h"
#include "evaluation/ground_truth.h"
#include "evaluation/run_track.h"
#include "evaluation/test_support.h"

namespace lingbot {
namespace {

namespace fs = std::filesystem;

class ReadersTest : public testing::Test {
 protected:
  EvaluationFolder folder_;
};

template <typename T>
std::string Bytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

std::string Npy(const std::string& dtype, const std::string& shape, const std::string& data,
                const std::string& order = "False") {
  std::string header =
      "{'descr': '" + dtype + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  header.resize(118, ' ');
  header[117] = '\n';
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + data;
}

std::string Png16(int width, int height, const std::vector<uint16_t>& values) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_LINEAR_Y;
  std::string bytes(1 << 16, '\0');
  png_alloc_size_t size = bytes.size();
  png_image_write_to_memory(&image, bytes.data(), &size, 0, values.data(), 0, nullptr);
  bytes.resize(size);
  return bytes;
}

TEST_F(ReadersTest, Tum) {
  const fs::path file = folder_.Write("t.txt",
                                      "# time tx ty tz qx qy qz qw\r\n"
                                      "1.5 1 2 3 0 0 0.6 0.8\r\n"
                                      "\n"
                                      "1.6 nan 2 3 0 0 0 1\n"
                                      "  1.7\t4 5 6e0 0 0 0 -2");
  const PoseTrack track = ReadPoseFile(file);
  ASSERT_EQ(track.poses.size(), 2u);
  EXPECT_TRUE(track.has_timestamps);
  EXPECT_EQ(track.unusable, 1);
  EXPECT_EQ(track.poses[0].timestamp, 1.5);
  EXPECT_EQ(track.poses[0].pose.center, Eigen::Vector3d(1, 2, 3));
  EXPECT_NEAR(track.poses[0].pose.rotation.z(), 0.6, 1e-15);
  EXPECT_EQ(track.poses[1].index, 2);
  EXPECT_NEAR(track.poses[1].pose.rotation.w(), 1, 1e-15);
}

TEST_F(ReadersTest, Kitti) {
  const PoseTrack track = ReadPoseFile(folder_.Write("k.txt",
                                                     "1 0 0 4 0 1 0 5 0 0 1 6\n"
                                                     "0 0 1 7 0 1 0 8 -1 0 0 9\n"));
  ASSERT_EQ(track.poses.size(), 2u);
  EXPECT_FALSE(track.has_timestamps);
  EXPECT_EQ(track.poses[1].pose.center, Eigen::Vector3d(7, 8, 9));
  const Eigen::Vector3d ahead = track.poses[1].pose.rotation * Eigen::Vector3d::UnitZ();
  EXPECT_LT((ahead - Eigen::Vector3d::UnitX()).norm(), 1e-12);
}

TEST_F(ReadersTest, RefusesOtherPoseFiles) {
  const auto expect = [&](const std::string& text, ErrorCode code, const std::string& message) {
    const fs::path file = folder_.Write("p.txt", text);
    ExpectEvaluationError(code, message, [&] { ReadPoseFile(file); });
  };
  expect("", ErrorCode::kNoInput, "no usable pose");
  expect("# only a comment\n", ErrorCode::kNoInput, "no usable pose");
  expect("1 2 3\n", ErrorCode::kUnsupportedFormat, "line 1");
  expect("hello\n", ErrorCode::kUnsupportedFormat, "neither the 8");
  expect("0 0 0 0 0 0 0 1\n1 0 0 0 0 0 0\n", ErrorCode::kCorruptFile, "line 2");
  expect("0 0 0 0 0 0 0 1\n1 0 0 0 0 x 0 1\n", ErrorCode::kCorruptFile, "line 2");
  expect("inf 0 0 0 0 0 0 1\n", ErrorCode::kCorruptFile, "has no time");
  expect("0 1e300 0 0 0 0 0 1\n", ErrorCode::kNoInput, "no usable pose");
  expect("0 0 0 0 0 0 0 0\n", ErrorCode::kNoInput, "no usable pose");
  expect("2 0 0 4 0 1 0 5 0 0 1 6\n", ErrorCode::kCorruptFile, "no rotation");
  expect("1 0 0 4 0 1 0 5 0 0 -1 6\n", ErrorCode::kCorruptFile, "no rotation");
  ExpectEvaluationError(ErrorCode::kFileNotFound, "absent",
                        [&] { ReadPoseFile(folder_ / "absent"); });
}

void ExpectColmapPoses(const ColmapModel& model) {
  ASSERT_EQ(model.track.poses.size(), 2u);
  EXPECT_EQ(model.track.poses[0].name, "a b.jpg");
  EXPECT_EQ(model.track.poses[1].name, "c.jpg");
  // R = 90 degrees about z, t = (1, 2, 3): c = -R^T t = (-2, 1, -3).
  EXPECT_LT((model.track.poses[1].pose.center - Eigen::Vector3d(-2, 1, -3)).norm(), 1e-12);
  const TruthCamera& camera = model.cameras[static_cast<size_t>(model.track.poses[0].camera)];
  EXPECT_EQ(camera.width, 640);
  EXPECT_EQ(camera.intrinsics.fy, 501);
  EXPECT_EQ(camera.intrinsics.cx, 319.5);  // COLMAP's centre of the image is 320
  EXPECT_FALSE(camera.distorted);
  EXPECT_EQ(model.cameras[static_cast<size_t>(model.track.poses[1].camera)].width, 0);
}

TEST_F(ReadersTest, ColmapText) {
  folder_.Write("m/cameras.txt", "# cameras\n7 PINHOLE 640 480 500 501 320 240\n");
  folder_.Write("m/images.txt",
                "# images\n"
                "2 0.70710678118654752 0 0 0.70710678118654752 1 2 3 9 c.jpg\n"
                "1 2 3 4 5 6\n"
                "1 1 0 0 0 0 0 0 7 a b.jpg\n"
                "\n");
  ExpectColmapPoses(ReadColmap(folder_ / "m"));
}

std::string ColmapImageBytes(const std::vector<double>& n, uint32_t camera,
                             const std::string& name) {
  std::string bytes = Bytes(uint32_t{1});
  for (const double value : n) bytes += Bytes(value);
  return bytes + Bytes(camera) + name + '\0' + Bytes(uint64_t{1}) + std::string(24, 'p');
}

void WriteColmapBinary(const EvaluationFolder& folder) {
  std::string cameras = Bytes(uint64_t{1}) + Bytes(uint32_t{7}) + Bytes(uint32_t{1}) +
                        Bytes(uint64_t{640}) + Bytes(uint64_t{480});
  for (const double value : {500.0, 501.0, 320.0, 240.0}) cameras += Bytes(value);
  folder.Write("m/cameras.bin", cameras);
  const double half = std::sqrt(0.5);
  folder.Write("m/images.bin", Bytes(uint64_t{2}) +
                                   ColmapImageBytes({half, 0, 0, half, 1, 2, 3}, 9, "c.jpg") +
                                   ColmapImageBytes({1, 0, 0, 0, 0, 0, 0}, 7, "a b.jpg"));
}

TEST_F(ReadersTest, ColmapBinary) {
  WriteColmapBinary(folder_);
  ExpectColmapPoses(ReadColmap(folder_ / "m"));
}

TEST_F(ReadersTest, ColmapImagesInNaturalOrder) {
  WriteColmapBinary(folder_);
  folder_.Write("m/images.bin", Bytes(uint64_t{3}) +
                                    ColmapImageBytes({1, 0, 0, 0, 0, 0, 10}, 7, "f10.png") +
                                    ColmapImageBytes({1, 0, 0, 0, 0, 0, 9}, 7, "f9.png") +
                                    ColmapImageBytes({1, 0, 0, 0, 0, 0, 1}, 7, "f1.png"));
  const ColmapModel model = ReadColmap(folder_ / "m");
  ASSERT_EQ(model.track.poses.size(), 3u);
  EXPECT_EQ(model.track.poses[0].pose.center.z(), -1);
  EXPECT_EQ(model.track.poses[1].pose.center.z(), -9);
  EXPECT_EQ(model.track.poses[2].pose.center.z(), -10);
}

TEST_F(ReadersTest, RefusesBrokenColmap) {
  const auto expect = [&](const std::string& name, const std::string& text,
                          const std::string& message) {
    const fs::path file = folder_.Write("m/" + name, text);
    ExpectEvaluationError(ErrorCode::kCorruptFile, message, [&] { ReadColmap(folder_ / "m"); });
    fs::remove(file);
  };
  expect("images.bin", Bytes(uint64_t{1} << 60), "ends too early");
  expect("images.bin", Bytes(uint64_t{1}) + std::string(64, 'x'), "ends too early");
  expect("images.txt", "1 1 0 0 0 0 0 0 7\n", "line 1");
  folder_.Write("m/images.txt", "1 1 0 0 0 0 0 0 7 a.jpg\n");
  expect("cameras.txt", "7 PINHOLE 640 480 500 501 320\n", "parameters");
  expect("cameras.txt", "7 PINHOLE 640 480 0 501 320 240\n", "focal");
  expect("cameras.txt", "7 PINHOLE -640 480 500 501 320 240\n", "pixels");
}

TEST_F(ReadersTest, DepthMaps) {
  const DepthMap png =
      ReadDepthMap(folder_.Write("d.png", Png16(3, 2, {0, 1, 2, 300, 4, 65535})), 0.5);
  ASSERT_EQ(png.width, 3);
  ASSERT_EQ(png.height, 2);
  EXPECT_THAT(png.values, testing::ElementsAre(0.0f, 0.5f, 1.0f, 150.0f, 2.0f, 32767.5f));
  const std::string doubles = Bytes(1.5) + Bytes(std::nan(""));
  const DepthMap f8 = ReadDepthMap(folder_.Write("d.npy", Npy("<f8", "(1, 2)", doubles)), 0.5);
  EXPECT_EQ(f8.at(0, 0), 1.5f);  // no unit in floating-point arrays
  EXPECT_FALSE(IsDepth(f8.at(1, 0)));
  const DepthMap u2 =
      ReadDepthMap(folder_.Write("d.npy", Npy("<u2", "(2, 1)", Bytes(uint32_t{0x00030002}))), 0.5);
  EXPECT_THAT(u2.values, testing::ElementsAre(1.0f, 1.5f));
  const DepthMap f2 =
      ReadDepthMap(folder_.Write("d.npy", Npy("<f2", "(1, 1)", Bytes(uint16_t{0x3E00}))), 9);
  EXPECT_EQ(f2.at(0, 0), 1.5f);
}

TEST_F(ReadersTest, RefusesOtherDepthMaps) {
  const auto expect = [&](const std::string& name, const std::string& bytes, ErrorCode code,
                          const std::string& message) {
    const fs::path file = folder_.Write(name, bytes);
    ExpectEvaluationError(code, message, [&] { ReadDepthMap(file, 1); });
  };
  expect("d.exr", "", ErrorCode::kUnsupportedFormat, "neither a PNG nor an NPY");
  expect("d.png", "no picture", ErrorCode::kUnsupportedFormat, "no PNG");
  expect("d.png", Png16(3, 2, {1, 2, 3, 4, 5, 6}).substr(0, 60), ErrorCode::kCorruptFile, "d.png");
  expect("d.npy", "no array at all", ErrorCode::kUnsupportedFormat, "no NumPy");
  expect("d.npy", Npy("<f4", "(1, 2)", "1234"), ErrorCode::kCorruptFile, "8 bytes");
  expect("d.npy", Npy("<f4", "(1, 1)", "1234", "True"), ErrorCode::kUnsupportedFormat, "C order");
  expect("d.npy", Npy("<f4", "(4,)", "1234"), ErrorCode::kUnsupportedFormat, "two-dimensional");
  expect("d.npy", Npy("<i8", "(1, 1)", "12345678"), ErrorCode::kUnsupportedFormat, "type <i8");
  expect("d.npy", Npy("<f4", "(99999, 99999)", "1234"), ErrorCode::kUnsupportedFormat, "99999");
}

TEST_F(ReadersTest, RunFolder) {
  folder_.Write(
      "run/frames.jsonl",
      R"({"index":0,"source":"v.mp4","source_index":6,"timestamp":0.2,"center":[1,2,3],)"
      R"("quaternion":[0,0,0,1],"intrinsics_resized":{"fx":10,"fy":11,"cx":5,"cy":null},)"
      R"("intrinsics_original":{"fx":1,"fy":1,"cx":1,"cy":1,"width":20,"height":16},)"
      R"("mapping":{"scale":[0.5,0.25],"offset":[1,-2]},"files":{"depth_npy":"depth/0.npy"}})"
      "\n"
      R"({"index":1,"source":"v.mp4","source_index":7,"timestamp":0.3,"center":[null,2,3],)"
      R"("quaternion":[0,0,0,1],"intrinsics_resized":{"fx":10,"fy":11,"cx":5,"cy":6},)"
      R"("intrinsics_original":null,"mapping":{"scale":[1,1],"offset":[0,0]},"files":{}})");
  const RunTrack run = ReadRun(folder_ / "run");
  ASSERT_EQ(run.track.poses.size(), 1u);
  ASSERT_EQ(run.frames.size(), 1u);
  EXPECT_EQ(run.track.unusable, 1);
  EXPECT_EQ(run.track.poses[0].index, 6);
  EXPECT_EQ(run.frames[0].original_height, 16);
  EXPECT_EQ(run.frames[0].scale_y, 0.25);
  EXPECT_EQ(run.frames[0].offset_y, -2);
  EXPECT_EQ(run.frames[0].depth, folder_ / "run/depth/0.npy");
  EXPECT_TRUE(std::isnan(run.frames[0].intrinsics.cy));
}

std::string Record(int index, const std::string& source, double time) {
  return fmt::format(
      R"({{"source":"{}","source_index":{},"timestamp":{},"center":[1,2,3],)"
      R"("quaternion":[0,0,0,1],"intrinsics_resized":{{"fx":1,"fy":1,"cx":1,"cy":1}},)"
      R"("intrinsics_original":null,"mapping":{{"scale":[1,1],"offset":[0,0]}},"files":{{}}}})",
      source, index, time);
}

// A killed run ends anywhere in a line; damage further up is damage.
TEST_F(ReadersTest, LeavesOutAHalfLastRecord) {
  const std::string whole = Record(0, "a.png", 0) + "\n";
  const std::string last = Record(1, "b.png", 1);
  for (const size_t length : {size_t{1}, size_t{40}, last.size() - 1}) {
    folder_.Write("run/frames.jsonl", whole + last.substr(0, length));
    const RunTrack run = ReadRun(folder_ / "run");
    EXPECT_EQ(run.track.poses.size(), 1u);
    EXPECT_EQ(run.cut_records, 1);
  }
  folder_.Write("run/frames.jsonl", whole + last);
  EXPECT_EQ(ReadRun(folder_ / "run").track.poses.size(), 2u);
  folder_.Write("run/frames.jsonl", whole + last.substr(0, 40) + "\n" + last);
  ExpectEvaluationError(ErrorCode::kCorruptFile, "line 2", [&] { ReadRun(folder_ / "run"); });
  folder_.Write("run/frames.jsonl", "{\"index\": 0}\n");
  ExpectEvaluationError(ErrorCode::kCorruptFile, "a part that lingbot-map run writes is missing",
                        [&] { ReadRun(folder_ / "run"); });
}

TEST_F(ReadersTest, KnowsInventedTimes) {
  const auto invented = [&](const std::string& source, double second) {
    folder_.Write("run/frames.jsonl",
                  Record(0, source + "0", 0) + "\n" + Record(1, source + "1", second) + "\n");
    return ReadRun(folder_ / "run").track.invented_times;
  };
  EXPECT_TRUE(invented("photo ", 1));
  EXPECT_FALSE(invented("photo ", 0.5));
  EXPECT_FALSE(invented("clip.mp4 frame ", 1));  // one frame a second
}

TEST_F(ReadersTest, SaysWhichOfTwoDepthMapsCounts) {
  folder_.Write("t/poses.txt", "0 0 0 0 0 0 0 1\n0.5 1 0 0 0 0 0 1\n");
  for (const char* name : {"0.png", "000.png", "0.npy", "1.png", "001.png"}) {
    folder_.Write(std::string("t/depth/") + name, "");
  }
  GroundTruthOptions options;
  options.path = folder_ / "t";
  const GroundTruth truth = ReadGroundTruth(options);
  EXPECT_EQ(truth.depth_maps, 2);
  EXPECT_EQ(truth.depths[0].filename(), "0.npy");
  EXPECT_EQ(truth.depths[1].filename(), "001.png");
  EXPECT_EQ(truth.spare_depth_maps, 3);
  EXPECT_EQ(truth.spare_depth_map, "0.png, but 0.npy counts");
}

TEST_F(ReadersTest, RefusesOtherFolders) {
  folder_.Write("other/readme", "");
  ExpectEvaluationError(ErrorCode::kNoInput, "none of lingbot-map run",
                        [&] { ReadRun(folder_ / "other"); });
  ExpectEvaluationError(ErrorCode::kFileNotFound, "does not exist",
                        [&] { ReadRun(folder_ / "absent"); });
  folder_.Write("run/frames.jsonl", "{\"index\": 0}\n");
  ExpectEvaluationError(ErrorCode::kCorruptFile, "line 1", [&] { ReadRun(folder_ / "run"); });
  GroundTruthOptions options;
  options.path = folder_ / "other";
  ExpectEvaluationError(ErrorCode::kNoInput, "no poses", [&] { ReadGroundTruth(options); });
}

TEST_F(ReadersTest, GroundTruthFolder) {
  folder_.Write("s/ground_truth/poses.txt", "0 0 0 0 0 0 0 1\n0.5 1 0 0 0 0 0 1\n");
  folder_.Write("s/ground_truth/camera.json",
                R"({"width":4,"height":2,"fx":3,"fy":3,"cx":2,"cy":1,"depth_scale":0.001})");
  folder_.Write("s/ground_truth/depth/000001.png", Png16(1, 1, {5}));
  folder_.Write("s/ground_truth/depth/000009.png", Png16(1, 1, {5}));  // no such pose
  GroundTruthOptions options;
  options.path = folder_ / "s";
  const GroundTruth truth = ReadGroundTruth(options);
  EXPECT_EQ(truth.format, "TUM");
  EXPECT_EQ(truth.depth_maps, 1);
  EXPECT_TRUE(truth.depths[0].empty());
  EXPECT_EQ(truth.depths[1].filename(), "000001.png");
  EXPECT_EQ(truth.depth_scale, 0.001);
  EXPECT_EQ(truth.cameras[0].intrinsics.cx, 2);
  options.depth_scale = 0.25;
  EXPECT_EQ(ReadGroundTruth(options).depth_scale, 0.25);
  folder_.Write("s/ground_truth/camera.json", R"({"width":4})");
  ExpectEvaluationError(ErrorCode::kCorruptFile, "height", [&] { ReadGroundTruth(options); });
}

TEST_F(ReadersTest, DepthMapsNamedByTime) {
  folder_.Write("t/poses.txt", "10.001 0 0 0 0 0 0 1\n10.5 1 0 0 0 0 0 1\n");
  folder_.Write("t/depth/10.507.png", Png16(1, 1, {5}));
  folder_.Write("t/depth/10.2.png", Png16(1, 1, {5}));
  GroundTruthOptions options;
  options.path = folder_ / "t";
  const GroundTruth truth = ReadGroundTruth(options);
  EXPECT_EQ(truth.depth_maps, 1);
  EXPECT_EQ(truth.depths[1].filename(), "10.507.png");
}

// Whatever bytes a file holds, a reader answers or throws an Error.
TEST_F(ReadersTest, SurviveDamage) {
  WriteColmapBinary(folder_);
  folder_.Write("d.png", Png16(8, 8, std::vector<uint16_t>(64, 777)));
  folder_.Write("d.npy", Npy("<f4", "(2, 2)", std::string(16, 'x')));
  folder_.Write("p.txt", "0 0 0 0 0 0 0 1\n1 0 0 0 0 0 0 1\n");
  std::mt19937 random(3);
  for (const std::string name : {"m/images.bin", "m/cameras.bin", "d.png", "d.npy", "p.txt"}) {
    std::ifstream in(folder_ / name, std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(in), {}};
    for (int i = 0; i < 80; ++i) {
      std::string bytes = whole;
      for (int k = 0; k < 1 + i % 3; ++k)
        bytes[random() % bytes.size()] = static_cast<char>(random());
      if (i % 4 == 0) bytes.resize(random() % bytes.size());
      const fs::path file = folder_.Write(name, bytes);
      try {
        if (name[0] == 'm') ReadColmap(folder_ / "m");
        if (name[0] == 'd') ReadDepthMap(file, 1);
        if (name[0] == 'p') ReadPoseFile(file);
      } catch (const Error&) {
      }
    }
    folder_.Write(name, whole);
  }
}

}  // namespace
}  // namespace lingbot
