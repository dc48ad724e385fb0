#include "cli/frame_queue.h"

#include <gtest/gtest.h>

namespace lingbot::cli {
namespace {

PreprocessedFrame MakeFrame(int height, int width, int salt) {
  PreprocessedFrame frame;
  frame.height = height;
  frame.width = width;
  frame.pixels = Buffer(DType::kF32, {3, height, width});
  for (int i = 0; i < 3 * height * width; ++i) {
    frame.pixels.data<float>()[i] = static_cast<float>((i + salt) % 256) / 255.0f;
  }
  frame.mapping.scale_x = 0.5;
  frame.mapping.offset_y = -7;
  return frame;
}

// Every byte survives the way through [0, 1] and the change from planes to pixels.
TEST(FrameQueue, GivesTheBytesBack) {
  FrameQueue queue;
  Image image;
  image.name = "a.png";
  image.source_index = 5;
  image.timestamp = 2.5;
  image.width = 40;
  image.height = 20;
  queue.Push(image, MakeFrame(16, 16, 3));
  const PendingFrame& frame = queue.front();
  EXPECT_EQ(frame.name, "a.png");
  EXPECT_EQ(frame.source_index, 5);
  EXPECT_EQ(frame.timestamp, 2.5);
  EXPECT_EQ(frame.mapping.original_width, 40);
  EXPECT_EQ(frame.mapping.original_height, 20);
  EXPECT_EQ(frame.mapping.scale_x, 0.5);
  EXPECT_EQ(frame.mapping.offset_y, -7);
  ASSERT_EQ(frame.rgb.size(), 3u * 256);
  for (int i = 0; i < 256; ++i) {
    for (int channel = 0; channel < 3; ++channel) {
      EXPECT_EQ(frame.rgb[3 * i + channel], (channel * 256 + i + 3) % 256);
    }
  }
}

TEST(FrameQueue, KeepsOrderAndReusesMemory) {
  FrameQueue queue;
  Image image;
  image.name = "0";
  queue.Push(image, MakeFrame(2, 2, 0));
  const uint8_t* memory = queue.front().rgb.data();
  queue.Pop();
  for (int i = 1; i <= 3; ++i) {
    image.name = std::to_string(i);
    queue.Push(image, MakeFrame(2, 2, i));
  }
  EXPECT_EQ(queue.size(), 3u);
  EXPECT_EQ(queue.front().rgb.data(), memory);
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(queue.front().name, std::to_string(i));
    EXPECT_EQ(queue.front().rgb[0], i);
    queue.Pop();
  }
  EXPECT_EQ(queue.size(), 0u);
}

}  // namespace
}  // namespace lingbot::cli
