#ifndef LINGBOT_MEDIA_DECODE_AHEAD_H_
#define LINGBOT_MEDIA_DECODE_AHEAD_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "media/frame_source.h"

namespace lingbot {

// Decodes the frames of a source on a thread of its own, a few ahead of the one that uses them. The
// frames, their order and what is thrown are those of the source.
class DecodeAhead {
 public:
  // `source` must outlive the object and is not to be called meanwhile, apart from Cancel. At most
  // `capacity` frames wait. While Next waits for a frame it asks `stop` a few times a second; true
  // cancels the source.
  DecodeAhead(FrameSource* source, size_t capacity, std::function<bool()> stop = {});
  ~DecodeAhead();
  DecodeAhead(const DecodeAhead&) = delete;
  DecodeAhead& operator=(const DecodeAhead&) = delete;

  // As FrameSource, and as of the frames that Next has given.
  bool Next(Image* image);
  std::optional<int64_t> frame_count() const { return frame_count_; }
  const std::string& problems() const { return problems_; }

 private:
  struct Item {
    Image image;
    std::exception_ptr failure;
    bool end = false;
    std::optional<int64_t> frame_count;
    std::string problems;
  };

  void Produce();
  Item MakeItem(Image image);
  bool Push(Item item);
  Item Pop();

  FrameSource* source_;
  size_t capacity_;
  std::function<bool()> stop_;
  std::optional<int64_t> frame_count_;
  std::string problems_;
  bool ended_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;    // guarded by mutex_
  std::vector<Image> spare_;  // guarded: images whose memory is free
  bool closed_ = false;       // guarded: no more items are wanted
  std::thread thread_;
};

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_DECODE_AHEAD_H_
