#include "media/live_source.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "base/check.h"
#include "media/frame_converter.h"
#include "media/video_decoder.h"

namespace lingbot {
namespace {

using Clock = std::chrono::steady_clock;
using Verdict = FrameSelector::Verdict;

// What an address may lead to: its own protocol and what that is carried by; never a file.
constexpr const char* kProtocols = "rtsp,rtsps,rtp,srtp,rtmp,rtmps,http,https,srt,udp,tcp,tls";

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

StreamTarget TargetOf(const LiveInput& input, const LiveOptions& options) {
  StreamTarget target;
  target.address = input.address;
  target.format = input.format;
  target.device = input.kind == LiveInput::Kind::kDevice;
  if (target.device) {
    if (options.width > 0) {
      target.options.emplace_back("video_size",
                                  fmt::format("{}x{}", options.width, options.height));
    }
    if (options.rate > 0) target.options.emplace_back("framerate", fmt::format("{}", options.rate));
    return target;
  }
  target.options.emplace_back("protocol_whitelist", kProtocols);
  target.options.emplace_back("format_whitelist", Demuxer::ContainerList() + ",rtsp,sdp");
  target.options.emplace_back("rtsp_transport", "tcp");  // no frames lost on the way
  // Files on servers that can go on in the middle.
  target.options.emplace_back("reconnect", "1");
  target.options.emplace_back("reconnect_delay_max", "2");
  return target;
}

}  // namespace

class LiveSource::Impl {
 public:
  Impl(LiveInput input, const LiveOptions& options)
      : input_(std::move(input)), options_(options), patience_(options.timeout) {
    ValidateSampling(options.sampling);
    Check(std::isfinite(options.timeout) && options.timeout >= 0, ErrorCode::kInvalidArgument,
          "the timeout must be at least 0 seconds, got {}", options.timeout);
  }

  FrameInfo Verify() {
    peeked_.emplace();
    Check(Decode(&*peeked_), ErrorCode::kNoInput, "{}: the stream ended before its first frame{}",
          input_.label, patience_.cancelled() ? " (cancelled)" : "");
    return {peeked_->name, peeked_->source_index, {peeked_->width, peeked_->height}};
  }

  bool Next(Image* image) {
    if (!peeked_) return Decode(image);
    std::swap(*image, *peeked_);
    peeked_.reset();
    return true;
  }

  std::string description() const {
    if (demuxer_ == nullptr) return {};
    const AVCodecParameters& codec = *demuxer_->stream().codecpar;
    return fmt::format("{}: {} {}x{}, of unknown length", input_.label,
                       avcodec_get_name(codec.codec_id), codec.width, codec.height);
  }

  std::string problems() const {
    std::string text;
    const int64_t damaged = damaged_before_ + (decoder_ ? decoder_->damage().count : 0);
    if (damaged > 0) text = fmt::format("{} damaged frames were left out", damaged);
    if (reconnected_ > 0) {
      text +=
          fmt::format("{}the connection was lost {} times", text.empty() ? "" : "; ", reconnected_);
    }
    return text.empty() ? text : input_.label + ": " + text;
  }

  void Cancel() { patience_.Cancel(); }

 private:
  void Open() {
    if (decoder_ != nullptr) damaged_before_ += decoder_->damage().count;
    decoder_ = nullptr;
    if (input_.kind == LiveInput::Kind::kDescriptor) {
      demuxer_ = std::make_unique<Demuxer>(
          std::make_unique<ByteInput>(input_.descriptor, &patience_), input_.label,
          options_.max_pixels, input_.format, options_.rate);
    } else {
      demuxer_ = std::make_unique<Demuxer>(TargetOf(input_, options_), input_.label,
                                           options_.max_pixels, &patience_);
    }
    // Frames on several threads would come later.
    decoder_ = std::make_unique<VideoDecoder>(demuxer_.get(), /*threads=*/1, options_.max_pixels);
    const AVStream& stream = demuxer_->stream();
    converter_.emplace(OrientationOf(ffmpeg::DisplayMatrix(stream)), stream.sample_aspect_ratio,
                       options_.max_pixels);
    if (!selector_) selector_.emplace(options_.sampling, demuxer_->tick());
    rebase_ = true;
  }

