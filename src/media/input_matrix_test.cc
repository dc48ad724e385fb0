// One table of small files of every kind that people feed: the right picture or the right message
// for each, through the same door as the program's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "media/open_source.h"
#include "media/test_images.h"
#include "media/test_more_images.h"
#include "media/test_videos.h"

namespace lingbot {
namespace {

namespace fs = std::filesystem;
using namespace testing_images;
using testing_videos::Card;
using testing_videos::VideoSpec;
using testing_videos::WriteVideo;
using Samples = std::vector<uint8_t>;

constexpr int kWidth = 48, kHeight = 32;

struct Case {
  std::string name;  // of the test
  std::string file;
  std::function<void(const fs::path&)> write;
  // What must come out of it:
  int frames = 1;
  int tolerance = 0;         // levels
  Samples rgb = {};          // of the first frame, all pixels or one for all; empty = the card
  std::string message = {};  // instead: part of the one error
  Sampling sampling = {};
  std::string problem = {};  // part of FrameSource::problems
  ImageSize size = {kWidth, kHeight};
};

void Save(const fs::path& path, const FileBytes& bytes, size_t count = SIZE_MAX) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(std::min(count, bytes.size())));
}

FileBytes Load(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  FileBytes bytes(text.size());
  std::copy_n(reinterpret_cast<const std::byte*>(text.data()), text.size(), bytes.data());
  return bytes;
}

void Truncate(const fs::path& path, double part) {
  fs::resize_file(path, static_cast<uintmax_t>(part * static_cast<double>(fs::file_size(path))));
}

