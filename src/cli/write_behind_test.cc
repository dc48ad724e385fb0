#include "cli/write_behind.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>

namespace lingbot::cli {
namespace {

FrameRecord RecordOf(int64_t index, const std::vector<float>& depth,
                     const std::vector<uint8_t>& rgb) {
  FrameRecord record;
  record.index = index;
  record.source_name = "frame " + std::to_string(index);
  record.depth = depth;
  record.confidence = depth;
  record.rgb = rgb;
  return record;
}

TEST(WriteBehind, WritesCopiesInOrder) {
  std::vector<std::string> names;
  std::vector<float> sums;
  {
    WriteBehind behind(3, [&](const FrameRecord& record) {
      names.push_back(record.source_name);
      float sum = 0;
      for (const float depth : record.depth) sum += depth;
      for (const float confidence : record.confidence) sum += 10 * confidence;
      for (const uint8_t value : record.rgb) sum += 1000.0f * static_cast<float>(value);
      sums.push_back(sum);
    });
    std::vector<float> depth(4);
    std::vector<uint8_t> rgb(2);
    for (int i = 0; i < 50; ++i) {
      depth.assign(static_cast<size_t>(i % 5), static_cast<float>(i));
      rgb.assign(2, static_cast<uint8_t>(i));
      behind.Add(RecordOf(i, depth, rgb));
    }
    behind.Flush();
    EXPECT_EQ(behind.written(), 50);
    ASSERT_EQ(names.size(), 50u);
  }
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(names[i], "frame " + std::to_string(i));
    EXPECT_EQ(sums[i], static_cast<float>(11 * i * (i % 5) + 2000 * i));
  }
}

TEST(WriteBehind, TheDestructorWritesWhatWaits) {
  std::atomic<int> written = 0;
  {
    WriteBehind behind(8, [&](const FrameRecord&) { ++written; });
    for (int i = 0; i < 8; ++i) behind.Add(RecordOf(i, {}, {}));
  }
  EXPECT_EQ(written, 8);
}

TEST(WriteBehind, HoldsBackWhoeverIsTooFast) {
  std::promise<void> gate;
  std::shared_future<void> opened = gate.get_future().share();
  std::atomic<int> added = 0;
  WriteBehind behind(2, [&](const FrameRecord&) { opened.wait(); });
  auto adding = std::async(std::launch::async, [&] {
    for (int i = 0; i < 6; ++i) {
      behind.Add(RecordOf(i, {}, {}));
      ++added;
    }
  });
  while (added < 2) std::this_thread::yield();
  EXPECT_EQ(behind.written(), 0);
  EXPECT_LE(added, 2);  // the third one finds no room before the gate opens
  gate.set_value();
  adding.get();
  behind.Flush();
  EXPECT_EQ(behind.written(), 6);
}

TEST(WriteBehind, AFailureStopsAllWritingAndIsThrownEveryTime) {
  std::vector<int64_t> tried;
  WriteBehind behind(2, [&](const FrameRecord& record) {
    tried.push_back(record.index);
    if (record.index == 3) throw std::runtime_error("disk full");
  });
  int64_t refused = 0;
  for (int i = 0; i < 20; ++i) {
    try {
      behind.Add(RecordOf(i, {}, {}));
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "disk full");
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_THROW(behind.Flush(), std::runtime_error);
  EXPECT_THROW(behind.Flush(), std::runtime_error);
  EXPECT_EQ(behind.written(), 3);
  EXPECT_EQ(tried, (std::vector<int64_t>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace lingbot::cli
