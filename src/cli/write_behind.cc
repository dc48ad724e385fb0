#include "cli/write_behind.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace lingbot::cli {

WriteBehind::WriteBehind(size_t capacity, Write write)
    : capacity_(std::max<size_t>(capacity, 1)),
      write_(std::move(write)),
      thread_([this] { Consume(); }) {}

WriteBehind::~WriteBehind() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void WriteBehind::Copy(const FrameRecord& record, Item* item) {
  item->record = record;
  item->depth.assign(record.depth.begin(), record.depth.end());
  item->confidence.assign(record.confidence.begin(), record.confidence.end());
  item->rgb.assign(record.rgb.begin(), record.rgb.end());
  item->record.depth = item->depth;
  item->record.confidence = item->confidence;
  item->record.rgb = item->rgb;
}

void WriteBehind::Add(const FrameRecord& record) {
  Item item;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return failure_ != nullptr || items_.size() < capacity_; });
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    if (!spare_.empty()) {
      item = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  Copy(record, &item);
  {
    // Moving a vector leaves its elements where they are, so the record's maps stay valid.
    const std::lock_guard lock(mutex_);
    items_.push_back(std::move(item));
  }
  changed_.notify_all();
}

void WriteBehind::Flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return failure_ != nullptr || items_.empty(); });
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

int64_t WriteBehind::written() const {
  const std::lock_guard lock(mutex_);
  return written_;
}

double WriteBehind::seconds() const {
  const std::lock_guard lock(mutex_);
  return seconds_;
}

void WriteBehind::Consume() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closed_ || !items_.empty(); });
    if (items_.empty()) return;
    WriteFront(&lock);
    if (failure_ != nullptr) return;
  }
}

void WriteBehind::WriteFront(std::unique_lock<std::mutex>* lock) {
  const FrameRecord& record = items_.front().record;
  lock->unlock();
  const auto start = std::chrono::steady_clock::now();
  std::exception_ptr failure;
  try {
    write_(record);
  } catch (...) {
    failure = std::current_exception();
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  lock->lock();
  seconds_ += seconds;
  failure_ = failure;
  if (failure == nullptr) {
    ++written_;
    spare_.push_back(std::move(items_.front()));
    items_.pop_front();
  }
  changed_.notify_all();
}

}  // namespace lingbot::cli
