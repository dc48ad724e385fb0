// What the parts of the input matrix share.
#ifndef LINGBOT_MEDIA_INPUT_MATRIX_H_
#define LINGBOT_MEDIA_INPUT_MATRIX_H_

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "media/open_source.h"
#include "media/test_images.h"

namespace lingbot::input_matrix {

namespace fs = std::filesystem;
using Samples = std::vector<uint8_t>;

inline constexpr int kWidth = 48, kHeight = 32;

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

inline void Save(const fs::path& path, const testing_images::FileBytes& bytes,
                 size_t count = SIZE_MAX) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(std::min(count, bytes.size())));
}

inline testing_images::FileBytes Load(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  testing_images::FileBytes bytes(text.size());
  std::copy_n(reinterpret_cast<const std::byte*>(text.data()), text.size(), bytes.data());
  return bytes;
}

inline void Truncate(const fs::path& path, double part) {
  fs::resize_file(path, static_cast<uintmax_t>(part * static_cast<double>(fs::file_size(path))));
}

inline void WriteText(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// The card as it is stored so that `orientation` turns it upright.
struct Stored {
  int width = kWidth, height = kHeight;
  Samples rgb;
};

Stored StoredCard(int orientation);

void AddRates(std::vector<Case>* cases);
void AddGoodVideos(std::vector<Case>* cases);
void AddBadVideos(std::vector<Case>* cases);

}  // namespace lingbot::input_matrix

#endif  // LINGBOT_MEDIA_INPUT_MATRIX_H_
