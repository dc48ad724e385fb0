#include "media/demuxer.h"

#include <array>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"

namespace lingbot {
namespace {

constexpr int64_t kProbeBytes = 8'000'000;
constexpr int64_t kAnalyseMicroseconds = 10'000'000;
constexpr double kOpenSeconds = 10;  // that connecting may take beyond the silence allowed

// Containers and bare streams of video. Play lists, and whatever else opens other files or renders
// text, are not among them.
constexpr std::array<const char*, 24> kContainers = {
    "mov", "matroska", "avi", "mpegts", "mpeg", "mpegvideo", "m4v",   "flv",
    "asf", "ogg",      "ivf", "h264",   "hevc", "obu",       "mjpeg", "mpjpeg",
    "mxf", "nut",      "rm",  "dv",     "h263", "vc1",       "wtv",   "yuv4mpegpipe",
};

bool IsContainer(const AVInputFormat& format) {
  for (const char* name : kContainers) {
    if (av_match_name(name, format.name) != 0) return true;
  }
  return false;
}

int RefuseToOpen(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) {
  return AVERROR(EACCES);
}

// Options of the decoders that FFmpeg opens for itself to look into the streams.
class ProbeOptions {
 public:
  ProbeOptions(unsigned streams, int64_t max_pixels) : options_(streams) {
    for (AVDictionary*& options : options_) {
      av_dict_set_int(&options, "max_pixels", max_pixels, 0);
      av_dict_set_int(&options, "threads", 1, 0);
    }
  }
  ~ProbeOptions() {
    for (AVDictionary*& options : options_) av_dict_free(&options);
  }
  ProbeOptions(const ProbeOptions&) = delete;
  ProbeOptions& operator=(const ProbeOptions&) = delete;
  AVDictionary** data() { return options_.empty() ? nullptr : options_.data(); }

