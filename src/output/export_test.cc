#include "output/exporter.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "base/system_memory.h"
#include "geometry/unproject.h"
#include "output/export_run.h"
#include "output/export_set.h"
#include "output/npy.h"
#include "output/ply.h"
#include "output/run_folder.h"
#include "output/run_reader.h"
#include "output/run_writer.h"
#include "output/test_support.h"

namespace lingbot {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
constexpr int kHeight = 4, kWidth = 6, kPixels = kHeight * kWidth;

// Frames that look from different places and directions; each depth and colour its own.
class Scene {
 public:
  FrameRecord Frame(int index) {
    depth_.clear();
    confidence_.clear();
    rgb_.clear();
    for (int i = 0; i < kPixels; ++i) {
      depth_.push_back(2.0f + 0.1f * static_cast<float>((7 * i + index) % 13));
      confidence_.push_back(1.0f + static_cast<float>((5 * i + index) % 23));
      for (int c = 0; c < 3; ++c) rgb_.push_back(static_cast<uint8_t>(10 * i + 70 * c + index));
    }
    const auto x = static_cast<float>(index);
    FrameRecord record;
    record.index = index;
    record.source_name = "a.jpg";
    record.timestamp = 0.25 * index;
    record.pose = {0.3f * x, -0.1f * x, 0.2f * x, 0.1f * x, -0.2f, 0.05f * x, 1.0f, 0.9f, 1.2f};
    record.height = kHeight;
    record.width = kWidth;
    record.depth = depth_;
    record.confidence = confidence_;
    record.rgb = rgb_;
    record.mapping = {12, 10, 0.5, 0.5, 0.0, -0.5};
    return record;
  }

  std::vector<float> depth_, confidence_;
  std::vector<uint8_t> rgb_;
};

std::vector<ExportKind> All() {
  return ParseExportList(
      "depth,confidence,tum,kitti,ply,glb,colmap-text,colmap-bin,nerfstudio,npz");
}

PointCloudOptions KeepAll() {
  PointCloudOptions cloud;
  cloud.filter.confidence_quantile = 0;
  return cloud;
}

// Exports what `change` makes of `frames` frames.
template <typename Change>
ExportReport Export(const std::filesystem::path& folder, const std::vector<ExportKind>& kinds,
                    int frames, Change change, const PointCloudOptions& cloud = KeepAll()) {
  ExportSet set({kinds, cloud, nullptr, 0});
  set.Open(folder);
  Scene scene;
  for (int i = 0; i < frames; ++i) {
    FrameRecord record = scene.Frame(i);
    change(&record, &scene);
    set.AddFrame(record);
  }
  return set.Finish();
}

ExportReport Export(const std::filesystem::path& folder, const std::vector<ExportKind>& kinds,
                    int frames) {
  return Export(folder, kinds, frames, [](FrameRecord*, Scene*) {});
}

// The lines that are no comments, split at spaces.
std::vector<std::vector<std::string>> Fields(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::vector<std::string>> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] == '#') continue;
    std::istringstream words(line);
    lines.push_back({std::istream_iterator<std::string>(words), {}});
  }
  return lines;
}

std::vector<double> Numbers(const std::vector<std::string>& words, size_t begin, size_t count) {
  std::vector<double> numbers;
  for (size_t i = 0; i < count; ++i) numbers.push_back(std::stod(words.at(begin + i)));
  return numbers;
}

template <typename T>
T Take(const std::string& bytes, size_t* at) {
  T value;
  std::memcpy(&value, bytes.data() + *at, sizeof(T));
  *at += sizeof(T);
  return value;
}

TEST(ExportListTest, WordsAndMistakes) {
  EXPECT_THAT(ParseExportList("ply"), ElementsAre(ExportKind::kPly));
  EXPECT_THAT(ParseExportList("nerfstudio,ply,ply,depth"),
              ElementsAre(ExportKind::kDepth, ExportKind::kPly, ExportKind::kNerfstudio));
  for (const char* list : {"", "obj", "ply,", ",ply", "ply,,glb", "PLY", "ply glb"}) {
    ExpectError(ErrorCode::kInvalidArgument, "colmap-text, colmap-bin, nerfstudio",
                [&] { ParseExportList(list); });
  }
  EXPECT_EQ(All().size(), 10u);
}

