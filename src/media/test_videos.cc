#include "media/test_videos.h"

#include <stdexcept>

#include "media/ffmpeg.h"

namespace lingbot::testing_videos {
namespace {

using ffmpeg::Owned;

void Must(int status, const char* what) {
  if (status < 0) throw std::runtime_error(std::string(what) + ": " + ffmpeg::ErrorText(status));
}

struct CloseOutput {
  void operator()(AVFormatContext* context) const {
    if (context->pb != nullptr) avio_closep(&context->pb);
    avformat_free_context(context);
  }
};
using Output = std::unique_ptr<AVFormatContext, CloseOutput>;

void SetDisplayMatrix(const VideoSpec& spec, AVStream* stream) {
  if (spec.rotation == 0 && !spec.mirrored) return;
  int32_t matrix[9];
  av_display_rotation_set(matrix, spec.rotation);
  if (spec.mirrored) av_display_matrix_flip(matrix, /*hflip=*/1, /*vflip=*/0);
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
  AVPacketSideData* data = av_packet_side_data_new(&stream->codecpar->coded_side_data,
                                                   &stream->codecpar->nb_coded_side_data,
                                                   AV_PKT_DATA_DISPLAYMATRIX, sizeof(matrix), 0);
  uint8_t* bytes = ffmpeg::NotNull(data)->data;
#else
  uint8_t* bytes =
      ffmpeg::NotNull(av_stream_new_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, sizeof(matrix)));
#endif
  std::copy_n(reinterpret_cast<const uint8_t*>(matrix), sizeof(matrix), bytes);
}

class Writer {
 public:
  Writer(const std::filesystem::path& path, const VideoSpec& spec) : spec_(spec) {
    ffmpeg::SilenceLog();
    AVFormatContext* context = nullptr;
    const std::string url = "file:" + path.string();
    Must(avformat_alloc_output_context2(&context, nullptr,
                                        spec.container.empty() ? nullptr : spec.container.c_str(),
                                        url.c_str()),
         "no container");
    output_.reset(context);
    if (spec.picture) OpenPicture();
    if (spec.sound || !spec.picture) OpenSound();
    Must(avio_open(&output_->pb, url.c_str(), AVIO_FLAG_WRITE), "cannot write");
    AVDictionary* options = nullptr;
    if (spec.faststart) av_dict_set(&options, "movflags", "+faststart", 0);
    const int status = avformat_write_header(output_.get(), &options);
    av_dict_free(&options);
    Must(status, "header");
  }

  void Run() {
    for (int i = 0; spec_.picture && i < spec_.frames; ++i) EncodePicture(i);
    if (spec_.picture) Drain(picture_.get(), nullptr, picture_stream_);
    if (sound_ != nullptr) EncodeSilence();
    Must(av_write_trailer(output_.get()), "trailer");
  }

 private:
  bool even() const { return spec_.milliseconds.empty(); }

  AVStream* NewStream(AVCodecContext* codec) {
    if ((output_->oformat->flags & AVFMT_GLOBALHEADER) != 0) {
      codec->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    }
    codec->thread_count = 1;
    Must(avcodec_open2(codec, codec->codec, nullptr), "encoder");
    AVStream* stream = ffmpeg::NotNull(avformat_new_stream(output_.get(), nullptr));
    Must(avcodec_parameters_from_context(stream->codecpar, codec), "parameters");
    stream->time_base = codec->time_base;
    return stream;
  }

  void OpenPicture() {
    const AVCodec* codec = avcodec_find_encoder_by_name(spec_.codec.c_str());
    if (codec == nullptr) throw std::runtime_error("no encoder " + spec_.codec);
    picture_.reset(ffmpeg::NotNull(avcodec_alloc_context3(codec)));
    picture_->width = spec_.width;
    picture_->height = spec_.height;
    picture_->pix_fmt = av_get_pix_fmt(spec_.pixel_format.c_str());
    picture_->time_base = even() ? AVRational{1, spec_.rate} : AVRational{1, 1000};
    if (even()) picture_->framerate = {spec_.rate, 1};
    picture_->gop_size = spec_.group;
    picture_->max_b_frames = spec_.b_frames;
    picture_->sample_aspect_ratio = {spec_.aspect_num, spec_.aspect_den};
    picture_->color_range = spec_.full_range ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
    const int matrix = av_color_space_from_name(spec_.matrix.c_str());
    picture_->colorspace = matrix < 0 ? AVCOL_SPC_UNSPECIFIED : static_cast<AVColorSpace>(matrix);
    picture_->flags |= AV_CODEC_FLAG_QSCALE;
    picture_->global_quality = 2 * FF_QP2LAMBDA;
    picture_->strict_std_compliance = FF_COMPLIANCE_UNOFFICIAL;  // MJPEG of limited range
    if (spec_.codec_level >= 0) picture_->level = spec_.codec_level;
    for (const auto& [key, value] : spec_.codec_options) {
      Must(av_opt_set(picture_.get(), key.c_str(), value.c_str(), AV_OPT_SEARCH_CHILDREN),
           "option");
    }
    picture_stream_ = NewStream(picture_.get());
    picture_stream_->sample_aspect_ratio = picture_->sample_aspect_ratio;
    if (even()) picture_stream_->avg_frame_rate = {spec_.rate, 1};
    SetDisplayMatrix(spec_, picture_stream_);
  }

  void OpenSound() {
    const AVCodec* codec = ffmpeg::NotNull(avcodec_find_encoder(AV_CODEC_ID_MP2));
    sound_.reset(ffmpeg::NotNull(avcodec_alloc_context3(codec)));
    sound_->sample_rate = 44100;
    sound_->sample_fmt = AV_SAMPLE_FMT_S16;
    sound_->bit_rate = 64000;
    sound_->time_base = {1, 44100};
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(59, 24, 100)
    av_channel_layout_default(&sound_->ch_layout, 1);
#else
    sound_->channel_layout = AV_CH_LAYOUT_MONO;
    sound_->channels = 1;
#endif
    sound_stream_ = NewStream(sound_.get());
  }

