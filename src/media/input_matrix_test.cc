// One table of small files of every kind that people feed: the right picture or the right message
// for each, through the same door as the program's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "media/input_matrix.h"
#include "media/test_images.h"
#include "media/test_more_images.h"
#include "media/test_videos.h"

namespace lingbot {

input_matrix::Stored input_matrix::StoredCard(int orientation) {
  const Samples card = testing_videos::Card(kWidth, kHeight);
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

namespace {

using namespace input_matrix;
using namespace testing_images;
using testing_videos::Card;

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
