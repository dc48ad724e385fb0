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
      AddDamage(last_packet_);
      if (draining_ && ++failures_in_drain_ > kMostFailuresInDrain) return false;
    }
  }
}

// Gives the decoder the next packet, or the end. A packet that it refuses is damaged.
bool VideoDecoder::Feed() {
  if (draining_) return false;
  if (!demuxer_->Read(packet_.get())) {
    draining_ = true;
    return avcodec_send_packet(codec_.get(), nullptr) >= 0;
  }
  last_packet_ = PacketSeconds();
  const bool whole = (packet_->flags & AV_PKT_FLAG_CORRUPT) == 0 &&
                     avcodec_send_packet(codec_.get(), packet_.get()) >= 0;
  av_packet_unref(packet_.get());
  if (!whole) AddDamage(last_packet_);
  return true;
}

bool VideoDecoder::IsDamaged() const {
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