void WriteText(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// The card as it is stored so that `orientation` turns it upright.
struct Stored {
  int width = kWidth, height = kHeight;
  Samples rgb;
};

Stored StoredCard(int orientation) {
  const Samples card = Card(kWidth, kHeight);
  Stored stored;
  if (orientation >= 5) std::swap(stored.width, stored.height);
  const int right = kWidth - 1, bottom = kHeight - 1;
  for (int r = 0; r < stored.height; ++r) {
    for (int c = 0; c < stored.width; ++c) {
      // Where the 0th row and the 0th column are: EXIF's table.
      const int table[9][2] = {
          {},     {c, r},         {right - c, r},          {right - c, bottom - r}, {c, bottom - r},
          {r, c}, {right - r, c}, {right - r, bottom - c}, {r, bottom - c}};
      const int* xy = table[orientation];
      for (int i = 0; i < 3; ++i) stored.rgb.push_back(card[3 * (xy[1] * kWidth + xy[0]) + i]);
    }
  }
  return stored;
}

Samples Repeat(const Samples& pixel) {
  Samples samples;
  for (int i = 0; i < kWidth * kHeight; ++i)
    samples.insert(samples.end(), pixel.begin(), pixel.end());
  return samples;
}

Samples Fill(size_t count, uint8_t value) { return Samples(count, value); }

// ------------------------------------------------------------------------------------ images

PngSpec PngOf(int colour_type, int bits, const Samples& samples) {
  PngSpec spec;
  spec.width = kWidth;
  spec.height = kHeight;
  spec.colour_type = colour_type;
  spec.bit_depth = bits;
  spec.samples = samples;
  return spec;
}

JpegSpec JpegOf(JpegKind kind, const Samples& samples) {
  JpegSpec spec;
  spec.width = kWidth;
  spec.height = kHeight;
  spec.kind = kind;
  spec.samples = samples;
  return spec;
}

WebpSpec WebpOf(const Samples& samples, int channels = 3) {
  WebpSpec spec;
  spec.width = kWidth;
  spec.height = kHeight;
  spec.channels = channels;
  spec.samples = samples;
  return spec;
}

TiffSpec TiffOf(int photometric, int channels, int bits, const Samples& samples) {
  TiffSpec spec;
  spec.width = kWidth;
  spec.height = kHeight;
  spec.photometric = photometric;
  spec.channels = channels;
  spec.bits = bits;
  spec.samples = samples;
  return spec;
}

BmpSpec BmpOf(int bits, const Samples& rows) {
  BmpSpec spec;
  spec.width = kWidth;
  spec.height = kHeight;
  spec.bits = bits;
  spec.rows = rows;
  return spec;
}

void AddOrientations(std::vector<Case>* cases) {
  for (int i = 1; i <= 8; ++i) {
    const std::string n = std::to_string(i);
    cases->push_back({"JpegExif" + n, "a.jpg",
                      [i](const fs::path& path) {
                        const Stored card = StoredCard(i);
                        JpegSpec spec = JpegOf(JpegKind::kYcc444, card.rgb);
                        spec.width = card.width;
                        spec.height = card.height;
                        spec.exif = MakeExif(i);
                        Save(path, MakeJpeg(spec));
                      },
                      1, 3});
    cases->push_back({"PngExif" + n, "a.png", [i](const fs::path& path) {
                        const Stored card = StoredCard(i);
                        PngSpec spec = PngOf(2, 8, card.rgb);
                        spec.width = card.width;
                        spec.height = card.height;
                        spec.exif = MakeExif(i, /*big_endian=*/true);
                        Save(path, MakePng(spec));
                      }});
    cases->push_back({"WebpExif" + n, "a.webp", [i](const fs::path& path) {
                        const Stored card = StoredCard(i);
                        WebpSpec spec = WebpOf(card.rgb);
                        spec.width = card.width;
                        spec.height = card.height;
                        spec.exif = MakeExif(i);
                        Save(path, MakeWebp(spec));
                      }});
    cases->push_back({"TiffOrientation" + n, "a.tif", [i](const fs::path& path) {
                        const Stored card = StoredCard(i);
                        TiffSpec spec = TiffOf(2, 3, 8, card.rgb);
                        spec.width = card.width;
                        spec.height = card.height;
                        spec.orientation = i;
                        WriteTiff(path, spec);
                      }});
  }
}

void AddPngAndJpegModes(std::vector<Case>* cases) {
  const auto png = [cases](const std::string& name, const PngSpec& spec, const Samples& pixel) {
    cases->push_back(
        {name, "a.png", [spec](const fs::path& path) { Save(path, MakePng(spec)); }, 1, 0, pixel});
  };
  png("PngGrey", PngOf(0, 8, Repeat({77})), {77, 77, 77});
  png("PngBlackAndWhite", PngOf(0, 1, Fill(kWidth / 8 * kHeight, 0xFF)), {255, 255, 255});
  png("PngGrey16", PngOf(0, 16, Repeat({0x80, 0x00})), {128, 128, 128});
  png("PngRgb16", PngOf(2, 16, Repeat({0x12, 0x34, 0x56, 0x78, 0xFF, 0xFF})), {18, 86, 255});
  png("PngGreyAlpha", PngOf(4, 8, Repeat({10, 0})), {255, 255, 255});
  png("PngRgba", PngOf(6, 8, Repeat({200, 0, 0, 128})), {227, 127, 127});
  PngSpec palette = PngOf(3, 8, Repeat({1}));
  palette.palette = {9, 9, 9, 30, 60, 90};
  png("PngPalette", palette, {30, 60, 90});
  palette.transparent = {255, 0};
  png("PngPaletteTransparent", palette, {255, 255, 255});
  const auto jpeg = [cases](const std::string& name, const JpegSpec& spec, const Samples& pixel) {
    cases->push_back(
        {name, "a.jpg", [spec](const fs::path& path) { Save(path, MakeJpeg(spec)); }, 1, 3, pixel});
  };
  jpeg("JpegGrey", JpegOf(JpegKind::kGrey, Repeat({90})), {90, 90, 90});
  jpeg("JpegCmyk", JpegOf(JpegKind::kCmyk, Repeat({255, 128, 0, 255})), {255, 128, 0});
  jpeg("JpegYcck", JpegOf(JpegKind::kYcck, Repeat({255, 255, 255, 128})), {128, 128, 128});
  jpeg("Jpeg420", JpegOf(JpegKind::kYcc420, Repeat({30, 160, 200})), {30, 160, 200});
  JpegSpec progressive = JpegOf(JpegKind::kYcc444, Card(kWidth, kHeight));
  progressive.progressive = true;
  jpeg("JpegProgressive", progressive, {});
}

void AddWebpAndTiffModes(std::vector<Case>* cases) {
  const Samples card = Card(kWidth, kHeight);
  cases->push_back({"WebpLossy",
                    "a.webp",
                    [](const fs::path& path) {
                      WebpSpec spec = WebpOf(Repeat({30, 160, 200}));
                      spec.lossy = true;
                      Save(path, MakeWebp(spec));
                    },
                    1,
                    4,
                    {30, 160, 200}});
  cases->push_back({"WebpAlpha",
                    "a.webp",
                    [](const fs::path& path) {
                      Save(path, MakeWebp(WebpOf(Repeat({200, 0, 0, 128}), 4)));
                    },
                    1,
                    0,
                    {227, 127, 127}});
  const auto tiff = [cases](const std::string& name, const TiffSpec& spec, const Samples& pixel) {
    cases->push_back(
        {name, "a.tiff", [spec](const fs::path& path) { WriteTiff(path, spec); }, 1, 1, pixel});
  };
  tiff("TiffGrey", TiffOf(1, 1, 8, Repeat({77})), {77, 77, 77});
  tiff("TiffBlackAndWhite", TiffOf(1, 1, 1, Fill(kWidth / 8 * kHeight, 0xFF)), {255, 255, 255});
  tiff("TiffGrey16", TiffOf(1, 1, 16, Repeat({0x00, 0x80})), {128, 128, 128});
  tiff("TiffRgb16", TiffOf(2, 3, 16, Repeat({0x34, 0x12, 0x78, 0x56, 0xFF, 0xFF})), {18, 86, 255});
  tiff("TiffRgba", TiffOf(2, 4, 8, Repeat({200, 0, 0, 128})), {227, 127, 127});
  tiff("TiffCmyk", TiffOf(5, 4, 8, Repeat({0, 127, 255, 0})), {255, 128, 0});
  TiffSpec palette = TiffOf(3, 1, 8, Repeat({1}));
  palette.palette.assign(768, 0);
  palette.palette[1] = 30 * 257;
  palette.palette[257] = 60 * 257;
  palette.palette[513] = 90 * 257;
  tiff("TiffPalette", palette, {30, 60, 90});
  TiffSpec deflate = TiffOf(2, 3, 8, card);
  deflate.compression = 8;
  tiff("TiffDeflate", deflate, {});
  TiffSpec plain = TiffOf(2, 3, 8, card);
  plain.compression = 1;
  tiff("TiffUncompressed", plain, {});
  TiffSpec tiled = TiffOf(2, 3, 8, card);
  tiled.tiled = true;
  tiff("TiffTiled", tiled, {});
  TiffSpec big = TiffOf(2, 3, 8, card);
  big.big = true;
  tiff("TiffBig", big, {});
  TiffSpec floats = TiffOf(1, 1, 32, Fill(4 * kWidth * kHeight, 0));
  floats.sample_format = 3;
  cases->push_back({"TiffFloat",
                    "a.tif",
                    [floats](const fs::path& path) { WriteTiff(path, floats); },
                    0,
                    0,
                    {},
                    "a TIFF of a kind that is not read"});
}

void AddBmpModes(std::vector<Case>* cases) {
  const auto bmp = [cases](const std::string& name, const BmpSpec& spec, const Samples& pixel) {
    cases->push_back(
        {name, "a.bmp", [spec](const fs::path& path) { Save(path, MakeBmp(spec)); }, 1, 0, pixel});
  };
  Samples bgr = Card(kWidth, kHeight);
  for (size_t i = 0; i < bgr.size(); i += 3) std::swap(bgr[i], bgr[i + 2]);
  bmp("Bmp24", BmpOf(24, bgr), {});
  BmpSpec top_down = BmpOf(24, bgr);
  top_down.top_down = true;
  bmp("BmpTopDown", top_down, {});
  bmp("Bmp32", BmpOf(32, Repeat({90, 60, 30, 0})), {30, 60, 90});
  BmpSpec alpha = BmpOf(32, Repeat({0, 0, 200, 128}));
  alpha.compression = 3;
  alpha.masks = {0xFF0000, 0xFF00, 0xFF, 0xFF000000};
  bmp("BmpAlpha", alpha, {227, 127, 127});
  bmp("Bmp555", BmpOf(16, Repeat({0x1F, 0x7C})), {255, 0, 255});
  BmpSpec masks = BmpOf(16, Repeat({0xE0, 0x07}));
  masks.compression = 3;
  masks.masks = {0xF800, 0x07E0, 0x001F};
  bmp("Bmp565", masks, {0, 255, 0});
  const Samples palette = {9, 9, 9, 30, 60, 90};
  BmpSpec bytes = BmpOf(8, Repeat({1}));
  bytes.palette = palette;
  bmp("Bmp8", bytes, {30, 60, 90});
  BmpSpec nibbles = BmpOf(4, Fill(kWidth / 2 * kHeight, 0x11));
  nibbles.palette = palette;
  bmp("Bmp4", nibbles, {30, 60, 90});
  BmpSpec bits = BmpOf(1, Fill(kWidth / 8 * kHeight, 0xFF));
  bits.palette = palette;
  bmp("Bmp1", bits, {30, 60, 90});
  BmpSpec packed = BmpOf(8, Repeat({1}));
  packed.palette = palette;
  packed.compression = 1;
  cases->push_back({"BmpRunLengths",
                    "a.bmp",
                    [packed](const fs::path& path) { Save(path, MakeBmp(packed)); },
                    0,
                    0,
                    {},
                    "a BMP of 8 bits with compression 1 is not read"});
}

void AddBadImages(std::vector<Case>* cases) {
  const auto bad = [cases](const std::string& name, const std::string& file,
                           std::function<void(const fs::path&)> write, const std::string& message) {
    cases->push_back({name, file, std::move(write), 0, 0, {}, message});
  };
  const auto text = [](const std::string& content) {
    return [content](const fs::path& path) { WriteText(path, content); };
  };
  const Samples card = Card(kWidth, kHeight);
  bad("Empty", "a.png", text(""), "the file is empty");
  bad("Text", "a.jpg", text("no image at all"), "its content is text");
  bad("Gif", "a.gif", text("GIF89a\1"), "a GIF image");
  bad("Heif", "a.heic",
      text(std::string("\0\0\0\x18"
                       "ftypheic\0\0\0\0",
                       16)),
      "a HEIF image");
  bad("WebPage", "a.jpg", text("<html><body>404"), "a web page");
  bad("LfsPointer", "a.jpg", text("version https://git-lfs.github.com/spec/v1\n"), "Git LFS");
  bad("Stump", "a.png", text("\x89PN"), "within its signature");
  bad(
      "NoSuchFile", "a.png", [](const fs::path&) {}, "does not exist");
  bad(
      "HalfPng", "a.png",
      [card](const fs::path& path) {
        Save(path, MakePng(PngOf(2, 8, card)));
        Truncate(path, 0.5);
      },
      "truncated");
  bad(
      "HalfJpeg", "a.jpg",
      [card](const fs::path& path) {
        Save(path, MakeJpeg(JpegOf(JpegKind::kYcc444, card)));
        Truncate(path, 0.5);
      },
      "truncated");
  bad(
      "HalfWebp", "a.webp",
      [card](const fs::path& path) {
        Save(path, MakeWebp(WebpOf(card)));
        Truncate(path, 0.5);
      },
      "truncated");
  bad(
      "HalfTiff", "a.tif",
      [card](const fs::path& path) {
        WriteTiff(path, TiffOf(2, 3, 8, card));
        Truncate(path, 0.5);
      },
      "a.tif: ");
  bad(
      "HalfBmp", "a.bmp",
      [card](const fs::path& path) {
        Save(path, MakeBmp(BmpOf(24, card)));
        Truncate(path, 0.5);
      },
      "truncated");
  bad(
      "AnimatedWebp", "a.webp",
      [card](const fs::path& path) {
        WebpSpec spec = WebpOf(card);
        spec.animated = true;
        Save(path, MakeWebp(spec));
      },
      "a.webp: ");
  bad(
      "ImpossiblySized", "a.png",
      [](const fs::path& path) {
        FileBytes file = MakePng(PngOf(0, 1, Fill(kWidth / 8 * kHeight, 0)));
        for (const size_t at : {17, 21}) file[at] = std::byte{0x7F};
        RepairChecksums(&file);
        Save(path, file);
      },
      "more than the 300 million");
  bad(
      "HugeBmp", "a.bmp",
      [card](const fs::path& path) {
        FileBytes file = MakeBmp(BmpOf(24, card));
        for (const size_t at : {20, 24}) file[at] = std::byte{1};
        Save(path, file);
      },
      "more than the 300 million");
  bad(
      "TimesForAnImage", "a.png",
      [card](const fs::path& path) { Save(path, MakePng(PngOf(2, 8, card))); },
      "--fps, --start and --end are for videos");
  cases->back().sampling.start = 1;
}

void AddOddImages(std::vector<Case>* cases) {
  const Samples card = Card(kWidth, kHeight);
  cases->push_back(
      {"JpegNamedPng", "a.png",
       [card](const fs::path& path) { Save(path, MakeJpeg(JpegOf(JpegKind::kYcc444, card))); }, 1,
       3});
  cases->push_back({"WebpNamedJpg", "a.jpg",
                    [card](const fs::path& path) { Save(path, MakeWebp(WebpOf(card))); }});
  cases->push_back({"PngNamedMp4", "a.mp4",
                    [card](const fs::path& path) { Save(path, MakePng(PngOf(2, 8, card))); }});
  Case tiny{"Tiny", "a.png", [](const fs::path& path) { Save(path, MakeRgbPng(1, 1, {1, 2, 3})); },
            1,      0,       {1, 2, 3}};
  tiny.size = {1, 1};
  cases->push_back(tiny);
  Case huge{"Huge",
            "a.png",
            [](const fs::path& path) {
              PngSpec spec = PngOf(0, 1, Fill(1500 * 9000, 0));
              spec.width = 12000;
              spec.height = 9000;
              Save(path, MakePng(spec));
            },
            1,
            0,
            {0, 0, 0}};
  huge.size = {12000, 9000};
  cases->push_back(huge);
}

// ------------------------------------------------------------------------------------ videos

VideoSpec Clip(int frames = 4) {
  VideoSpec spec;
  spec.width = kWidth;
  spec.height = kHeight;
  spec.frames = frames;
  return spec;
}

void AddRates(std::vector<Case>* cases) {
  // Two seconds of each; asked for ten frames a second.
  for (const int rate : {8, 15, 24, 25, 30, 60}) {
    VideoSpec spec = Clip(2 * rate);
    spec.rate = rate;
    Case c{"Rate" + std::to_string(rate), "a.mp4",
           [spec](const fs::path& path) { WriteVideo(path, spec); }, std::min(20, 2 * rate), 12};
    c.sampling.frames_per_second = 10;
    cases->push_back(c);
  }
  VideoSpec spec = Clip(20);
  for (int i = 0; i < 20; ++i) spec.milliseconds.push_back(i < 10 ? 10 * i : 1000 + 100 * i);
  Case variable{"VariableRate", "a.mkv", [spec](const fs::path& path) { WriteVideo(path, spec); },
                11, 12};  // 0 to 0.09 s are one slot of ten a second
  variable.sampling.frames_per_second = 10;
  cases->push_back(variable);
  Case part{"Part", "a.mp4", [](const fs::path& path) { WriteVideo(path, Clip(30)); }, 10, 12};
  part.sampling.start = 1;
  part.sampling.end = 2;
  cases->push_back(part);
}

void AddGoodVideos(std::vector<Case>* cases) {
  for (const int degrees : {0, 90, 180, 270}) {
    cases->push_back({"Rotation" + std::to_string(degrees), "a.mp4",
                      [degrees](const fs::path& path) {
                        static constexpr int kOrientations[] = {1, 6, 3, 8};
                        const Stored card = StoredCard(kOrientations[degrees / 90]);
                        VideoSpec spec = Clip();
                        spec.rotation = degrees;
                        spec.width = card.width;
                        spec.height = card.height;
                        spec.draw = [card](int) { return card.rgb; };
                        WriteVideo(path, spec);
                      },
                      4, 12});
  }
  for (const char* file : {"a.mp4", "a.mov", "a.mkv", "a.avi", "a.ts", "a.mpg", "a.flv", "a.nut"}) {
    VideoSpec spec = Clip();
    const std::string name = file;
    if (name == "a.flv") spec.codec = "flv";
    if (name == "a.mpg") spec.codec = "mpeg2video", spec.rate = 25;
    cases->push_back({"Container_" + name.substr(2), name,
                      [spec](const fs::path& path) { WriteVideo(path, spec); }, 4, 14});
  }
  VideoSpec sound = Clip();
  sound.sound = true;
  cases->push_back(
      {"WithSound", "a.mkv", [sound](const fs::path& path) { WriteVideo(path, sound); }, 4, 12});
  cases->push_back(
      {"SingleFrame", "a.mp4", [](const fs::path& path) { WriteVideo(path, Clip(1)); }, 1, 12});
  cases->push_back({"VideoNamedJpg", "a.jpg",
                    [](const fs::path& path) {
                      VideoSpec spec = Clip();
                      spec.container = "mp4";
                      WriteVideo(path, spec);
                    },
                    4, 12});
  cases->push_back({"NoTimeStamps", "a.m4v",
                    [](const fs::path& path) {
                      VideoSpec spec = Clip();
                      spec.container = "m4v";
                      WriteVideo(path, spec);
                    },
                    4, 12});
  cases->push_back({"SpacesAndUmlauts", "\xC3\xA4 b: %d [1].mp4",
                    [](const fs::path& path) { WriteVideo(path, Clip()); }, 4, 12});
  VideoSpec odd = Clip();
  odd.codec = "ffv1";
  odd.width = 47;
  odd.height = 31;
  odd.draw = [](int) { return testing_videos::Plain(47, 31, 30, 160, 200); };
  Case odd_case{"OddSize", "a.mkv", [odd](const fs::path& path) { WriteVideo(path, odd); },
                4,         3,       {30, 160, 200}};
  odd_case.size = {47, 31};
  cases->push_back(odd_case);
}

// Motion JPEG; every fourth frame, as often as asked for, is overwritten.
void WriteDamaged(const fs::path& path, int damaged) {
  VideoSpec spec = Clip(10);
  spec.codec = "mjpeg";
  spec.pixel_format = "yuvj420p";
  spec.full_range = true;
  WriteVideo(path, spec);
  FileBytes file = Load(path);
  const FileBytes start = {std::byte{0xFF}, std::byte{0xD8}, std::byte{0xFF}};
  const FileBytes chunk = {std::byte{'0'}, std::byte{'0'}, std::byte{'d'}, std::byte{'c'}};
  int frame = 0;
  for (auto at = std::search(file.begin(), file.end(), start.begin(), start.end());
       at != file.end(); at = std::search(at + 1, file.end(), start.begin(), start.end())) {
    if (++frame % 4 == 0 && damaged-- > 0) {
      std::fill(at, std::search(at, file.end(), chunk.begin(), chunk.end()), std::byte{0x55});
    }
  }
  Save(path, file);
}

void AddBadVideos(std::vector<Case>* cases) {
  const auto bad = [cases](const std::string& name, const std::string& file,
                           std::function<void(const fs::path&)> write, const std::string& message) {
    cases->push_back({name, file, std::move(write), 0, 0, {}, message});
  };
  Case one{"OneDamagedFrame", "a.avi", [](const fs::path& path) { WriteDamaged(path, 1); }, 9, 12};
  one.problem = "1 damaged frame was left out, at 0.30 s";
  cases->push_back(one);
  Case two{"TwoDamagedFrames", "a.avi", [](const fs::path& path) { WriteDamaged(path, 2); }, 8, 12};
  two.problem = "2 damaged frames were left out, at 0.30 s, 0.70 s";
  cases->push_back(two);
  bad(
      "CutBeforeIndex", "a.mp4",
      [](const fs::path& path) {
        WriteVideo(path, Clip(20));
        Truncate(path, 0.7);
      },
      "a damaged or cut-off video");
  bad(
      "EmptyVideo", "a.mp4", [](const fs::path& path) { WriteText(path, ""); },
      "the file is empty");
  bad(
      "TextNamedMp4", "a.mp4", [](const fs::path& path) { WriteText(path, "hello\n"); },
      "its content is text");
  bad(
      "PlayList", "a.mp4",
      [](const fs::path& path) { WriteText(path, "#EXTM3U\n#EXTINF:1,\n/etc/passwd\n"); },
      "its content is text");
  bad(
      "PlayListThatIsNoText", "a.mp4",
      [](const fs::path& path) {
        WriteText(path, "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\na.ts\n\1\2");
      },
      "not a video that can be read");
  bad(
      "Concatenation", "a.mkv",
      [](const fs::path& path) { WriteText(path, "ffconcat version 1.0\nfile /etc/passwd\n\1\2"); },
      "not a video that can be read");
  bad(
      "Noise", "a.avi",
      [](const fs::path& path) {
        std::string noise;
        uint32_t state = 1;
        for (int i = 0; i < 4000; ++i)
          noise += static_cast<char>((state = state * 1664525 + 7) >> 24);
        WriteText(path, noise);
      },
      "not a video that can be read");
  bad(
      "SoundAlone", "a.mkv",
      [](const fs::path& path) {
        VideoSpec spec;
        spec.picture = false;
        WriteVideo(path, spec);
      },
      "holds no video stream (1 streams, 1 of sound)");
  Case beyond{"StartsBehindTheEnd",
              "a.mp4",
              [](const fs::path& path) { WriteVideo(path, Clip(10)); },
              0,
              0,
              {},
              "no frame lies between 5 s"};
  beyond.sampling.start = 5;
  cases->push_back(beyond);
  Case cut{"CutInTheMiddle", "a.mkv",
           [](const fs::path& path) {
             VideoSpec spec = Clip(20);
             spec.codec = "mjpeg";
             spec.pixel_format = "yuvj420p";
             spec.full_range = true;
             WriteVideo(path, spec);
             Truncate(path, 0.5);
           },
           -1, 12};
  cases->push_back(cut);
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  AddOrientations(&cases);
  AddPngAndJpegModes(&cases);
  AddWebpAndTiffModes(&cases);
  AddBmpModes(&cases);
  AddBadImages(&cases);
  AddOddImages(&cases);
  AddRates(&cases);
  AddGoodVideos(&cases);
  AddBadVideos(&cases);
  return cases;
}

class InputMatrix : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "lingbot-matrix-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

void ExpectPixels(const Image& image, const Case& c) {
  ASSERT_EQ((ImageSize{image.width, image.height}), c.size);
  ASSERT_EQ(image.rgb.size(), size_t{3} * image.width * image.height);
  const Samples card = c.rgb.empty() ? Card(kWidth, kHeight) : Samples{};
  int64_t off = 0, seen = 0;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      // Chroma of half the resolution runs over the card's edges.
      const bool edge =
          card.empty() ? false : std::abs(x - kWidth / 2) < 5 || std::abs(y - kHeight / 2) < 5;
      if (edge) continue;
      for (int i = 0; i < 3; ++i) {
        const size_t at = 3 * (static_cast<size_t>(y) * image.width + x) + i;
        const int expected = card.empty() ? c.rgb[i] : card[at];
        if (std::abs(image.rgb[at] - expected) > c.tolerance) ++off;
        ++seen;
      }
    }
  }
  EXPECT_EQ(off, 0) << "of " << seen << " samples; the first pixel is " << int{image.rgb[0]} << " "
                    << int{image.rgb[1]} << " " << int{image.rgb[2]};
}

