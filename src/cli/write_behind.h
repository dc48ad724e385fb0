#ifndef LINGBOT_CLI_WRITE_BEHIND_H_
#define LINGBOT_CLI_WRITE_BEHIND_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "output/frame_record.h"

namespace lingbot::cli {

// Writes the records of frames in order on a thread of its own, a few behind the thread that makes
// them.
class WriteBehind {
 public:
  using Write = std::function<void(const FrameRecord&)>;

  // At most `capacity` records wait. Only the thread of this object calls `write`, until the
  // destructor returns.
  WriteBehind(size_t capacity, Write write);
  // Writes what still waits, unless writing has failed.
  ~WriteBehind();
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  // Copies the record, once there is room. Throws what `write` threw for an earlier one: then
  // nothing more is ever written, and every later call throws it again.
  void Add(const FrameRecord& record);
  // Returns when everything that was added is written. Throws as Add.
  void Flush();

  int64_t written() const;  // records
  double seconds() const;   // spent writing

 private:
  // A record with maps of its own.
  struct Item {
    FrameRecord record;
    std::vector<float> depth;
    std::vector<float> confidence;
    std::vector<uint8_t> rgb;
  };

  static void Copy(const FrameRecord& record, Item* item);
  void Consume();
  void WriteFront(std::unique_lock<std::mutex>* lock);

  const size_t capacity_;
  const Write write_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::deque<Item> items_;   // the first one is being written
  std::vector<Item> spare_;  // whose memory is free
  std::exception_ptr failure_;
  bool closed_ = false;
  int64_t written_ = 0;
  double seconds_ = 0;
  std::thread thread_;
};

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_WRITE_BEHIND_H_
