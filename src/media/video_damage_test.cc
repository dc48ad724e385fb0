// Videos with damaged packets: what is lost is left out and reported, and what is delivered is what
// was filmed.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "media/test_videos.h"
#include "media/video_source.h"

namespace lingbot {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing_videos::HasEncoder;
using testing_videos::VideoSpec;
using testing_videos::WriteVideo;

constexpr int kFrames = 12;
constexpr int kGroup = 6;

// Moving gradients with noise: something to code in every part of every frame.
std::vector<uint8_t> Scene(int index) {
  constexpr int kWidth = 64, kHeight = 48;
  std::vector<uint8_t> rgb;
  uint32_t random = 7;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      for (int c = 0; c < 3; ++c) {
        random = random * 1664525u + 1013904223u;
        rgb.push_back(
            static_cast<uint8_t>(x * 2 + y * 2 + index * 3 + static_cast<int>(random >> 28)));
      }
    }
  }
  return rgb;
}

using Coded = std::vector<uint8_t>;
void OverwriteMiddle(Coded* coded) {
  const auto third = static_cast<std::ptrdiff_t>(coded->size() / 3);
  std::fill(coded->begin() + third, coded->end() - third, uint8_t{0x55});
}
void OverwriteAll(Coded* coded) { std::fill(coded->begin(), coded->end(), uint8_t{0x55}); }
void Cut(Coded* coded) { coded->resize(coded->size() / 2); }
void FlipABit(Coded* coded) { (*coded)[coded->size() / 2] ^= 0x10; }

struct Harm {
  const char* name;
  const char* codec;
  void (*damage)(Coded*);
  int frame;  // in the order of coding, which is that of time
  int threads;
  int lost = 1;    // frames that are reported
  int level = -1;  // of the codec
};
std::ostream& operator<<(std::ostream& out, const Harm& harm) { return out << harm.name; }

class DamagedVideo : public testing::TestWithParam<Harm> {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "lingbot-damage-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  static VideoSpec Spec() {
    VideoSpec spec;
    spec.codec = GetParam().codec;
    spec.container = "matroska";
    if (spec.codec == "mjpeg") {
      spec.pixel_format = "yuvj420p";
      spec.full_range = true;
    }
    spec.frames = kFrames;
    spec.group = kGroup;
    spec.draw = Scene;
    spec.codec_level = GetParam().level;
    return spec;
  }

  struct Read {
    std::vector<Image> images;
    std::string problems;
  };
  Read ReadVideo(const VideoSpec& spec) const {
    WriteVideo(folder_ / "clip.mkv", spec);
    VideoOptions options;
    options.threads = GetParam().threads;
    VideoSource source(folder_ / "clip.mkv", options);
    source.Verify(ThreadTeam(1));
    Read read;
    Image image;
    while (source.Next(&image)) read.images.push_back(image);
    read.problems = source.problems();
    return read;
  }

  fs::path folder_;
};

TEST_P(DamagedVideo, LeavesOutWhatIsLostAndSaysSo) {
  const Harm& harm = GetParam();
  if (!HasEncoder(harm.codec)) GTEST_SKIP() << "this FFmpeg has no encoder " << harm.codec;
  const Read whole = ReadVideo(Spec());
  ASSERT_EQ(whole.images.size(), size_t{kFrames});
  EXPECT_EQ(whole.problems, "");
  VideoSpec spec = Spec();
  spec.damage = [&](int index, Coded* coded) {
    if (index == harm.frame) harm.damage(coded);
  };
  const Read read = ReadVideo(spec);
  EXPECT_EQ(read.images.size(), static_cast<size_t>(kFrames - harm.lost));
  EXPECT_THAT(read.problems, HasSubstr(fmt::format("{} damaged frame", harm.lost)));
  EXPECT_THAT(read.problems, HasSubstr(fmt::format("at {:.2f} s", harm.frame / 10.0)));
  // Frames build on the damaged one up to the next that stands alone; all others are untouched.
  const int group_end = (harm.frame / kGroup + 1) * kGroup;
  const bool alone = std::string(harm.codec) == "mjpeg";
  for (const Image& image : read.images) {
    const auto frame = static_cast<int>(std::lround(image.timestamp * 10));
    EXPECT_NE(frame, harm.frame);
    if (!alone && frame > harm.frame && frame < group_end) continue;
    EXPECT_EQ(image.rgb, whole.images[static_cast<size_t>(frame)].rgb) << frame;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Codecs, DamagedVideo,
    testing::Values(
        // Patched up by the decoder, which marks the frame.
        Harm{"Mpeg4Overwritten", "mpeg4", OverwriteMiddle, 3, 1},
        Harm{"Mpeg4KeyframeOverwritten", "mpeg4", OverwriteMiddle, 6, 1},
        Harm{"Mpeg4Cut", "mpeg4", Cut, 3, 1},
        Harm{"H264KeyframeOverwritten", "libx264", OverwriteMiddle, 6, 1},
        Harm{"H264Cut", "libx264", Cut, 3, 4},
        // Refused at once, later by threads that work ahead, and when these are emptied at the end.
        Harm{"Mpeg4Refused", "mpeg4", OverwriteAll, 3, 1},
        Harm{"Mpeg4RefusedByThreads", "mpeg4", OverwriteAll, 3, 4},
        Harm{"Mpeg4RefusedAtTheEnd", "mpeg4", OverwriteAll, 11, 4},
        Harm{"Mpeg4RefusedNearTheEnd", "mpeg4", OverwriteAll, 9, 4},
        // Each frame stands alone: refused rather than patched up.
        Harm{"MjpegCut", "mjpeg", Cut, 3, 1},
        Harm{"MjpegOverwritten", "mjpeg", OverwriteMiddle, 6, 4},
        // Checksums of slices. Frames after the damage go on from its statistics.
        Harm{"Ffv1Bit", "ffv1", FlipABit, 3, 1, 3, 3},
        Harm{"Ffv1BitLast", "ffv1", FlipABit, 11, 4, 1, 3},
        Harm{"Ffv1KeyframeBit", "ffv1", FlipABit, 6, 4, 6, 3},
        Harm{"Ffv1Overwritten", "ffv1", OverwriteMiddle, 9, 4, 3, 3},
        Harm{"Ffv1Cut", "ffv1", Cut, 3, 4, 3, 3}),
    [](const auto& harm) { return harm.param.name; });

}  // namespace
}  // namespace lingbot
