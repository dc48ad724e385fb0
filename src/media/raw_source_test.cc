#include "media/raw_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "media/test_images.h"
#include "media/test_pipe.h"

namespace lingbot {
namespace {

using testing::HasSubstr;
using testing_images::Catch;
using testing_pipe::Pipe;

RawOptions Small() {
  RawOptions options;
  options.width = 2;
  options.height = 1;
  options.rate = 10;
  options.timeout = 0.2;
  return options;
}

TEST(RawSource, CutsTheStreamIntoFrames) {
  Pipe pipe;
  pipe.Write(std::string("abcdefABCDEF", 12));
  pipe.CloseWriter();
  RawSource source(pipe.reader(), "pipe", Small());
  const std::vector<FrameInfo> infos = source.Verify(ThreadTeam(1));
  EXPECT_EQ(infos[0].size, (ImageSize{2, 1}));
  Image image;
  ASSERT_TRUE(source.Next(&image));
  EXPECT_EQ(image.rgb, (std::vector<uint8_t>{'a', 'b', 'c', 'd', 'e', 'f'}));
  ASSERT_TRUE(source.Next(&image));
  EXPECT_EQ(image.rgb[0], 'A');
  EXPECT_EQ(image.timestamp, 0.1);
  EXPECT_EQ(image.source_index, 1);
  EXPECT_FALSE(source.Next(&image));
  EXPECT_EQ(source.problems(), "");
}

TEST(RawSource, ReportsACutOffFrame) {
  Pipe pipe;
  pipe.Write("abcdefABC");
  pipe.CloseWriter();
  RawSource source(pipe.reader(), "pipe", Small());
  Image image;
  EXPECT_TRUE(source.Next(&image));
  EXPECT_FALSE(source.Next(&image));
  EXPECT_THAT(source.problems(), HasSubstr("cut off (3 of 6 bytes)"));
}

TEST(RawSource, RefusesAnEmptyStream) {
  Pipe pipe;
  pipe.CloseWriter();
  RawSource source(pipe.reader(), "pipe", Small());
  EXPECT_THAT(Catch([&] { source.Verify(ThreadTeam(1)); }).message,
              HasSubstr("ended before its first frame (0 of 6 bytes)"));
}

TEST(RawSource, GivesUpOnSilence) {
  Pipe pipe;
  pipe.Write("abcdef");
  RawSource source(pipe.reader(), "pipe", Small());
  Image image;
  EXPECT_TRUE(source.Next(&image));
  EXPECT_THAT(Catch([&] { source.Next(&image); }).message,
              HasSubstr("pipe: nothing came for 0.2 s after 1 frames"));
}

TEST(RawSource, EndsWhenCancelled) {
  Pipe pipe;
  RawOptions options = Small();
  options.timeout = 0;
  RawSource source(pipe.reader(), "pipe", options);
  source.Cancel();
  Image image;
  EXPECT_FALSE(source.Next(&image));
}

TEST(RawSource, SamplesByTime) {
  Pipe pipe;
  pipe.Write(std::string(6 * 20, 'x'));
  pipe.CloseWriter();
  RawOptions options = Small();
  options.sampling.frames_per_second = 5;
  options.sampling.end = 1;
  RawSource source(pipe.reader(), "pipe", options);
  Image image;
  std::vector<int64_t> indices;
  while (source.Next(&image)) indices.push_back(image.source_index);
  EXPECT_THAT(indices, testing::ElementsAre(0, 2, 4, 6, 8));
}

TEST(RawSource, NeedsSizeAndRate) {
  for (int i = 0; i < 4; ++i) {
    RawOptions options = Small();
    if (i == 0) options.width = 0;
    if (i == 1) options.height = 1 << 30;
    if (i == 2) options.rate = 0;
    if (i == 3) options.sampling.stride = 0;
    EXPECT_EQ(Catch([&] { RawSource(0, "pipe", options); }).code, ErrorCode::kInvalidArgument) << i;
  }
}

}  // namespace
}  // namespace lingbot