TEST(ExportTest, KittiRowsAreCameraToWorld) {
  const ScratchFolder folder;
  Export(folder.path(), {ExportKind::kKitti}, 3);
  const auto lines = Fields(folder / "trajectory_kitti.txt");
  ASSERT_EQ(lines.size(), 3u);
  Scene scene;
  const WorldFromCamera pose = WorldFromCameraOf(scene.Frame(2).pose);
  const std::vector<double> row = Numbers(lines[2], 0, 12);
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3; ++j) EXPECT_NEAR(row[4 * i + j], pose.rotation[3 * i + j], 1e-9);
    EXPECT_NEAR(row[4 * i + 3], pose.center[i], 1e-7);
  }
  EXPECT_EQ(ReadText(folder / "times_kitti.txt"), "0.000000000\n0.250000000\n0.500000000\n");
}

// Checks the cameras of cameras.txt and images.txt against what they see: every point of
// points3D.txt must be projected onto the pixel that it was made of.
TEST(ExportTest, ColmapTextReprojects) {
  const ScratchFolder folder;
  const ExportReport report = Export(folder.path(), {ExportKind::kColmapText}, 3);
  EXPECT_EQ(report.points, 3 * kPixels);
  const auto cameras = Fields(folder / "sparse/0/cameras.txt");
  const auto images = Fields(folder / "sparse/0/images.txt");
  const auto points = Fields(folder / "sparse/0/points3D.txt");
  ASSERT_EQ(cameras.size(), 3u);
  ASSERT_EQ(images.size(), 6u);
  ASSERT_EQ(points.size(), static_cast<size_t>(3 * kPixels));
  EXPECT_EQ(images[4].at(9), "000002.png");
  for (const auto& point : points) {
    const size_t image = std::stoul(point.at(8));
    const size_t position = std::stoul(point.at(9));
    const auto& observed = images.at(2 * image - 1);
    EXPECT_EQ(observed.at(3 * position + 2), point[0]);
    const std::vector<double> q = Numbers(images[2 * image - 2], 1, 7);
    const std::vector<double> p = Numbers(point, 1, 3);
    const Eigen::Vector3d camera =
        Eigen::Quaterniond(q[0], q[1], q[2], q[3]) * Eigen::Vector3d(p[0], p[1], p[2]) +
        Eigen::Vector3d(q[4], q[5], q[6]);
    const std::vector<double> k = Numbers(cameras.at(image - 1), 2, 6);
    EXPECT_EQ(k[0], kWidth);
    EXPECT_EQ(k[4], kWidth / 2.0 + 0.5);
    const std::vector<double> seen = Numbers(observed, 3 * position, 2);
    EXPECT_NEAR(k[2] * camera.x() / camera.z() + k[4], seen[0], 1e-4);
    EXPECT_NEAR(k[3] * camera.y() / camera.z() + k[5], seen[1], 1e-4);
    // The pixel's own depth and colour prove that it is the right one.
    Scene scene;
    const FrameRecord record = scene.Frame(static_cast<int>(image) - 1);
    const auto pixel = static_cast<size_t>(std::floor(seen[1]) * kWidth + std::floor(seen[0]));
    EXPECT_NEAR(camera.z(), record.depth[pixel], 1e-5);
    EXPECT_EQ(std::stoi(point[5]), record.rgb[3 * pixel + 1]);
  }
}

