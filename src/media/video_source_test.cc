#include "media/video_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>

#include "media/test_images.h"
#include "media/test_videos.h"

namespace lingbot {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing_images::Catch;
using testing_images::Thrown;
using testing_videos::Card;
using testing_videos::HasEncoder;
using testing_videos::Plain;
using testing_videos::VideoSpec;
using testing_videos::WriteVideo;

class VideoTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "lingbot-video-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path Make(const std::string& name, const VideoSpec& spec) {
    WriteVideo(folder_ / name, spec);
    return folder_ / name;
  }

  static std::vector<Image> ReadAll(const fs::path& path, const Sampling& sampling = {}) {
    VideoOptions options;
    options.sampling = sampling;
    VideoSource source(path, options);
    const std::vector<FrameInfo> infos = source.Verify(ThreadTeam(1));
    std::vector<Image> images(1);
    while (source.Next(&images.back())) images.emplace_back();
    images.pop_back();
    EXPECT_EQ(infos.size(), 1u);
    EXPECT_EQ(infos[0].size, (ImageSize{images.at(0).width, images.at(0).height}));
    EXPECT_EQ(infos[0].source_index, images[0].source_index);
    EXPECT_EQ(source.frame_count(), static_cast<int64_t>(images.size()));
    EXPECT_EQ(source.problems(), "");
    return images;
  }

  fs::path folder_;
};

const uint8_t* Pixel(const Image& image, double x, double y) {
  const auto column = static_cast<size_t>(x * image.width);
  const auto row = static_cast<size_t>(y * image.height);
  return &image.rgb[3 * (row * static_cast<size_t>(image.width) + column)];
}

void ExpectColour(const uint8_t* pixel, const std::vector<int>& rgb, int tolerance) {
  for (int c = 0; c < 3; ++c) EXPECT_NEAR(pixel[c], rgb[c], tolerance) << "channel " << c;
}

void ExpectCard(const Image& image, int tolerance) {
  ExpectColour(Pixel(image, 0.25, 0.25), {230, 20, 20}, tolerance);
  ExpectColour(Pixel(image, 0.75, 0.25), {20, 220, 20}, tolerance);
  ExpectColour(Pixel(image, 0.25, 0.75), {20, 20, 230}, tolerance);
  ExpectColour(Pixel(image, 0.75, 0.75), {240, 240, 240}, tolerance);
}

// Grey levels that number the frames.
VideoSpec Numbered(int frames) {
  VideoSpec spec;
  spec.frames = frames;
  spec.draw = [](int i) {
    return Plain(64, 48, 10 + 8 * i % 240, 10 + 8 * i % 240, 10 + 8 * i % 240);
  };
  return spec;
}

TEST_F(VideoTest, ReadsFramesInOrderWithTheirTimes) {
  VideoSpec spec = Numbered(20);
  spec.b_frames = 2;
  spec.sound = true;
  const std::vector<Image> images = ReadAll(Make("clip.mp4", spec));
  ASSERT_EQ(images.size(), 20u);
  for (int i = 0; i < 20; ++i) {
    const Image& image = images[i];
    EXPECT_EQ(image.source_index, i);
    EXPECT_NEAR(image.timestamp, 0.1 * i, 1e-6);
    EXPECT_EQ(image.name, "clip.mp4 frame " + std::to_string(i));
    EXPECT_EQ(image.width, 64);
    EXPECT_EQ(image.height, 48);
    ASSERT_EQ(image.rgb.size(), 3u * 64 * 48);
    ExpectColour(Pixel(image, 0.5, 0.5), {10 + 8 * i, 10 + 8 * i, 10 + 8 * i}, 3);
  }
}

struct Turn {
  int degrees;
  bool mirrored;
};
class Rotations : public VideoTest, public testing::WithParamInterface<Turn> {};