TEST_P(InputMatrix, IsReadOrRefusedWithAReason) {
  const Case& c = GetParam();
  const fs::path path = folder_ / c.file;
  c.write(path);
  std::vector<std::string> log;
  SourceOptions options;
  options.sampling = c.sampling;
  options.log = [&](const std::string& line) { log.push_back(line); };
  int frames = 0;
  const auto read = [&] {
    const std::unique_ptr<FrameSource> source = OpenSource(path.string(), options);
    source->Verify(ThreadTeam(1));
    Image image;
    double last = -1;
    while (source->Next(&image)) {
      if (frames++ == 0) ExpectPixels(image, c);
      EXPECT_GT(image.timestamp, last);
      last = image.timestamp;
    }
    EXPECT_EQ(source->frame_count(), frames);
    if (c.problem.empty() && c.frames >= 0) {
      EXPECT_EQ(source->problems(), "");
    }
    EXPECT_THAT(source->problems(), testing::HasSubstr(c.problem));
  };
  if (c.message.empty()) {
    read();
    if (c.frames >= 0) {
      EXPECT_EQ(frames, c.frames);
    } else {
      EXPECT_GT(frames, 5);
    }
  } else {
    const Thrown thrown = Catch(read);
    EXPECT_THAT(thrown.message, testing::HasSubstr(c.message));
    EXPECT_THAT(thrown.message, testing::HasSubstr(c.file));
    EXPECT_NE(thrown.code, ErrorCode::kInternal);
    EXPECT_EQ(thrown.message.find('\n'), std::string::npos);
  }
  EXPECT_LE(std::distance(fs::directory_iterator(folder_), {}), 1)
      << "a file was written beside it";
}

INSTANTIATE_TEST_SUITE_P(Files, InputMatrix, testing::ValuesIn(AllCases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace lingbot