TEST(ExportTest, ColmapBinarySaysWhatTheTextSays) {
  const ScratchFolder folder;
  Export(folder.path(), {ExportKind::kColmapText, ExportKind::kColmapBin}, 2);
  const auto cameras = Fields(folder / "sparse/0/cameras.txt");
  const auto images = Fields(folder / "sparse/0/images.txt");
  const auto points = Fields(folder / "sparse/0/points3D.txt");
  std::string bytes = ReadText(folder / "sparse/0/cameras.bin");
  size_t at = 0;
  ASSERT_EQ(Take<uint64_t>(bytes, &at), 2u);
  for (const auto& camera : cameras) {
    EXPECT_EQ(Take<uint32_t>(bytes, &at), std::stoul(camera[0]));
    EXPECT_EQ(Take<int32_t>(bytes, &at), 1);
    EXPECT_EQ(Take<uint64_t>(bytes, &at), std::stoul(camera[2]));
    EXPECT_EQ(Take<uint64_t>(bytes, &at), std::stoul(camera[3]));
    for (size_t i = 4; i < 8; ++i) EXPECT_EQ(Take<double>(bytes, &at), std::stod(camera[i]));
  }
  EXPECT_EQ(at, bytes.size());
  bytes = ReadText(folder / "sparse/0/images.bin");
  at = 0;
  ASSERT_EQ(Take<uint64_t>(bytes, &at), 2u);
  for (size_t i = 0; i < images.size(); i += 2) {
    EXPECT_EQ(Take<uint32_t>(bytes, &at), std::stoul(images[i][0]));
    for (size_t j = 1; j < 8; ++j) EXPECT_EQ(Take<double>(bytes, &at), std::stod(images[i][j]));
    EXPECT_EQ(Take<uint32_t>(bytes, &at), std::stoul(images[i][8]));
    EXPECT_STREQ(&bytes[at], images[i][9].c_str());
    at += images[i][9].size() + 1;
    ASSERT_EQ(Take<uint64_t>(bytes, &at), images[i + 1].size() / 3);
    for (size_t j = 0; j < images[i + 1].size(); j += 3) {
      EXPECT_EQ(Take<double>(bytes, &at), std::stod(images[i + 1][j]));
      EXPECT_EQ(Take<double>(bytes, &at), std::stod(images[i + 1][j + 1]));
      EXPECT_EQ(Take<uint64_t>(bytes, &at), std::stoul(images[i + 1][j + 2]));
    }
  }
  EXPECT_EQ(at, bytes.size());
  bytes = ReadText(folder / "sparse/0/points3D.bin");
  at = 0;
  ASSERT_EQ(Take<uint64_t>(bytes, &at), points.size());
  for (const auto& point : points) {
    EXPECT_EQ(Take<uint64_t>(bytes, &at), std::stoul(point[0]));
    for (size_t j = 1; j < 4; ++j) {
      EXPECT_EQ(static_cast<float>(Take<double>(bytes, &at)), std::stof(point[j]));
    }
    for (size_t j = 4; j < 7; ++j) EXPECT_EQ(Take<uint8_t>(bytes, &at), std::stoi(point[j]));
    EXPECT_EQ(Take<double>(bytes, &at), std::stod(point[7]));
    EXPECT_EQ(Take<uint64_t>(bytes, &at), 1u);
    EXPECT_EQ(Take<uint32_t>(bytes, &at), std::stoul(point[8]));
    EXPECT_EQ(Take<uint32_t>(bytes, &at), std::stoul(point[9]));
  }
  EXPECT_EQ(at, bytes.size());
}

// The chunks of a GLB file, its structure checked on the way.
struct Glb {
  Json json;
  std::string data;

  explicit Glb(const std::filesystem::path& path) {
    const std::string bytes = ReadText(path);
    size_t at = 0;
    EXPECT_EQ(bytes.substr(0, 4), "glTF");
    at = 4;
    EXPECT_EQ(Take<uint32_t>(bytes, &at), 2u);
    EXPECT_EQ(Take<uint32_t>(bytes, &at), bytes.size());
    const auto length = Take<uint32_t>(bytes, &at);
    EXPECT_EQ(length % 4, 0u);
    EXPECT_EQ(bytes.substr(at, 4), "JSON");
    json = Json::parse(bytes.substr(at + 4, length));
    at += 4 + length;
    const auto rest = Take<uint32_t>(bytes, &at);
    EXPECT_EQ(rest % 4, 0u);
    EXPECT_EQ(bytes.substr(at, 4), std::string("BIN\0", 4));
    data = bytes.substr(at + 4);
    EXPECT_EQ(data.size(), rest);
    EXPECT_EQ(json["buffers"][0]["byteLength"], rest);
  }

