#include "media/decode_ahead.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace lingbot {

DecodeAhead::DecodeAhead(FrameSource* source, size_t capacity, std::function<bool()> stop)
    : source_(source),
      capacity_(std::max<size_t>(capacity, 1)),
      stop_(std::move(stop)),
      frame_count_(source->frame_count()),
      thread_([this] { Produce(); }) {}

DecodeAhead::~DecodeAhead() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  source_->Cancel();
  thread_.join();
}

void DecodeAhead::Produce() {
  for (;;) {
    Image image;
    {
      const std::lock_guard lock(mutex_);
      if (!spare_.empty()) {
        image = std::move(spare_.back());
        spare_.pop_back();
      }
    }
    Item item = MakeItem(std::move(image));
    const bool end = item.end;
    if (!Push(std::move(item)) || end) return;
  }
}

DecodeAhead::Item DecodeAhead::MakeItem(Image image) {
  Item item;
  item.image = std::move(image);
  try {
    item.end = !source_->Next(&item.image);
    item.frame_count = source_->frame_count();
    item.problems = source_->problems();
  } catch (...) {
    item.failure = std::current_exception();
  }
  return item;
}

// Waits for room; false if nothing more is wanted.
bool DecodeAhead::Push(Item item) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return closed_ || items_.size() < capacity_; });
  if (closed_) return false;
  items_.push_back(std::move(item));
  changed_.notify_all();
  return true;
}

DecodeAhead::Item DecodeAhead::Pop() {
  constexpr auto kPause = std::chrono::milliseconds(100);
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kPause, [this] { return !items_.empty(); })) {
    if (stop_ && stop_()) source_->Cancel();
  }
  Item item = std::move(items_.front());
  items_.pop_front();
  changed_.notify_all();
  return item;
}

bool DecodeAhead::Next(Image* image) {
  if (ended_) return false;
  Item item = Pop();
  if (item.failure != nullptr) std::rethrow_exception(item.failure);
  frame_count_ = item.frame_count;
  problems_ = std::move(item.problems);
  ended_ = item.end;
  if (ended_) return false;
  std::swap(*image, item.image);
  const std::lock_guard lock(mutex_);
  if (spare_.size() < capacity_) spare_.push_back(std::move(item.image));
  return true;
}

}  // namespace lingbot
