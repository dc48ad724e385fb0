// The videos of the input matrix.

#include "media/input_matrix.h"
#include "media/test_more_images.h"
#include "media/test_videos.h"

namespace lingbot::input_matrix {

using namespace testing_images;
using testing_videos::Card;
using testing_videos::VideoSpec;
using testing_videos::WriteVideo;

static VideoSpec Clip(int frames = 4) {
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
static void WriteDamaged(const fs::path& path, int damaged) {
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

}  // namespace lingbot::input_matrix