  // Element `i` of an accessor.
  template <typename T, size_t N>
  std::array<T, N> At(size_t accessor, size_t i) const {
    const Json& view = json["bufferViews"][json["accessors"][accessor]["bufferView"].get<size_t>()];
    std::array<T, N> values;
    const size_t offset = view["byteOffset"].get<size_t>() + i * sizeof(values);
    EXPECT_LE(offset + sizeof(values), data.size());
    std::memcpy(values.data(), &data[offset], sizeof(values));
    return values;
  }
};

TEST(ExportTest, GlbHoldsThePointsOfThePlyUpright) {
  const ScratchFolder folder;
  Export(folder.path(), {ExportKind::kPly, ExportKind::kGlb}, 3);
  const std::vector<ColoredPoint> points = ReadPly(folder / "points.ply");
  const Glb glb(folder / "points.glb");
  EXPECT_EQ(glb.json["accessors"][0]["count"], points.size());
  EXPECT_THAT(glb.json["asset"]["extras"]["axes"].get<std::string>(), HasSubstr("y up"));
  std::array<float, 3> least = {1e9f, 1e9f, 1e9f};
  for (size_t i = 0; i < points.size(); ++i) {
    const auto p = glb.At<float, 3>(0, i);
    EXPECT_EQ(p[0], points[i].x);
    EXPECT_EQ(p[1], -points[i].y);
    EXPECT_EQ(p[2], -points[i].z);
    for (size_t axis = 0; axis < 3; ++axis) least[axis] = std::min(least[axis], p[axis]);
    EXPECT_THAT((glb.At<uint8_t, 4>(1, i)),
                ElementsAre(points[i].red, points[i].green, points[i].blue, 255));
  }
  for (size_t axis = 0; axis < 3; ++axis) {
    EXPECT_EQ(glb.json["accessors"][0]["min"][axis].get<float>(), least[axis]);
  }
}

TEST(ExportTest, GlbFrustaStandAtTheCameras) {
  const ScratchFolder folder;
  Export(folder.path(), {ExportKind::kGlb}, 3);
  const Glb glb(folder / "points.glb");
  const Json& lines = glb.json["meshes"][1]["primitives"][0];
  EXPECT_EQ(lines["mode"], 1);
  EXPECT_EQ(glb.json["accessors"][2]["count"], 15);
  EXPECT_EQ(glb.json["accessors"][3]["count"], 48);
  Scene scene;
  for (int i = 0; i < 3; ++i) {
    const FrameRecord record = scene.Frame(i);
    const auto center = glb.At<float, 3>(2, static_cast<size_t>(5 * i));
    EXPECT_FLOAT_EQ(center[0], record.pose[0]);
    EXPECT_FLOAT_EQ(center[1], -record.pose[1]);
    EXPECT_FLOAT_EQ(center[2], -record.pose[2]);
    // The middle of the corners lies on the optical axis, in front.
    Eigen::Vector3d middle = Eigen::Vector3d::Zero();
    for (size_t corner = 1; corner < 5; ++corner) {
      const auto v = glb.At<float, 3>(2, static_cast<size_t>(5 * i) + corner);
      middle += Eigen::Vector3d(v[0], -v[1], -v[2]) / 4;
    }
    const RigidPose pose = RigidPoseOf(record.pose);
    const Eigen::Vector3d axis = (middle - pose.center).normalized();
    EXPECT_NEAR(axis.dot(pose.rotation * Eigen::Vector3d::UnitZ()), 1, 1e-5);
  }
  for (size_t i = 0; i < 48; ++i) EXPECT_EQ((glb.At<uint32_t, 1>(3, i)[0]) / 5, i / 16);
}

TEST(ExportTest, GlbBeyondFourGibibytesIsRefusedWithAdvice) {
  CheckGlbSize("a.glb", 0xFFFFFFFF, 1);
  ExpectError(ErrorCode::kInvalidArgument, "--max-points",
              [] { CheckGlbSize("a.glb", 0x100000000, 268'000'000); });
}

