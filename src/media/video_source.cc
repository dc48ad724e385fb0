#include "media/video_source.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <thread>
#include <utility>

#include "base/check.h"
#include "media/frame_converter.h"
#include "media/printable.h"
#include "media/video_decoder.h"

namespace lingbot {
namespace {

using Verdict = FrameSelector::Verdict;

// More threads hold more frames and gain little beside the network.
constexpr int kMostThreads = 4;

// Frames are shown in another order than they are stored in: by at most 16 places in the codecs
// that there are, a few more with two fields to a frame.
constexpr size_t kReorder = 34;

// What a walk over the packets tells.
struct Survey {
  int64_t frames = 0;          // of the whole file
  int64_t before_start = 0;    // of these, before the wanted part
  double first = 0, last = 0;  // times
  int64_t taken = 0;
  double achieved_rate = 0;
  std::string failure;  // of the container
};

class Surveyor {
 public:
  Surveyor(const Sampling& sampling, double tick)
      : start_(sampling.start - tick / 2), selector_(sampling, tick) {}

  void Add(double seconds) {
    waiting_.push(seconds);
    if (waiting_.size() > kReorder) Release();
  }

  Survey Finish() {
    while (!waiting_.empty()) Release();
    survey_.taken = selector_.taken();
    survey_.achieved_rate = selector_.AchievedRate();
    return survey_;
  }

 private:
  void Release() {
    const double seconds = waiting_.top();
    waiting_.pop();
    if (survey_.frames++ == 0) survey_.first = seconds;
    survey_.last = std::max(survey_.last, seconds);
    if (seconds < start_) ++survey_.before_start;
    selector_.Look(seconds);
  }

  double start_;
  FrameSelector selector_;
  std::priority_queue<double, std::vector<double>, std::greater<>> waiting_;
  Survey survey_;
};

Survey SurveyPackets(Demuxer* demuxer, const Sampling& sampling) {
  Surveyor surveyor(sampling, demuxer->tick());
  const ffmpeg::Owned<AVPacket> packet(ffmpeg::NotNull(av_packet_alloc()));
  double expected = 0;  // where packets carry no time
  while (demuxer->Read(packet.get())) {
    const int64_t stamp = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
    double seconds = stamp == AV_NOPTS_VALUE ? expected : demuxer->SecondsOf(stamp);
    if (!std::isfinite(seconds)) seconds = expected;
    expected = seconds + 1 / demuxer->nominal_rate();
    const bool shown = (packet->flags & AV_PKT_FLAG_DISCARD) == 0 && packet->size > 0;
    if (shown) surveyor.Add(seconds);
    av_packet_unref(packet.get());
  }
  Survey survey = surveyor.Finish();
  survey.failure = demuxer->failure();
  return survey;
}

std::string TimesText(const Damage& damage) {
  std::string text;
  for (const double time : damage.times) {
    text += fmt::format("{}{:.2f} s", text.empty() ? "" : ", ", time);
  }
  return damage.count > static_cast<int64_t>(damage.times.size()) ? text + ", ..." : text;
}

}  // namespace

bool VideoIsAvailable() { return true; }

class VideoSource::Impl {
 public:
  Impl(const std::filesystem::path& path, const VideoOptions& options)
      : path_(path), options_(options), label_(Printable(path)), name_(path.filename().string()) {
    ValidateSampling(options.sampling);
    demuxer_ = OpenDemuxer();
  }

  FrameInfo Verify() {
    survey_ = SurveyPackets(demuxer_.get(), options_.sampling);
    Begin();
    peeked_.emplace();
    if (!Decode(&*peeked_)) FailWithoutFrames();
    return {peeked_->name, peeked_->source_index, {peeked_->width, peeked_->height}};
  }

  std::optional<int64_t> frame_count() const {
    if (ended_) return delivered_;
    if (!survey_) return std::nullopt;
    return std::max(survey_->taken, delivered_);
  }

  bool Next(Image* image) {
    if (peeked_) {
      std::swap(*image, *peeked_);
      peeked_.reset();
    } else {
      if (decoder_ == nullptr) Begin();
      if (!Decode(image)) {
        ended_ = true;
        return false;
      }
    }
    ++delivered_;
    return true;
  }

  std::string description() const;
  std::string problems() const;

 private:
  std::unique_ptr<Demuxer> OpenDemuxer() const {
    return std::make_unique<Demuxer>(std::make_unique<ByteInput>(path_, label_), label_,
                                     options_.max_pixels);
  }

  // Sets decoding up at the start of the wanted part.
  void Begin() {
    Restart();
    index_base_ = 0;
    const double start = options_.sampling.start;
    if (start <= 0 || !survey_ || !demuxer_->Seek(start)) return;
    // Containers differ in how well they seek: the first frame proves it.
    if (decoder_->Next() && decoder_->seconds() <= start) {
      sought_ = true;
      replay_ = true;
      return;
    }
    Restart();
  }