  bool Decode(Image* image) {
    if (decoder_ == nullptr) Open();
    for (;;) {
      if (!decoder_->Next()) {
        if (patience_.cancelled() || demuxer_->failure().empty()) return false;
        Reconnect();
        continue;
      }
      const double seconds = Stamp();
      const int64_t index = frames_++;
      const Verdict verdict = selector_->Look(seconds);
      if (verdict == Verdict::kDone) return false;
      if (verdict == Verdict::kSkip) continue;
      failures_ = 0;
      image->source_index = index;
      image->timestamp = seconds;
      image->name = fmt::format("{} frame {}", input_.label, index);
      converter_->Convert(decoder_->frame(), image->name, image);
      return true;
    }
  }

  // Seconds since the first frame of all; those of a new connection begin where the clock is.
  double Stamp() {
    if (rebase_) {
      if (frames_ == 0) begin_ = Clock::now();
      offset_ =
          (frames_ == 0 ? 0 : std::max(SecondsSince(begin_), last_ + 1e-3)) - decoder_->seconds();
      rebase_ = false;
    }
    last_ = decoder_->seconds() + offset_;
    return last_;
  }

  // Connects again, or throws with the reason of the loss.
  void Reconnect() {
    std::string reason = patience_.silent()
                             ? fmt::format("nothing came for {:.3g} s", patience_.seconds())
                             : demuxer_->failure();
    // What has an end would begin anew.
    const bool again = input_.kind == LiveInput::Kind::kAddress && !demuxer_->finite();
    while (again && failures_++ < options_.reconnects) {
      if (options_.log) {
        options_.log(fmt::format("{}: {}; connecting again ({} of {})", input_.label, reason,
                                 failures_, options_.reconnects));
      }
      Pause();
      if (patience_.cancelled()) return;
      try {
        patience_.Forgive();
        Open();
        ++reconnected_;
        return;
      } catch (const Error& error) {
        reason = error.what();
      }
    }
    Fail(ErrorCode::kFileUnreadable, "{}: {} after {} frames; {}", input_.label, reason, frames_,
         input_.kind == LiveInput::Kind::kAddress
             ? "check that the sender runs and the network holds, or give a longer --timeout"
             : "check that it still sends, or give a longer --timeout");
  }

  void Pause() const {
    const Clock::time_point start = Clock::now();
    while (!patience_.cancelled() && SecondsSince(start) < options_.reconnect_pause) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  LiveInput input_;
  LiveOptions options_;
  Patience patience_;
  std::unique_ptr<Demuxer> demuxer_;
  std::unique_ptr<VideoDecoder> decoder_;
  std::optional<FrameSelector> selector_;
  std::optional<FrameConverter> converter_;
  std::optional<Image> peeked_;
  bool rebase_ = false;  // the next frame is the first of a connection
  double offset_ = 0;    // seconds from the connection's times to ours
  double last_ = 0;
  Clock::time_point begin_;
  int64_t frames_ = 0;  // decoded, of all connections
  int failures_ = 0;    // to connect, since the last frame
  int reconnected_ = 0;
  int64_t damaged_before_ = 0;
};

bool IsStreamAddress(const std::string& text) {
  for (const char* scheme : {"rtsp://", "rtsps://", "rtmp://", "rtmps://", "http://", "https://",
                             "srt://", "udp://", "tcp://"}) {
    if (text.rfind(scheme, 0) == 0) return true;
  }
  return false;
}

LiveSource::LiveSource(LiveInput input, const LiveOptions& options)
    : impl_(std::make_unique<Impl>(std::move(input), options)) {}
LiveSource::~LiveSource() = default;

std::vector<FrameInfo> LiveSource::Verify(const ThreadTeam&) { return {impl_->Verify()}; }
bool LiveSource::Next(Image* image) { return impl_->Next(image); }
std::string LiveSource::description() const { return impl_->description(); }
std::string LiveSource::problems() const { return impl_->problems(); }
void LiveSource::Cancel() { impl_->Cancel(); }

}  // namespace lingbot