TEST(ExportTest, NerfstudioLooksAlongMinusZ) {
  const ScratchFolder folder;
  Export(folder.path(), {ExportKind::kPly, ExportKind::kNerfstudio}, 2);
  const Json json = Json::parse(ReadText(folder / "transforms.json"));
  EXPECT_EQ(json["ply_file_path"], "points.ply");
  ASSERT_EQ(json["frames"].size(), 2u);
  const Json& frame = json["frames"][1];
  EXPECT_EQ(frame["file_path"], "images/000001.png");
  EXPECT_FALSE(frame.contains("depth_file_path"));
  EXPECT_EQ(frame["cx"], kWidth / 2.0 + 0.5);
  // cx of the original, centres at whole numbers: (3 + 0.5 - 0) / 0.5 - 0.5.
  EXPECT_EQ(frame["original"]["cx"], 6.5 + 0.5);
  Scene scene;
  const WorldFromCamera pose = WorldFromCameraOf(scene.Frame(1).pose);
  for (size_t row = 0; row < 3; ++row) {
    const Json& m = frame["transform_matrix"][row];
    EXPECT_NEAR(m[0].get<double>(), pose.rotation[3 * row], 1e-12);
    EXPECT_NEAR(m[1].get<double>(), -pose.rotation[3 * row + 1], 1e-12);
    EXPECT_NEAR(m[2].get<double>(), -pose.rotation[3 * row + 2], 1e-12);
    EXPECT_NEAR(m[3].get<double>(), pose.center[row], 1e-12);
  }
}

TEST(ExportTest, DepthImagesAreNamedWhereTheyAre) {
  const ScratchFolder folder;
  Export(folder.path(), {ExportKind::kDepth, ExportKind::kNerfstudio}, 1);
  const Json json = Json::parse(ReadText(folder / "transforms.json"));
  EXPECT_EQ(json["frames"][0]["depth_file_path"], "depth/000000.png");
  EXPECT_FALSE(json.contains("ply_file_path"));
}

TEST(ExportTest, NpzMembersAreStored) {
  const ScratchFolder folder;
  Export(folder.path(), {ExportKind::kNpz}, 2);
  const std::string bytes = ReadText(folder / "npz/000001.npz");
  EXPECT_EQ(bytes.substr(0, 4), "PK\x03\x04");
  Scene scene;
  const FrameRecord record = scene.Frame(1);
  const std::string depth(reinterpret_cast<const char*>(record.depth.data()),
                          record.depth.size_bytes());
  EXPECT_NE(bytes.find(depth), std::string::npos);
  EXPECT_NE(bytes.find("camera-to-world"), std::string::npos);
}

TEST(ExportTest, FramesWithoutACameraAreLeftOutEverywhere) {
  const ScratchFolder folder;
  const ExportReport report =
      Export(folder.path(), All(), 4, [](FrameRecord* record, Scene* scene) {
        if (record->index == 1) record->pose[2] = kNone;
        if (record->index == 2) record->pose[7] = 4.0f;  // more than pi
        scene->depth_[0] = kNone;
        scene->depth_[1] = std::numeric_limits<float>::infinity();
        scene->confidence_[2] = kNone;
      });
  EXPECT_EQ(report.cloud_problem, "");
  EXPECT_EQ(report.points, 3 * (kPixels - 3));  // of frame 2 as well, which means nothing
  ASSERT_EQ(report.warnings.size(), 3u);
  EXPECT_THAT(report.warnings[2],
              HasSubstr("2 of 4 frames have no usable camera and are missing in glb, colmap-text"));
  EXPECT_EQ(Fields(folder / "trajectory_kitti.txt").size(), 3u);
  EXPECT_EQ(Fields(folder / "trajectory_tum.txt").size(), 3u);
  const auto images = Fields(folder / "sparse/0/images.txt");
  ASSERT_EQ(images.size(), 4u);
  EXPECT_EQ(images[2].at(9), "000003.png");
  EXPECT_EQ(images[1].size(), 3u * (kPixels - 3));
  // Points of frame 2 have no image to be seen in.
  const auto points = Fields(folder / "sparse/0/points3D.txt");
  EXPECT_EQ(points.size(), 2u * (kPixels - 3));
  for (const auto& point : points) {
    const auto& seen = images.at(2 * std::stoul(point[8]) - 1);
    EXPECT_EQ(seen.at(3 * std::stoul(point[9]) + 2), point[0]);
  }
  EXPECT_EQ(Json::parse(ReadText(folder / "transforms.json"))["frames"].size(), 2u);
  EXPECT_EQ(Glb(folder / "points.glb").json["accessors"][2]["count"], 10);
  EXPECT_EQ(CountFiles(folder / "npz"), 4);
  EXPECT_EQ(ReadPly(folder / "points.ply").size(), static_cast<size_t>(report.points));
}

