#include "media/raw_source.h"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace lingbot {
namespace {

RawOptions Checked(const RawOptions& options) {
  Check(options.width > 0 && options.height > 0 &&
            options.height <= options.max_pixels / options.width,
        ErrorCode::kInvalidArgument,
        "raw frames need their size: --size WIDTHxHEIGHT, at most {} pixels; got {}x{}",
        options.max_pixels, options.width, options.height);
  Check(std::isfinite(options.rate) && options.rate > 0, ErrorCode::kInvalidArgument,
        "raw frames need their rate in frames per second (--rate N), got {}", options.rate);
  return options;
}

}  // namespace

RawSource::RawSource(int descriptor, std::string label, const RawOptions& options)
    : descriptor_(descriptor),
      label_(std::move(label)),
      options_(Checked(options)),
      patience_(options.timeout),
      selector_(options.sampling, 0) {}

std::vector<FrameInfo> RawSource::Verify(const ThreadTeam&) {
  Image image;
  Check(Next(&image), ErrorCode::kNoInput,
        "{}: the stream ended before its first frame ({} of {} bytes)", label_, rest_,
        size_t{3} * options_.width * options_.height);
  peeked_ = std::move(image);
  return {{peeked_->name, peeked_->source_index, {peeked_->width, peeked_->height}}};
}

bool RawSource::ReadFrame() {
  rgb_.resize(size_t{3} * options_.width * options_.height);
  size_t done = 0;
  while (done < rgb_.size()) {
    if (!WaitForInput(descriptor_, &patience_)) {
      if (patience_.cancelled()) return false;
      Fail(ErrorCode::kFileUnreadable,
           "{}: nothing came for {:.3g} s after {} frames; check that the sender runs, or give a "
           "longer --timeout",
           label_, patience_.seconds(), frames_);
    }
    const ssize_t count = ::read(descriptor_, rgb_.data() + done, rgb_.size() - done);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    Check(count >= 0, ErrorCode::kFileUnreadable, "cannot read {}: {}", label_,
          std::strerror(errno));
    if (count == 0) {
      rest_ = done;
      return false;
    }
    done += static_cast<size_t>(count);
  }
  return true;
}

bool RawSource::Next(Image* image) {
  if (peeked_) {
    std::swap(*image, *peeked_);
    peeked_.reset();
    return true;
  }
  while (ReadFrame()) {
    const int64_t index = frames_++;
    const double seconds = static_cast<double>(index) / options_.rate;
    const FrameSelector::Verdict verdict = selector_.Look(seconds);
    if (verdict == FrameSelector::Verdict::kDone) return false;
    if (verdict == FrameSelector::Verdict::kSkip) continue;
    image->rgb = rgb_;
    image->width = options_.width;
    image->height = options_.height;
    image->timestamp = seconds;
    image->source_index = index;
    image->name = fmt::format("{} frame {}", label_, index);
    return true;
  }
  return false;
}

std::string RawSource::description() const {
  return fmt::format("{}: raw {}x{}, {:.4g} frames/s, of unknown length", label_, options_.width,
                     options_.height, options_.rate);
}

std::string RawSource::problems() const {
  if (rest_ == 0) return {};
  return fmt::format("{}: the last frame is cut off ({} of {} bytes) and was left out", label_,
                     rest_, rgb_.size());
}

}  // namespace lingbot
