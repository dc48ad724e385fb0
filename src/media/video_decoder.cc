#include "media/video_decoder.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace lingbot {
namespace {

constexpr size_t kTimesKept = 5;
constexpr int kMostFailuresInDrain = 64;

}  // namespace

void Damage::Add(double seconds) {
  ++count;
  if (times.size() < kTimesKept) times.push_back(seconds);
}

VideoDecoder::VideoDecoder(Demuxer* demuxer, int threads, int64_t max_pixels)
    : demuxer_(demuxer),
      packet_(ffmpeg::NotNull(av_packet_alloc())),
      frame_(ffmpeg::NotNull(av_frame_alloc())) {
  const AVStream& stream = demuxer->stream();
  const AVCodec* codec = avcodec_find_decoder(stream.codecpar->codec_id);
  codec_.reset(ffmpeg::NotNull(avcodec_alloc_context3(codec)));
  ffmpeg::ForgetMessages();
  int status = avcodec_parameters_to_context(codec_.get(), stream.codecpar);
  codec_->pkt_timebase = stream.time_base;
  codec_->max_pixels = max_pixels;
  codec_->thread_count = threads;
  codec_->opaque = &errors_;
  // A slice that fails its checksum is patched up from the frame before, and nothing but a message
  // says so; frames after it, up to the next that stands alone, go on from its statistics. Without
  // threads for whole frames the message belongs to the frame that comes next.
  if (stream.codecpar->codec_id == AV_CODEC_ID_FFV1) {
    errors_are_damage_ = true;
    codec_->thread_type = FF_THREAD_SLICE;
  }
  codec_->err_recognition |= AV_EF_CRCCHECK;
  // Where frames do not build on each other a damaged one is better refused than patched up.
  const AVCodecDescriptor* description = avcodec_descriptor_get(stream.codecpar->codec_id);
  if (description != nullptr && (description->props & AV_CODEC_PROP_INTRA_ONLY) != 0) {
    codec_->err_recognition |= AV_EF_EXPLODE;
  }
  if (status >= 0) status = avcodec_open2(codec_.get(), codec, nullptr);
  Check(status >= 0, ErrorCode::kUnsupportedFormat, "{}: the decoder for {} cannot be opened: {}",
        demuxer->label(), avcodec_get_name(stream.codecpar->codec_id), ffmpeg::ErrorText(status));
}

bool VideoDecoder::Next() {
  for (;;) {
    const int status = avcodec_receive_frame(codec_.get(), frame_.get());
    if (status >= 0) {
      Stamp();
      Answered();
      if (!IsDamaged()) {
        ++decoded_;
        return true;
      }
      AddDamage(seconds_);
    } else if (status == AVERROR_EOF) {
      return false;
    } else if (status == AVERROR(EAGAIN)) {
      if (!Feed()) return false;
    } else {
      RefusePacket();
      Answered();
      if (draining_ && ++failures_in_drain_ > kMostFailuresInDrain) return false;
    }
  }
}

// Gives the decoder the next packet, or the end. A packet that it refuses is damaged.
bool VideoDecoder::Feed() {
  if (draining_) return false;
  if (!demuxer_->Read(packet_.get())) {
    draining_ = true;
    // The oldest of full threads has answered when the last packet was sent.
    if (in_threads_.size() == PacketsInThreads() && in_threads_.size() > 1) in_threads_.pop_front();
    // The answer to this may be the error of a packet before.
    if (avcodec_send_packet(codec_.get(), nullptr) < 0) {
      RefusePacket();
      Answered();
    }
    return true;
  }
  last_packet_ = PacketSeconds();
  in_threads_.push_back(last_packet_);
  while (in_threads_.size() > PacketsInThreads()) in_threads_.pop_front();
  if ((packet_->flags & AV_PKT_FLAG_KEY) != 0) broken_chain_ = false;
  if ((packet_->flags & AV_PKT_FLAG_CORRUPT) != 0) {
    AddDamage(last_packet_);
    broken_chain_ = true;
  } else if (avcodec_send_packet(codec_.get(), packet_.get()) < 0) {
    RefusePacket();
  }
  av_packet_unref(packet_.get());
  return true;
}

// With threads for frames an answer comes so many packets later.
size_t VideoDecoder::PacketsInThreads() const {
  const bool threads = (codec_->active_thread_type & FF_THREAD_FRAME) != 0;
  return threads ? static_cast<size_t>(codec_->thread_count) : 1;
}

void VideoDecoder::RefusePacket() {
  AddDamage(in_threads_.empty() ? last_packet_ : in_threads_.front());
  errors_before_ = errors_.count;
  broken_chain_ = true;
}

void VideoDecoder::Answered() {
  if (draining_ && in_threads_.size() > 1) in_threads_.pop_front();
}

bool VideoDecoder::IsDamaged() {
  const int64_t errors = errors_.count - errors_before_;
  errors_before_ += errors;
  broken_chain_ = broken_chain_ || errors > 0;
  if (errors_are_damage_ && broken_chain_) return true;
  return (frame_->flags & AV_FRAME_FLAG_CORRUPT) != 0 || frame_->decode_error_flags != 0;
}

// Time stamps that are missing or go back, as broken files have them, are replaced by the nominal
// distance.
void VideoDecoder::Stamp() {
  const int64_t stamp = frame_->best_effort_timestamp;
  double seconds = stamp == AV_NOPTS_VALUE ? std::nan("") : demuxer_->SecondsOf(stamp);
  const bool usable = std::isfinite(seconds) && (!stamped_ || seconds > seconds_);
  if (!usable) seconds = stamped_ ? seconds_ + 1 / demuxer_->nominal_rate() : 0;
  seconds_ = seconds;
  stamped_ = true;
}

void VideoDecoder::AddDamage(double seconds) {
  if (seconds >= damage_start_) damage_.Add(seconds);
}

double VideoDecoder::PacketSeconds() const {
  const int64_t stamp = packet_->pts != AV_NOPTS_VALUE ? packet_->pts : packet_->dts;
  const double seconds = stamp == AV_NOPTS_VALUE ? last_packet_ : demuxer_->SecondsOf(stamp);
  return std::isfinite(seconds) ? seconds : last_packet_;
}

}  // namespace lingbot