TEST(ExportTest, NoFrames) {
  const ScratchFolder folder;
  const ExportReport report = Export(folder.path(), All(), 0);
  EXPECT_THAT(report.cloud_problem, HasSubstr("no frame"));
  EXPECT_FALSE(std::filesystem::exists(folder / "points.ply"));
  EXPECT_FALSE(std::filesystem::exists(folder / "points.glb"));
  EXPECT_EQ(Fields(folder / "sparse/0/cameras.txt").size(), 0u);
  EXPECT_EQ(Json::parse(ReadText(folder / "transforms.json"))["frames"].size(), 0u);
}

TEST(ExportTest, MemoryDoesNotGrowWithTheStream) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer keeps freed memory back";
#endif
  const ScratchFolder folder;
  PointCloudOptions cloud = KeepAll();
  cloud.point_budget = 10'000;
  ExportSet set({ParseExportList("kitti,glb,colmap-bin,nerfstudio"), cloud, nullptr, 0});
  set.Open(folder.path());
  Scene scene;
  for (int i = 0; i < 1000; ++i) set.AddFrame(scene.Frame(i));
  const uint64_t before = ResidentMemory();
  for (int i = 1000; i < 5000; ++i) set.AddFrame(scene.Frame(i));
  // A camera of each frame is remembered: some 300 bytes in all.
  EXPECT_LT(ResidentMemory(), before + (3u << 20));
  EXPECT_EQ(set.Finish().points, 10'000);
}

TEST(ExportTest, NothingIsLeftBehindByAFailure) {
  const ScratchFolder folder;
  {
    const FileSizeLimit limit(300);
    EXPECT_THROW(Export(folder.path(),
                        {ExportKind::kKitti, ExportKind::kColmapBin, ExportKind::kGlb,
                         ExportKind::kNerfstudio},
                        5),
                 Error);
  }
  EXPECT_EQ(CountFiles(folder / "sparse/0"), 0);
  EXPECT_EQ(CountFiles(folder.path()), 1);
}

class ExportRunTest : public testing::Test {
 protected:
  void WriteRun(const OutputOptions& options, int frames, bool finish = true) {
    Scene scene;
    RunWriter writer(run(), options, {"in", "", "model", "fnv:1", {}, {}});
    for (int i = 0; i < frames; ++i) writer.AddFrame(scene.Frame(i));
    if (finish) writer.Finish({});
  }

  ExportReport ExportAgain(const ExportRunOptions& options) {
    RunReader reader(run());
    return ExportRun(&reader, options);
  }

  std::filesystem::path run() const { return folder_ / "run"; }
  Json Manifest() const { return Json::parse(ReadText(run() / kManifestName)); }

  ScratchFolder folder_;
};