  void EncodePicture(int index) {
    const Owned<AVFrame> frame(ffmpeg::NotNull(av_frame_alloc()));
    frame->width = spec_.width;
    frame->height = spec_.height;
    frame->format = picture_->pix_fmt;
    frame->color_range = picture_->color_range;
    frame->colorspace = picture_->colorspace;
    frame->pts = even() ? index : spec_.milliseconds[static_cast<size_t>(index)];
    frame->quality = picture_->global_quality;
    Must(av_frame_get_buffer(frame.get(), 0), "frame");
    Draw(index, frame.get());
    Drain(picture_.get(), frame.get(), picture_stream_);
  }

  void Draw(int index, AVFrame* frame) {
    const std::vector<uint8_t> rgb =
        spec_.draw ? spec_.draw(index) : Card(spec_.width, spec_.height);
    const Owned<SwsContext> scaler(ffmpeg::NotNull(sws_getContext(
        spec_.width, spec_.height, AV_PIX_FMT_RGB24, spec_.width, spec_.height, picture_->pix_fmt,
        SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP, nullptr, nullptr, nullptr)));
    constexpr int kOne = 1 << 16;
    const int matrix = spec_.matrix == "bt709" ? SWS_CS_ITU709 : SWS_CS_ITU601;
    sws_setColorspaceDetails(scaler.get(), sws_getCoefficients(SWS_CS_DEFAULT), 1,
                             sws_getCoefficients(matrix), spec_.full_range ? 1 : 0, 0, kOne, kOne);
    const uint8_t* planes[4] = {rgb.data(), nullptr, nullptr, nullptr};
    const int strides[4] = {3 * spec_.width, 0, 0, 0};
    Must(sws_scale(scaler.get(), planes, strides, 0, spec_.height, frame->data, frame->linesize),
         "conversion");
  }

  // A second of silence, or as much as there is picture.
  void EncodeSilence() {
    const int frames = 1 + 44100 / sound_->frame_size;
    for (int i = 0; i < frames; ++i) {
      const Owned<AVFrame> frame(ffmpeg::NotNull(av_frame_alloc()));
      frame->nb_samples = sound_->frame_size;
      frame->format = sound_->sample_fmt;
      frame->sample_rate = sound_->sample_rate;
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(59, 24, 100)
      av_channel_layout_default(&frame->ch_layout, 1);
#else
      frame->channel_layout = AV_CH_LAYOUT_MONO;
      frame->channels = 1;
#endif
      frame->pts = int64_t{i} * sound_->frame_size;
      Must(av_frame_get_buffer(frame.get(), 0), "sound");
      std::fill_n(frame->data[0], frame->linesize[0], uint8_t{0});
      Drain(sound_.get(), frame.get(), sound_stream_);
    }
    Drain(sound_.get(), nullptr, sound_stream_);
  }

  void Drain(AVCodecContext* codec, const AVFrame* frame, AVStream* stream) {
    Must(avcodec_send_frame(codec, frame), "encode");
    const Owned<AVPacket> packet(ffmpeg::NotNull(av_packet_alloc()));
    for (;;) {
      const int status = avcodec_receive_packet(codec, packet.get());
      if (status == AVERROR(EAGAIN) || status == AVERROR_EOF) return;
      Must(status, "encode");
      if (codec == picture_.get() && packet->duration == 0 && even()) packet->duration = 1;
      if (codec == picture_.get() && spec_.damage) Damage(packet.get());
      av_packet_rescale_ts(packet.get(), codec->time_base, stream->time_base);
      packet->stream_index = stream->index;
      Must(av_interleaved_write_frame(output_.get(), packet.get()), "write");
    }
  }

  void Damage(AVPacket* packet) {
    std::vector<uint8_t> coded(packet->data, packet->data + packet->size);
    spec_.damage(coded_++, &coded);
    Must(av_packet_make_writable(packet), "packet");
    if (coded.size() > static_cast<size_t>(packet->size)) throw std::runtime_error("longer");
    std::copy(coded.begin(), coded.end(), packet->data);
    av_shrink_packet(packet, static_cast<int>(coded.size()));
  }

  const VideoSpec& spec_;
  int coded_ = 0;
  Output output_;
  Owned<AVCodecContext> picture_, sound_;
  AVStream* picture_stream_ = nullptr;
  AVStream* sound_stream_ = nullptr;
};

}  // namespace

bool HasEncoder(const std::string& codec) {
  return avcodec_find_encoder_by_name(codec.c_str()) != nullptr;
}

void WriteVideo(const std::filesystem::path& path, const VideoSpec& spec) {
  Writer(path, spec).Run();
}

std::vector<uint8_t> Plain(int width, int height, int red, int green, int blue) {
  std::vector<uint8_t> rgb;
  for (int i = 0; i < width * height; ++i) {
    for (const int value : {red, green, blue}) rgb.push_back(static_cast<uint8_t>(value));
  }
  return rgb;
}

std::vector<uint8_t> Card(int width, int height) {
  static constexpr int kColours[4][3] = {
      {230, 20, 20}, {20, 220, 20}, {20, 20, 230}, {240, 240, 240}};
  std::vector<uint8_t> rgb;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int corner = (y >= height / 2 ? 2 : 0) + (x >= width / 2 ? 1 : 0);
      for (const int value : kColours[corner]) rgb.push_back(static_cast<uint8_t>(value));
    }
  }
  return rgb;
}

}  // namespace lingbot::testing_videos
