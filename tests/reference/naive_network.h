#ifndef LINGBOT_TESTS_REFERENCE_NAIVE_NETWORK_H_
#define LINGBOT_TESTS_REFERENCE_NAIVE_NETWORK_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weights/tensor_source.h"

namespace lingbot::reference {

using Vector = std::vector<double>;

// Row-major matrix.
struct Matrix {
  int64_t rows = 0, columns = 0;
  Vector values;
  Matrix() = default;
  Matrix(int64_t r, int64_t c) : rows(r), columns(c), values(r * c) {}
  double* operator[](int64_t row) { return values.data() + row * columns; }
  const double* operator[](int64_t row) const { return values.data() + row * columns; }
};

// Channels x height x width.
struct Image {
  int64_t channels = 0, height = 0, width = 0;
  Vector values;
  Image() = default;
  Image(int64_t c, int64_t h, int64_t w) : channels(c), height(h), width(w), values(c * h * w) {}
  double& at(int64_t c, int64_t y, int64_t x) { return values[(c * height + y) * width + x]; }
  double at(int64_t c, int64_t y, int64_t x) const { return values[(c * height + y) * width + x]; }
};

struct NaiveSettings {
  int heads = 1;  // of the encoder, frame and global blocks
  int camera_heads = 1;
  int camera_passes = 4;
  int vit_depth = 1, depth = 4, camera_depth = 1;
  std::array<int, 4> taps = {0, 1, 2, 3};
  int scale_frames = 3, sliding_window = 2, keyframe_interval = 1;
};

struct NaiveResult {
  std::array<double, 9> pose;
  Vector depth, confidence;
};

// The network from its description, in double, with nothing shared or optimised: keys and values of
// every stored frame are kept for ever, and what a frame may see is written out as a list of
// tokens.
class NaiveNetwork {
 public:
  NaiveNetwork(const TensorSource& source, const NaiveSettings& settings);

  // All frames of a stream (at least scale_frames), each [3, height, width] in [0, 1].
  std::vector<NaiveResult> Run(const std::vector<std::vector<float>>& frames, int height,
                               int width);

 private:
  struct Token {
    Vector k, v;  // all heads
  };
  struct Qkv {
    Matrix q, k, v;
  };

  const Vector& Weight(const std::string& name) const { return weights_.at(name); }
  Matrix Linear(const Matrix& x, const std::string& name) const;
  Matrix Norm(const Matrix& x, const std::string& name, double eps) const;
  Qkv Project(const Matrix& x, const std::string& prefix, double eps) const;
  void NormHeads(Matrix& x, const std::string& name) const;
  void Finish(Matrix& x, const Matrix& attended, const std::string& prefix, double eps) const;

  Matrix Patches(const std::vector<float>& frame) const;
  Matrix Encode(const std::vector<float>& frame) const;
  void FrameBlock(Matrix& x, int block) const;
  void GlobalStep(std::vector<Matrix>& frames, int block, int64_t time, bool store);
  std::vector<std::array<double, 9>> Poses(const Matrix& tokens, bool store);
  NaiveResult Depth(const std::array<Matrix, 4>& taps) const;
  std::vector<NaiveResult> Step(const std::vector<std::vector<float>>& frames, int64_t first,
                                bool store);

  Image Conv(const Image& x, const std::string& name, int64_t out, int size, int stride,
             bool bias) const;
  Image Transposed(const Image& x, const std::string& name, int size) const;
  Image Unit(const Image& x, const std::string& name) const;
  Image Reassemble(const Matrix& tap, int level) const;

  NaiveSettings settings_;
  std::map<std::string, Vector> weights_;
  int64_t c_ = 0, height_ = 0, width_ = 0, rows_ = 0, columns_ = 0;
  int64_t stored_ = 0;
  std::vector<std::vector<std::vector<Token>>> past_;  // [block][stored frame][token]
  std::vector<std::vector<Token>> camera_past_;  // [pass * camera_depth + block][stored frame]
};

}  // namespace lingbot::reference

#endif  // LINGBOT_TESTS_REFERENCE_NAIVE_NETWORK_H_