// The card is stored turned against the metadata, so that players show it upright.
TEST_P(Rotations, ComeUpright) {
  const auto [degrees, mirrored] = GetParam();
  VideoSpec spec;
  spec.rotation = degrees;
  spec.mirrored = mirrored;
  const bool sideways = degrees % 180 != 0;
  spec.width = sideways ? 48 : 64;
  spec.height = sideways ? 64 : 48;
  spec.frames = 2;
  // Stored pixel (x, y) is shown at (u, v) of the card: turned clockwise, then mirrored.
  spec.draw = [&](int) {
    const std::vector<uint8_t> card = Card(64, 48);
    std::vector<uint8_t> stored;
    for (int y = 0; y < spec.height; ++y) {
      for (int x = 0; x < spec.width; ++x) {
        int u = x, v = y;
        if (degrees == 90) u = spec.height - 1 - y, v = x;
        if (degrees == 180) u = spec.width - 1 - x, v = spec.height - 1 - y;
        if (degrees == 270) u = y, v = spec.width - 1 - x;
        if (mirrored) u = 63 - u;
        for (int c = 0; c < 3; ++c) stored.push_back(card[3 * (v * 64 + u) + c]);
      }
    }
    return stored;
  };
  const std::vector<Image> images = ReadAll(Make("turned.mp4", spec));
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(images[0].width, 64);
  EXPECT_EQ(images[0].height, 48);
  ExpectCard(images[0], 12);
}

INSTANTIATE_TEST_SUITE_P(Quarters, Rotations,
                         testing::Values(Turn{0, false}, Turn{90, false}, Turn{180, false},
                                         Turn{270, false}, Turn{0, true}, Turn{90, true},
                                         Turn{180, true}, Turn{270, true}),
                         [](const auto& test) {
                           return std::to_string(test.param.degrees) +
                                  (test.param.mirrored ? "Mirrored" : "");
                         });

struct Colours {
  const char* codec;
  const char* format;
  const char* matrix;
  bool full;
};
class ColourSpaces : public VideoTest, public testing::WithParamInterface<Colours> {};

TEST_P(ColourSpaces, AreHonoured) {
  const Colours& p = GetParam();
  if (!HasEncoder(p.codec)) GTEST_SKIP() << "this FFmpeg has no encoder " << p.codec;
  VideoSpec spec;
  spec.codec = p.codec;
  spec.pixel_format = p.format;
  spec.matrix = p.matrix;
  spec.full_range = p.full;
  spec.frames = 1;
  const std::vector<Image> images = ReadAll(Make("colours.mkv", spec));
  ASSERT_EQ(images.size(), 1u);
  ExpectCard(images[0], 6);
}

INSTANTIATE_TEST_SUITE_P(Codecs, ColourSpaces,
                         testing::Values(Colours{"ffv1", "yuv420p", "smpte170m", false},
                                         Colours{"ffv1", "yuv420p", "bt709", false},
                                         Colours{"ffv1", "yuv444p", "smpte170m", true},
                                         Colours{"ffv1", "yuv422p", "bt709", true},
                                         Colours{"ffv1", "yuv420p10le", "bt709", false},
                                         Colours{"ffv1", "bgr0", "gbr", true},
                                         Colours{"mjpeg", "yuvj420p", "smpte170m", true},
                                         Colours{"libx264", "yuv420p", "bt709", false},
                                         Colours{"libx264", "yuv420p", "smpte170m", true}),
                         [](const auto& test) {
                           return std::string(test.param.codec) + "_" + test.param.format + "_" +
                                  test.param.matrix + (test.param.full ? "_full" : "_limited");
                         });

TEST_F(VideoTest, SamplesAVariableRateByTime) {
  VideoSpec spec = Numbered(12);
  for (int i = 0; i < 6; ++i) spec.milliseconds.push_back(40 * i);
  for (int i = 0; i < 6; ++i) spec.milliseconds.push_back(1000 + 200 * i);
  const fs::path path = Make("variable.mkv", spec);
  const std::vector<Image> all = ReadAll(path);
  ASSERT_EQ(all.size(), 12u);
  for (int i = 0; i < 12; ++i) EXPECT_NEAR(all[i].timestamp, spec.milliseconds[i] / 1e3, 1e-9);
  Sampling sampling;
  sampling.frames_per_second = 5;
  const std::vector<Image> some = ReadAll(path, sampling);
  std::vector<int64_t> indices;
  for (const Image& image : some) indices.push_back(image.source_index);
  EXPECT_THAT(indices, testing::ElementsAre(0, 5, 6, 7, 8, 9, 10, 11));
}