  void Restart() {
    decoder_ = nullptr;
    demuxer_ = OpenDemuxer();
    int threads = options_.threads;
    if (threads <= 0) threads = static_cast<int>(std::thread::hardware_concurrency());
    decoder_ = std::make_unique<VideoDecoder>(demuxer_.get(), std::clamp(threads, 1, kMostThreads),
                                              options_.max_pixels);
    decoder_->CountDamageFrom(options_.sampling.start - demuxer_->tick() / 2);
    selector_.emplace(options_.sampling, demuxer_->tick());
    const AVStream& stream = demuxer_->stream();
    converter_.emplace(OrientationOf(ffmpeg::DisplayMatrix(stream)), stream.sample_aspect_ratio,
                       options_.max_pixels);
  }

  bool NextDecoded() {
    if (!replay_) return decoder_->Next();
    replay_ = false;
    return true;
  }

  bool Decode(Image* image) {
    const double start = options_.sampling.start - demuxer_->tick() / 2;
    while (NextDecoded()) {
      const double seconds = decoder_->seconds();
      // After a seek frames are numbered from the first one in the wanted part.
      if (sought_ && seconds >= start) {
        index_base_ = survey_->before_start - decoder_->index();
        sought_ = false;
      }
      const Verdict verdict = selector_->Look(seconds);
      if (verdict == Verdict::kDone) return false;
      if (verdict == Verdict::kSkip) continue;
      image->source_index = index_base_ + decoder_->index();
      image->timestamp = seconds;
      image->name = fmt::format("{} frame {}", name_, image->source_index);
      converter_->Convert(decoder_->frame(), image->name, image);
      return true;
    }
    return false;
  }

  [[noreturn]] void FailWithoutFrames() const {
    const Sampling& sampling = options_.sampling;
    Check(survey_->frames > 0, ErrorCode::kCorruptFile,
          "{}: the video holds no frames; it is empty or cut off", label_);
    Check(survey_->taken > 0, ErrorCode::kNoInput,
          "{}: no frame lies between {:.6g} s and {:.6g} s; the video goes from {:.6g} s to {:.6g} "
          "s",
          label_, sampling.start, sampling.end, survey_->first, survey_->last);
    Fail(ErrorCode::kCorruptFile,
         "{}: none of its {} frames could be decoded ({} are damaged); copy it again", label_,
         survey_->taken, decoder_->damage().count);
  }

  std::filesystem::path path_;
  VideoOptions options_;
  std::string label_;
  std::string name_;
  std::unique_ptr<Demuxer> demuxer_;
  std::unique_ptr<VideoDecoder> decoder_;
  std::optional<FrameSelector> selector_;
  std::optional<FrameConverter> converter_;
  std::optional<Survey> survey_;
  std::optional<Image> peeked_;
  bool sought_ = false;  // and the wanted part has not been reached
  bool replay_ = false;  // the decoder stands on a frame that was not looked at
  int64_t index_base_ = 0;
  int64_t delivered_ = 0;
  bool ended_ = false;
};

std::string VideoSource::Impl::description() const {
  const AVCodecParameters& codec = *demuxer_->stream().codecpar;
  std::string text = fmt::format("{}: {} {}x{}", name_, avcodec_get_name(codec.codec_id),
                                 codec.width, codec.height);
  if (!survey_) return text;
  const double span = survey_->last - survey_->first;
  const double rate = span > 0 ? static_cast<double>(survey_->frames - 1) / span : 0;
  text += fmt::format(", {} frames in {:.2f} s", survey_->frames, survey_->last);
  if (rate > 0) text += fmt::format(" ({:.4g} frames/s)", rate);
  const double asked = options_.sampling.frames_per_second;
  if (asked > 0) {
    text += fmt::format("; asked for {:.4g} frames/s, achieved {:.4g} with {} frames", asked,
                        survey_->achieved_rate, survey_->taken);
  } else if (survey_->taken != survey_->frames) {
    text += fmt::format("; {} are used", survey_->taken);
  }
  return text;
}

std::string VideoSource::Impl::problems() const {
  std::string text;
  if (decoder_ != nullptr && decoder_->damage().count > 0) {
    const Damage& damage = decoder_->damage();
    text = fmt::format("{} damaged {} left out, at {}", damage.count,
                       damage.count == 1 ? "frame was" : "frames were", TimesText(damage));
  }
  const std::string failure =
      survey_ && !survey_->failure.empty() ? survey_->failure : demuxer_->failure();
  if (!failure.empty()) {
    if (!text.empty()) text += "; ";
    text += "the file ends early: " + failure;
  }
  return text.empty() ? text : name_ + ": " + text;
}

VideoSource::VideoSource(const std::filesystem::path& path, const VideoOptions& options)
    : impl_(std::make_unique<Impl>(path, options)) {}
VideoSource::~VideoSource() = default;

std::vector<FrameInfo> VideoSource::Verify(const ThreadTeam&) { return {impl_->Verify()}; }
std::optional<int64_t> VideoSource::frame_count() const { return impl_->frame_count(); }
bool VideoSource::Next(Image* image) { return impl_->Next(image); }
std::string VideoSource::description() const { return impl_->description(); }
std::string VideoSource::problems() const { return impl_->problems(); }

}  // namespace lingbot
