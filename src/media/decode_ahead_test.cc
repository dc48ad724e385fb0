#include "media/decode_ahead.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/check.h"

namespace lingbot {
namespace {

// Frames 0 to count - 1 of one pixel; frame `bad` throws.
class Numbers : public FrameSource {
 public:
  Numbers(int count, int bad = -1) : count_(count), bad_(bad) {}

  std::vector<FrameInfo> Verify(const ThreadTeam&) override { return {}; }
  std::optional<int64_t> frame_count() const override { return count_ - (next_ > bad_ ? 1 : 0); }
  std::string problems() const override { return next_ > bad_ ? "one is bad" : ""; }
  bool Next(Image* image) override {
    if (next_ == count_) return false;
    const int number = next_++;
    most_.store(number + 1);
    if (number == bad_) Fail(ErrorCode::kCorruptFile, "frame {} is bad", number);
    image->rgb.assign(3, static_cast<uint8_t>(number));
    image->source_index = number;
    return true;
  }
  int most() const { return most_.load(); }

 private:
  int count_, bad_;
  int next_ = 0;
  std::atomic<int> most_ = 0;
};

TEST(DecodeAhead, GivesTheFramesOfTheSource) {
  Numbers numbers(100, /*bad=*/1000);
  DecodeAhead ahead(&numbers, 2);
  Image image;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(ahead.Next(&image));
    EXPECT_EQ(image.source_index, i);
    EXPECT_EQ(image.rgb[0], i);
    // What waits, what is being decoded, and what is here.
    EXPECT_LE(numbers.most(), i + 1 + 2 + 1 + 1);
  }
  EXPECT_FALSE(ahead.Next(&image));
  EXPECT_FALSE(ahead.Next(&image));
}

TEST(DecodeAhead, PassesFailuresOnInTheirPlace) {
  Numbers numbers(5, /*bad=*/2);
  DecodeAhead ahead(&numbers, 3);
  Image image;
  EXPECT_TRUE(ahead.Next(&image));
  EXPECT_TRUE(ahead.Next(&image));
  EXPECT_EQ(ahead.frame_count(), 5);
  EXPECT_EQ(ahead.problems(), "");
  EXPECT_THROW(ahead.Next(&image), Error);
  ASSERT_TRUE(ahead.Next(&image));
  EXPECT_EQ(image.source_index, 3);
  EXPECT_EQ(ahead.frame_count(), 4);
  EXPECT_EQ(ahead.problems(), "one is bad");
}

TEST(DecodeAhead, MayBeLeftEarly) {
  Numbers numbers(1000000);
  {
    DecodeAhead ahead(&numbers, 2);
    Image image;
    EXPECT_TRUE(ahead.Next(&image));
  }
  EXPECT_LT(numbers.most(), 10);
}

// Waits until it is cancelled.
class Silence : public FrameSource {
 public:
  std::vector<FrameInfo> Verify(const ThreadTeam&) override { return {}; }
  std::optional<int64_t> frame_count() const override { return std::nullopt; }
  bool Next(Image*) override {
    cancelled_.wait(false);
    return false;
  }
  void Cancel() override {
    cancelled_ = true;
    cancelled_.notify_all();
  }

 private:
  std::atomic<bool> cancelled_ = false;
};

TEST(DecodeAhead, StopsWaitingWhenAskedTo) {
  Silence silence;
  DecodeAhead ahead(&silence, 2, [] { return true; });
  Image image;
  EXPECT_FALSE(ahead.Next(&image));
}

TEST(DecodeAhead, EndsWhileTheSourceWaits) {
  Silence silence;
  const DecodeAhead ahead(&silence, 2);
}

}  // namespace
}  // namespace lingbot