 private:
  std::vector<AVDictionary*> options_;
};

// A server that states no length ends its answer by closing, which FFmpeg takes for an error of an
// answer of 2^64 - 1 bytes.
bool EndsWithoutLength() {
  return ffmpeg::LastMessage().find("should be 18446744073709551615") != std::string::npos;
}

}  // namespace

Demuxer::Demuxer(std::unique_ptr<ByteInput> input, std::string label, int64_t max_pixels)
    : Demuxer(std::move(input), std::move(label), max_pixels, "", 0) {}

Demuxer::Demuxer(std::unique_ptr<ByteInput> input, std::string label, int64_t max_pixels,
                 const std::string& format, double rate)
    : input_(std::move(input)), label_(std::move(label)) {
  ffmpeg::SilenceLog();
  ffmpeg::ForgetMessages();
  Check(input_->size() != 0, ErrorCode::kCorruptFile, "{}: the file is empty", label_);
  Open(format.empty() ? Probe() : av_find_input_format(format.c_str()), rate, max_pixels);
  Finish(max_pixels);
}

Demuxer::Demuxer(const StreamTarget& target, std::string label, int64_t max_pixels,
                 Patience* patience)
    : label_(std::move(label)), patience_(patience) {
  ffmpeg::SilenceLog();
  ffmpeg::ForgetMessages();
  avformat_network_init();
  if (target.device) ffmpeg::RegisterDevices();
  ffmpeg::InputFormat* format =
      target.format.empty() ? nullptr : av_find_input_format(target.format.c_str());
  Check(format != nullptr || target.format.empty(), ErrorCode::kUnavailable,
        "{}: this build has no inputs of the kind {} (FFmpeg's libavdevice)", label_,
        target.format);
  AVFormatContext* context = ffmpeg::NotNull(avformat_alloc_context());
  context->interrupt_callback = {
      [](void* self) { return static_cast<Patience*>(self)->over() ? 1 : 0; }, patience_};
  if (target.device) context->flags |= AVFMT_FLAG_NONBLOCK;
  AVDictionary* options = nullptr;
  for (const auto& [key, value] : target.options)
    av_dict_set(&options, key.c_str(), value.c_str(), 0);
  patience_->Begin(kOpenSeconds);
  const int opened = avformat_open_input(&context, target.address.c_str(), format, &options);
  av_dict_free(&options);
  Check(opened >= 0, ErrorCode::kFileUnreadable, "cannot open {}: {}", label_,
        patience_->silent() ? "nothing came in time; check address and network"
                            : ffmpeg::ErrorText(opened));
  context_.reset(context);
  Adopt(context, max_pixels);
  Finish(max_pixels);
}

// What is common to all once the stream is there.
void Demuxer::Finish(int64_t max_pixels) {
  ChooseStream();
  CheckStream(max_pixels);
  if (context_->start_time != AV_NOPTS_VALUE) {
    origin_ = static_cast<double>(context_->start_time) / AV_TIME_BASE;
  }
}

ffmpeg::InputFormat* Demuxer::Probe() const {
  ffmpeg::InputFormat* format = nullptr;
  const int score =
      av_probe_input_buffer2(input_->context(), &format, "", nullptr, 0, /*max_probe_size=*/0);
  Check(score >= 0 && format != nullptr, ErrorCode::kUnsupportedFormat,
        "{}: not a video that can be read: its content is of no kind that is known", label_);
  Check(IsContainer(*format), ErrorCode::kUnsupportedFormat,
        "{}: not a video that can be read: its content looks like {}", label_,
        format->long_name == nullptr ? format->name : format->long_name);
  return format;
}

void Demuxer::Open(ffmpeg::InputFormat* format, double rate, int64_t max_pixels) {
  AVFormatContext* context = ffmpeg::NotNull(avformat_alloc_context());
  context->pb = input_->context();
  context->io_open = RefuseToOpen;
  context->protocol_whitelist = av_strdup("none");  // for what opens files by itself
  context->probesize = kProbeBytes;
  context->max_analyze_duration = kAnalyseMicroseconds;
  // Frees the context when it fails.
  AVDictionary* options = nullptr;
  if (rate > 0) av_dict_set(&options, "framerate", fmt::format("{:.6f}", rate).c_str(), 0);
  const int opened = avformat_open_input(&context, "", format, &options);
  av_dict_free(&options);
  Check(opened >= 0, ErrorCode::kCorruptFile,
        "{}: a damaged or cut-off video ({}): {}; copy it again, or repair it with a tool for that",
        label_, format->long_name, ffmpeg::ErrorText(opened));
  context_.reset(context);
  Adopt(context, max_pixels);
}

void Demuxer::Adopt(AVFormatContext* context, int64_t max_pixels) {
  // Before frames are decoded to look into the streams: the size may stand in the header.
  for (unsigned i = 0; i < context->nb_streams; ++i) {
    CheckSize(*context->streams[i]->codecpar, max_pixels);
  }
  ProbeOptions options(context->nb_streams, max_pixels);
  avformat_find_stream_info(context, options.data());
  lengthless_end_ = EndsWithoutLength();
}

std::string Demuxer::ContainerList() {
  std::string list;
  for (const char* name : kContainers) {
    list += name;
    list += ',';
  }
  list.pop_back();
  return list;
}

void Demuxer::ChooseStream() {
  const int best =
      av_find_best_stream(context_.get(), AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, /*flags=*/0);
  int audio = 0;
  for (unsigned i = 0; i < context_->nb_streams; ++i) {
    if (context_->streams[i]->codecpar->codec_type == AVMEDIA_TYPE_AUDIO) ++audio;
  }
  const bool is_picture =
      best >= 0 && (context_->streams[best]->disposition & AV_DISPOSITION_ATTACHED_PIC) != 0;
  Check(best >= 0 && !is_picture, ErrorCode::kUnsupportedFormat,
        "{}: holds no video stream ({} streams, {} of sound{})", label_, context_->nb_streams,
        audio, is_picture ? ", a cover picture" : "");
  for (unsigned i = 0; i < context_->nb_streams; ++i) {
    if (static_cast<int>(i) != best) context_->streams[i]->discard = AVDISCARD_ALL;
  }
  stream_ = context_->streams[best];
}

void Demuxer::CheckStream(int64_t max_pixels) const {
  const AVCodecParameters& codec = *stream_->codecpar;
  CheckSize(codec, max_pixels);
  // Drawings may refer to other files.
  Check(codec.codec_id != AV_CODEC_ID_NONE && codec.codec_id != AV_CODEC_ID_SVG &&
            avcodec_find_decoder(codec.codec_id) != nullptr,
        ErrorCode::kUnsupportedFormat,
        "{}: its video is coded as {}, for which this FFmpeg has no decoder; convert it, for "
        "example to H.264",
        label_, avcodec_get_name(codec.codec_id));
  // A decoder that looked for the size and was refused the memory leaves none.
  Check(codec.width > 0 && codec.height > 0, ErrorCode::kCorruptFile,
        "{}: the size of its frames cannot be found out: it is damaged, or they have more than {} "
        "pixels",
        label_, max_pixels);
}

void Demuxer::CheckSize(const AVCodecParameters& codec, int64_t max_pixels) const {
  Check(codec.width <= 0 || codec.height <= max_pixels / codec.width, ErrorCode::kUnsupportedFormat,
        "{}: {}x{} pixels are more than the {} that a frame of a video may have", label_,
        codec.width, codec.height, max_pixels);
}

// Cameras answer at once that they have nothing yet.
int Demuxer::ReadPacket(AVPacket* packet) {
  constexpr auto kPause = std::chrono::milliseconds(2);
  if (patience_ != nullptr) patience_->Begin();
  for (;;) {
    const int status = av_read_frame(context_.get(), packet);
    if (status != AVERROR(EAGAIN)) return status;
    if (patience_ != nullptr && patience_->over()) return AVERROR_EXIT;
    std::this_thread::sleep_for(kPause);
  }
}

bool Demuxer::Read(AVPacket* packet) {
  for (;;) {
    ffmpeg::ForgetMessages();
    const int status = ReadPacket(packet);
    lengthless_end_ = lengthless_end_ || EndsWithoutLength();
    // Some containers take a read error for the end.
    const int error =
        status == AVERROR_EOF && context_->pb != nullptr ? context_->pb->error : status;
    if (status < 0) {
      const bool end = error == AVERROR_EOF || error >= 0 || lengthless_end_;
      if (!end) failure_ = ffmpeg::ErrorText(error);
      return false;
    }
    if (packet->stream_index == stream_->index) return true;
    av_packet_unref(packet);
  }
}

bool Demuxer::Seek(double seconds) {
  if (input_ == nullptr || !input_->seekable()) return false;
  const double ticks = (seconds + origin_) / tick();
  if (!(ticks > -9e18 && ticks < 9e18)) return false;
  return av_seek_frame(context_.get(), stream_->index, static_cast<int64_t>(ticks),
                       AVSEEK_FLAG_BACKWARD) >= 0;
}

double Demuxer::SecondsOf(int64_t timestamp) const {
  return static_cast<double>(timestamp) * tick() - origin_;
}

double Demuxer::nominal_rate() const {
  for (const AVRational& rate : {stream_->avg_frame_rate, stream_->r_frame_rate}) {
    if (rate.num <= 0 || rate.den <= 0) continue;
    const double value = av_q2d(rate);
    if (value > 0.001 && value < 1000) return value;
  }
  return 25;
}

}  // namespace lingbot