// Seeking gives the same frames, times and numbers as reading from the beginning.
TEST_F(VideoTest, StartsInTheMiddle) {
  for (const char* name : {"clip.mp4", "clip.mkv", "clip.avi", "clip.ts"}) {
    SCOPED_TRACE(name);
    VideoSpec spec = Numbered(25);
    spec.group = 6;
    const fs::path path = Make(name, spec);
    const std::vector<Image> all = ReadAll(path);
    ASSERT_EQ(all.size(), 25u);
    Sampling sampling;
    sampling.start = all[15].timestamp;
    sampling.end = all[20].timestamp;
    const std::vector<Image> part = ReadAll(path, sampling);
    ASSERT_EQ(part.size(), 5u);
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(part[i].source_index, 15 + i);
      EXPECT_EQ(part[i].timestamp, all[15 + i].timestamp);
      EXPECT_EQ(part[i].rgb, all[15 + i].rgb);
    }
  }
}

TEST_F(VideoTest, SaysWhatItReads) {
  VideoOptions options;
  options.sampling.frames_per_second = 4;
  VideoSource source(Make("clip.mp4", Numbered(20)), options);
  source.Verify(ThreadTeam(1));
  EXPECT_THAT(source.description(), HasSubstr("clip.mp4: mpeg4 64x48, 20 frames"));
  EXPECT_THAT(source.description(), HasSubstr("(10 frames/s)"));
  EXPECT_THAT(source.description(),
              HasSubstr("asked for 4 frames/s, achieved 3.889 with 8 frames"));
}

TEST_F(VideoTest, MakesPixelsSquare) {
  VideoSpec spec;
  spec.aspect_num = 3;
  spec.aspect_den = 2;
  const std::vector<Image> images = ReadAll(Make("wide.mp4", spec));
  EXPECT_EQ(images[0].width, 96);
  EXPECT_EQ(images[0].height, 48);
  ExpectCard(images[0], 12);
}

TEST_F(VideoTest, ReadsOddSizesAndSingleFrames) {
  for (const auto& [width, height] : {std::pair(17, 33), std::pair(1, 1), std::pair(63, 47)}) {
    VideoSpec spec;
    spec.codec = "ffv1";
    spec.pixel_format = "yuv444p";
    spec.width = width;
    spec.height = height;
    spec.frames = 1;
    const std::vector<Image> images = ReadAll(Make("odd.mkv", spec));
    ASSERT_EQ(images.size(), 1u);
    EXPECT_EQ(images[0].width, width);
    EXPECT_EQ(images[0].height, height);
    EXPECT_EQ(images[0].timestamp, 0);
  }
}

// A bare stream has no time stamps: they follow from its rate.
TEST_F(VideoTest, GivesTimesToFramesWithoutAny) {
  VideoSpec spec = Numbered(6);
  spec.container = "m4v";
  const std::vector<Image> images = ReadAll(Make("bare.m4v", spec));
  ASSERT_EQ(images.size(), 6u);
  for (int i = 1; i < 6; ++i) EXPECT_GT(images[i].timestamp, images[i - 1].timestamp);
}

TEST_F(VideoTest, LeavesTheFolderAlone) {
  const fs::path path = Make("z\xC3\xBC rich: 50%d [1].mp4", Numbered(3));
  const auto before = fs::last_write_time(path);
  EXPECT_EQ(ReadAll(path).size(), 3u);
  EXPECT_EQ(fs::last_write_time(path), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(VideoTest, RefusesAnEmptyRange) {
  const fs::path path = Make("short.mp4", Numbered(10));
  VideoOptions options;
  options.sampling.start = 70;
  VideoSource source(path, options);
  const Thrown thrown = Catch([&] { source.Verify(ThreadTeam(1)); });
  EXPECT_EQ(thrown.code, ErrorCode::kNoInput);
  EXPECT_THAT(thrown.message, HasSubstr("short.mp4: no frame lies between 70 s and inf s"));
}

TEST_F(VideoTest, RefusesLargeFramesBeforeDecoding) {
  VideoOptions options;
  options.max_pixels = 64 * 48 - 1;
  VideoSpec spec = Numbered(2);
  const fs::path inside = Make("inside.mp4", spec);  // the size stands in the stream
  EXPECT_THAT(Catch([&] { VideoSource(inside, options); }).message,
              HasSubstr("they have more than 3071 pixels"));
  spec.codec = "ffv1";
  const fs::path outside = Make("outside.mkv", spec);  // in the container
  const Thrown thrown = Catch([&] { VideoSource(outside, options); });
  EXPECT_EQ(thrown.code, ErrorCode::kUnsupportedFormat);
  EXPECT_THAT(thrown.message, HasSubstr("64x48 pixels are more than the 3071"));
}

}  // namespace
}  // namespace lingbot