TEST_F(ExportRunTest, EveryFileIsTheOneOfTheRunItself) {
  OutputOptions options;
  options.exports = ParseExportList("kitti,glb,colmap-text,colmap-bin,npz");
  options.cloud.point_budget = 31;  // the reservoir overflows: the choice is a random one
  options.cloud.filter.distance_quantile = 0.2;
  options.cloud.filter.depth_edge = 0.5;
  options.cloud.voxel_size = 0.01;
  WriteRun(options, 5);
  ExportRunOptions again;
  again.set = {ParseExportList("tum,kitti,ply,glb,colmap-text,colmap-bin,npz,depth"), options.cloud,
               nullptr, 0};
  again.out = folder_ / "other";
  const ExportReport report = ExportAgain(again);
  EXPECT_EQ(report.points, 31);
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(again.out)) {
    if (!entry.is_regular_file() || entry.path().filename() == kExportName) continue;
    const auto relative = std::filesystem::relative(entry.path(), again.out);
    EXPECT_TRUE(ReadText(entry.path()) == ReadText(run() / relative)) << relative;
    ++files;
  }
  EXPECT_EQ(files, 1 + 2 + 1 + 1 + 3 + 3 + 5 + 10 + 5);  // the images last
  const Json manifest = Json::parse(ReadText(again.out / kExportName));
  EXPECT_EQ(manifest["run_status"], "complete");
  EXPECT_EQ(manifest["model"]["weights_hash"], "fnv:1");
  EXPECT_EQ(manifest["exports"]["colmap-bin"][0], "sparse/0/cameras.bin");
  EXPECT_EQ(manifest["cloud"]["filter"]["distance_quantile"], 0.2);
}

TEST_F(ExportRunTest, KilledRunGivesItsFrames) {
  OutputOptions options;
  options.cloud = KeepAll();
  WriteRun(options, 3, /*finish=*/false);
  std::ofstream(run() / kFramesName, std::ios::app) << "{\"index\": 3, \"sour";
  ExportRunOptions again;
  again.set = {ParseExportList("ply,depth"), options.cloud, nullptr, 0};
  const ExportReport report = ExportAgain(again);
  EXPECT_EQ(report.frames, 3);
  EXPECT_EQ(ReadPly(run() / kPlyName).size(), static_cast<size_t>(3 * kPixels));
  EXPECT_EQ(Manifest()["status"], "running");
  EXPECT_EQ(Manifest()["exports"]["ply"], Json({"points.ply"}));
  EXPECT_EQ(Manifest()["exports"]["depth"], Json({"depth"}));
  EXPECT_EQ(CountFiles(run() / "depth"), 6);
}

TEST_F(ExportRunTest, WithoutImagesPointsAreGrey) {
  OutputOptions options;
  options.frames.images = false;
  WriteRun(options, 2);
  ExportRunOptions again;
  again.set = {ParseExportList("ply,colmap-bin"), KeepAll(), nullptr, 0};
  again.out = folder_ / "other";
  const ExportReport report = ExportAgain(again);
  ASSERT_EQ(report.warnings.size(), 2u);
  EXPECT_THAT(report.warnings[0], HasSubstr("grey"));
  EXPECT_THAT(report.warnings[1], HasSubstr("images"));
  EXPECT_EQ(ReadPly(again.out / kPlyName).front().green, 128);
}

TEST_F(ExportRunTest, FoldersOfOthersAreLeftAlone) {
  WriteRun({}, 1);
  std::filesystem::create_directory(folder_ / "other");
  WriteText(folder_ / "other/letter.txt", "dear");
  ExportRunOptions options;
  options.set.kinds = {ExportKind::kPly};
  options.out = folder_ / "other";
  ExpectError(ErrorCode::kFileUnwritable, "--overwrite", [&] { ExportAgain(options); });
  options.overwrite = true;
  ExportAgain(options);
  options.overwrite = false;
  ExportAgain(options);  // an earlier export now
  EXPECT_EQ(ReadText(folder_ / "other/letter.txt"), "dear");
}

TEST_F(ExportRunTest, RefusalsSayWhy) {
  WriteRun({}, 0);
  ExportRunOptions options;
  options.set.kinds = {ExportKind::kPly};
  ExpectError(ErrorCode::kNoInput, "no frame", [&] { ExportAgain(options); });
  OutputOptions bare;
  bare.frames.depth_npy = bare.frames.depth_png = false;
  WriteRun(bare, 1);
  ExpectError(ErrorCode::kNoInput, "--no-depth", [&] { ExportAgain(options); });
  options.set.kinds = {ExportKind::kTum};
  EXPECT_EQ(ExportAgain(options).frames, 1);
  const FolderLock lock(run());
  ExpectError(ErrorCode::kFileUnwritable, "another run", [&] { ExportAgain(options); });
}

}  // namespace
}  // namespace lingbot
