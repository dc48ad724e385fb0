#include "naive_network.h"

#include <algorithm>
#include <cmath>

namespace lingbot::reference {
namespace {

constexpr int64_t kPatch = 14;
constexpr int64_t kSpecials = 6;

double Gelu(double x) { return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0))); }

void Normalise(double* x, int64_t n, double eps) {
  double mean = 0.0, variance = 0.0;
  for (int64_t i = 0; i < n; ++i) mean += x[i] / n;
  for (int64_t i = 0; i < n; ++i) variance += (x[i] - mean) * (x[i] - mean) / n;
  for (int64_t i = 0; i < n; ++i) x[i] = (x[i] - mean) / std::sqrt(variance + eps);
}

// (a, b) at angle t becomes (a cos t - b sin t, b cos t + a sin t).
void Turn(double& a, double& b, double t) {
  const double turned = a * std::cos(t) - b * std::sin(t);
  b = b * std::cos(t) + a * std::sin(t);
  a = turned;
}

// Softmax attention of `queries` over the tokens given by their keys and values.
Matrix Attend(const Matrix& q, const std::vector<const Vector*>& keys,
              const std::vector<const Vector*>& values, int heads) {
  const int64_t d = q.columns / heads;
  Matrix out(q.rows, q.columns);
  Vector score(keys.size());
  for (int64_t row = 0; row < q.rows; ++row) {
    for (int64_t begin = 0; begin < q.columns; begin += d) {
      double largest = -INFINITY, sum = 0.0;
      for (size_t t = 0; t < keys.size(); ++t) {
        score[t] = 0.0;
        for (int64_t i = begin; i < begin + d; ++i) score[t] += q[row][i] * (*keys[t])[i];
        score[t] /= std::sqrt(static_cast<double>(d));
        largest = std::max(largest, score[t]);
      }
      for (double& s : score) sum += s = std::exp(s - largest);
      for (size_t t = 0; t < keys.size(); ++t) {
        for (int64_t i = begin; i < begin + d; ++i) {
          out[row][i] += score[t] / sum * (*values[t])[i];
        }
      }
    }
  }
  return out;
}

Vector RowOf(const Matrix& x, int64_t row) { return {x[row], x[row] + x.columns}; }

// Attention of the rows of one matrix among themselves.
Matrix AttendAmong(const Matrix& q, const Matrix& k, const Matrix& v, int heads) {
  std::vector<Vector> rows;
  for (int64_t r = 0; r < k.rows; ++r) rows.push_back(RowOf(k, r));
  for (int64_t r = 0; r < v.rows; ++r) rows.push_back(RowOf(v, r));
  std::vector<const Vector*> keys, values;
  for (int64_t r = 0; r < k.rows; ++r) {
    keys.push_back(&rows[r]);
    values.push_back(&rows[k.rows + r]);
  }
  return Attend(q, keys, values, heads);
}

// Weight of table row j for output i when `from` samples become `to`: the cubic kernel with
// a = -0.5, widened where the table shrinks.
Vector CubicWeights(int64_t from, int64_t to, int64_t i) {
  const auto kernel = [](double x) {
    x = std::abs(x);
    if (x < 1) return 1.5 * x * x * x - 2.5 * x * x + 1;
    return x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 : 0.0;
  };
  const double ratio = static_cast<double>(from) / to;
  const double widening = std::max(1.0, ratio);
  Vector weights(from);
  double sum = 0.0;
  for (int64_t j = 0; j < from; ++j) {
    sum += weights[j] = kernel((j + 0.5 - (i + 0.5) * ratio) / widening);
  }
  for (double& w : weights) w /= sum;
  return weights;
}

// Bilinear with aligned corners.
Image Resize(const Image& x, int64_t height, int64_t width) {
  Image out(x.channels, height, width);
  const auto place = [](int64_t i, int64_t from, int64_t to) {
    return to == 1 ? 0.0 : static_cast<double>(i) * (from - 1) / (to - 1);
  };
  for (int64_t c = 0; c < x.channels; ++c) {
    for (int64_t r = 0; r < height; ++r) {
      for (int64_t s = 0; s < width; ++s) {
        const double fy = place(r, x.height, height), fx = place(s, x.width, width);
        const auto y0 = static_cast<int64_t>(fy), x0 = static_cast<int64_t>(fx);
        const int64_t y1 = std::min(y0 + 1, x.height - 1), x1 = std::min(x0 + 1, x.width - 1);
        const double top = x.at(c, y0, x0) + (fx - x0) * (x.at(c, y0, x1) - x.at(c, y0, x0));
        const double low = x.at(c, y1, x0) + (fx - x0) * (x.at(c, y1, x1) - x.at(c, y1, x0));
        out.at(c, r, s) = top + (fy - y0) * (low - top);
      }
    }
  }
  return out;
}

// Adds 0.1 times the sinusoidal map of image positions.
void AddPositions(Image& x, double aspect) {
  const double diagonal = std::sqrt(aspect * aspect + 1.0);
  const auto coordinate = [](int64_t i, int64_t n, double span) {
    const double edge = span * (n - 1) / n;
    return n == 1 ? -edge : -edge + 2.0 * edge * i / (n - 1);
  };
  const int64_t quarter = x.channels / 4;
  for (int64_t c = 0; c < x.channels; ++c) {
    const int64_t inner = c % (2 * quarter);
    const double frequency = std::pow(100.0, -static_cast<double>(inner % quarter) / quarter);
    for (int64_t r = 0; r < x.height; ++r) {
      for (int64_t s = 0; s < x.width; ++s) {
        const double p = c < 2 * quarter ? coordinate(s, x.width, aspect / diagonal)
                                         : coordinate(r, x.height, 1.0 / diagonal);
        x.at(c, r, s) +=
            0.1 * (inner < quarter ? std::sin(p * frequency) : std::cos(p * frequency));
      }
    }
  }
}

void Relu(Image& x) {
  for (double& v : x.values) v = std::max(v, 0.0);
}

void AddTo(Image& x, const Image& y) {
  for (size_t i = 0; i < x.values.size(); ++i) x.values[i] += y.values[i];
}

}  // namespace

NaiveNetwork::NaiveNetwork(const TensorSource& source, const NaiveSettings& settings)
    : settings_(settings) {
  for (const auto& [name, info] : source.tensors()) {
    std::vector<float> values(info.shape.elements());
    source.ReadFloats(name, values.data());
    weights_[name] = Vector(values.begin(), values.end());
  }
  c_ = static_cast<int64_t>(Weight("aggregator.camera_token").size()) / 2;
}

Matrix NaiveNetwork::Linear(const Matrix& x, const std::string& name) const {
  const Vector& w = Weight(name + ".weight");
  const Vector& b = Weight(name + ".bias");
  Matrix y(x.rows, b.size());
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t o = 0; o < y.columns; ++o) {
      double sum = b[o];
      for (int64_t i = 0; i < x.columns; ++i) sum += x[r][i] * w[o * x.columns + i];
      y[r][o] = sum;
    }
  }
  return y;
}

Matrix NaiveNetwork::Norm(const Matrix& x, const std::string& name, double eps) const {
  const Vector& gamma = Weight(name + ".weight");
  const Vector& beta = Weight(name + ".bias");
  Matrix y = x;
  for (int64_t r = 0; r < x.rows; ++r) {
    Normalise(y[r], y.columns, eps);
    for (int64_t i = 0; i < y.columns; ++i) {
      y[r][i] = y[r][i] * gamma[i] + beta[i];
    }
  }
  return y;
}

NaiveNetwork::Qkv NaiveNetwork::Project(const Matrix& x, const std::string& prefix,
                                        double eps) const {
  const Matrix all = Linear(Norm(x, prefix + "norm1", eps), prefix + "attn.qkv");
  const int64_t c = x.columns;
  Qkv parts{Matrix(x.rows, c), Matrix(x.rows, c), Matrix(x.rows, c)};
  for (int64_t r = 0; r < x.rows; ++r) {
    std::copy_n(all[r], c, parts.q[r]);
    std::copy_n(all[r] + c, c, parts.k[r]);
    std::copy_n(all[r] + 2 * c, c, parts.v[r]);
  }
  return parts;
}

void NaiveNetwork::NormHeads(Matrix& x, const std::string& name) const {
  const int64_t d = x.columns / settings_.heads;
  const Vector& gamma = Weight(name + ".weight");
  const Vector& beta = Weight(name + ".bias");
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t i = 0; i < x.columns; ++i) {
      if (i % d == 0) Normalise(x[r] + i, d, 1e-5);
    }
    for (int64_t i = 0; i < x.columns; ++i) {
      x[r][i] = x[r][i] * gamma[i % d] + beta[i % d];
    }
  }
}

// What follows attention in every block, LayerScale unfolded.
void NaiveNetwork::Finish(Matrix& x, const Matrix& attended, const std::string& prefix,
                          double eps) const {
  const auto add = [&](const Matrix& y, const std::string& scale) {
    const Vector& gamma = Weight(prefix + scale + ".gamma");
    for (int64_t r = 0; r < x.rows; ++r) {
      for (int64_t i = 0; i < x.columns; ++i) {
        x[r][i] += gamma[i] * y[r][i];
      }
    }
  };
  add(Linear(attended, prefix + "attn.proj"), "ls1");
  Matrix hidden = Linear(Norm(x, prefix + "norm2", eps), prefix + "mlp.fc1");
  for (double& v : hidden.values) v = Gelu(v);
  add(Linear(hidden, prefix + "mlp.fc2"), "ls2");
}

// Patches cut out, normalised, as rows of 3 * 14 * 14.
Matrix NaiveNetwork::Patches(const std::vector<float>& frame) const {
  constexpr double kMean[] = {0.485, 0.456, 0.406};
  constexpr double kDeviation[] = {0.229, 0.224, 0.225};
  Matrix patches(rows_ * columns_, 3 * kPatch * kPatch);
  for (int64_t ch = 0; ch < 3; ++ch) {
    for (int64_t y = 0; y < height_; ++y) {
      for (int64_t x = 0; x < width_; ++x) {
        const double value = (frame[(ch * height_ + y) * width_ + x] - kMean[ch]) / kDeviation[ch];
        patches[y / kPatch * columns_ + x / kPatch]
               [(ch * kPatch + y % kPatch) * kPatch + x % kPatch] = value;
      }
    }
  }
  return patches;
}

Matrix NaiveNetwork::Encode(const std::vector<float>& frame) const {
  const std::string vit = "aggregator.patch_embed.";
  const Vector& table = Weight(vit + "pos_embed");
  const auto side = static_cast<int64_t>(std::lround(std::sqrt(table.size() / c_ - 1.0)));
  const Matrix embedded = Linear(Patches(frame), vit + "patch_embed.proj");
  Matrix x(1 + 4 + embedded.rows, c_);
  for (int64_t i = 0; i < c_; ++i) x[0][i] = Weight(vit + "cls_token")[i] + table[i];
  std::copy_n(Weight(vit + "register_tokens").data(), 4 * c_, x[1]);
  for (int64_t p = 0; p < embedded.rows; ++p) {
    const Vector down = CubicWeights(side, rows_, p / columns_);
    const Vector across = CubicWeights(side, columns_, p % columns_);
    for (int64_t i = 0; i < c_; ++i) {
      x[5 + p][i] = embedded[p][i];
      for (int64_t r = 0; r < side; ++r) {
        for (int64_t s = 0; s < side; ++s) {
          x[5 + p][i] += down[r] * across[s] * table[(1 + r * side + s) * c_ + i];
        }
      }
    }
  }
  for (int block = 0; block < settings_.vit_depth; ++block) {
    const std::string prefix = vit + "blocks." + std::to_string(block) + ".";
    const Qkv parts = Project(x, prefix, 1e-6);
    Finish(x, AttendAmong(parts.q, parts.k, parts.v, settings_.heads), prefix, 1e-6);
  }
  x = Norm(x, vit + "norm", 1e-6);
  Matrix patches(embedded.rows, c_);
  std::copy_n(x[5], patches.values.size(), patches[0]);
  return patches;
}

void NaiveNetwork::FrameBlock(Matrix& x, int block) const {
  const std::string prefix = "aggregator.frame_blocks." + std::to_string(block) + ".";
  Qkv parts = Project(x, prefix, 1e-5);
  NormHeads(parts.q, prefix + "attn.q_norm");
  NormHeads(parts.k, prefix + "attn.k_norm");
  for (Matrix* m : {&parts.q, &parts.k}) {
    for (int64_t t = kSpecials; t < x.rows; ++t) {
      const double place[] = {1.0 + (t - kSpecials) / columns_, 1.0 + (t - kSpecials) % columns_};
      for (int64_t head = 0; head < c_; head += 64) {
        for (int64_t half = 0; half < 2; ++half) {
          double* v = (*m)[t] + head + 32 * half;
          for (int j = 0; j < 16; ++j) {
            Turn(v[j], v[j + 16], place[half] * std::pow(100.0, -2.0 * j / 32.0));
          }
        }
      }
    }
  }
  Finish(x, AttendAmong(parts.q, parts.k, parts.v, settings_.heads), prefix, 1e-5);
}

// The frames of one step through one global block; the first is at `time`.
void NaiveNetwork::GlobalStep(std::vector<Matrix>& frames, int block, int64_t time, bool store) {
  const std::string prefix = "aggregator.global_blocks." + std::to_string(block) + ".";
  std::vector<std::vector<Token>>& past = past_[block];
  const size_t before = past.size();
  std::vector<Matrix> queries;
  for (size_t f = 0; f < frames.size(); ++f) {
    Qkv parts = Project(frames[f], prefix, 1e-5);
    NormHeads(parts.q, prefix + "attn.q_norm");
    NormHeads(parts.k, prefix + "attn.k_norm");
    for (Matrix* m : {&parts.q, &parts.k}) {
      for (int64_t t = 0; t < m->rows; ++t) {
        const int64_t patch = t - kSpecials;
        const double place[] = {static_cast<double>(time + f),
                                patch < 0 ? t : 6.0 + patch / columns_,
                                patch < 0 ? t : 6.0 + patch % columns_};
        for (int64_t head = 0; head < c_; head += 64) {
          double* v = (*m)[t] + head;
          for (const int part : {0, 1, 2}) {
            const int channels = part == 0 ? 20 : 22;
            for (int j = 0; j < channels / 2; ++j) {
              Turn(v[2 * j], v[2 * j + 1], place[part] * std::pow(10000.0, -2.0 * j / channels));
            }
            v += channels;
          }
        }
      }
    }
    past.emplace_back();
    for (int64_t t = 0; t < parts.k.rows; ++t) {
      past.back().push_back({RowOf(parts.k, t), RowOf(parts.v, t)});
    }
    queries.push_back(parts.q);
  }
  // The window of a frame that is stored holds itself; one that is not sees a full window beside
  // itself.
  const auto count = static_cast<int64_t>(past.size());
  const int64_t window_begin = count - settings_.sliding_window - (store ? 0 : 1);
  std::vector<const Vector*> keys, values;
  for (int64_t f = 0; f < count; ++f) {
    const bool patches_visible = f < settings_.scale_frames || f >= window_begin;
    for (size_t t = 0; t < (patches_visible ? past[f].size() : kSpecials); ++t) {
      keys.push_back(&past[f][t].k);
      values.push_back(&past[f][t].v);
    }
  }
  for (size_t f = 0; f < frames.size(); ++f) {
    Finish(frames[f], Attend(queries[f], keys, values, settings_.heads), prefix, 1e-5);
  }
  if (!store) past.resize(before);
}

std::vector<std::array<double, 9>> NaiveNetwork::Poses(const Matrix& tokens, bool store) {
  const std::string head = "camera_head.";
  const Matrix t = Norm(tokens, head + "token_norm", 1e-5);
  const int64_t c = t.columns;
  Matrix plain = t;
  for (int64_t r = 0; r < t.rows; ++r) Normalise(plain[r], c, 1e-6);
  Matrix raw(t.rows, 9);
  for (int pass = 0; pass < settings_.camera_passes; ++pass) {
    Matrix pose = raw;
    for (int64_t r = 0; r < t.rows && pass == 0; ++r) {
      std::copy_n(Weight(head + "empty_pose_tokens").data(), 9, pose[r]);
    }
    Matrix e = Linear(pose, head + "embed_pose");
    for (double& v : e.values) v /= 1.0 + std::exp(-v);
    const Matrix modulation = Linear(e, head + "poseLN_modulation.1");
    Matrix x(t.rows, c);
    for (int64_t r = 0; r < t.rows; ++r) {
      for (int64_t i = 0; i < c; ++i) {
        const double* m = modulation[r] + i;
        x[r][i] = m[2 * c] * (plain[r][i] * (1.0 + m[c]) + m[0]) + t[r][i];
      }
    }
    for (int block = 0; block < settings_.camera_depth; ++block) {
      const std::string prefix = head + "trunk." + std::to_string(block) + ".";
      std::vector<Token>& past = camera_past_[pass * settings_.camera_depth + block];
      const size_t before = past.size();
      const Qkv parts = Project(x, prefix, 1e-5);
      for (int64_t r = 0; r < t.rows; ++r) past.push_back({RowOf(parts.k, r), RowOf(parts.v, r)});
      std::vector<const Vector*> keys, values;
      for (const Token& token : past) {
        keys.push_back(&token.k);
        values.push_back(&token.v);
      }
      Finish(x, Attend(parts.q, keys, values, settings_.camera_heads), prefix, 1e-5);
      if (!store) past.resize(before);
    }
    Matrix hidden = Linear(Norm(x, head + "trunk_norm", 1e-5), head + "pose_branch.fc1");
    for (double& v : hidden.values) v = Gelu(v);
    const Matrix delta = Linear(hidden, head + "pose_branch.fc2");
    for (size_t i = 0; i < raw.values.size(); ++i) raw.values[i] += delta.values[i];
  }
  std::vector<std::array<double, 9>> poses(t.rows);
  for (int64_t r = 0; r < t.rows; ++r) {
    for (int i = 0; i < 9; ++i) poses[r][i] = i < 7 ? raw[r][i] : std::max(raw[r][i], 0.0);
  }
  return poses;
}

Image NaiveNetwork::Conv(const Image& x, const std::string& name, int64_t out, int size, int stride,
                         bool bias) const {
  const Vector& w = Weight(name + ".weight");
  const int pad = size / 2;
  Image y(out, (x.height + 2 * pad - size) / stride + 1, (x.width + 2 * pad - size) / stride + 1);
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t r = 0; r < y.height; ++r) {
      for (int64_t s = 0; s < y.width; ++s) {
        double sum = bias ? Weight(name + ".bias")[o] : 0.0;
        for (int64_t i = 0; i < x.channels; ++i) {
          for (int k = 0; k < size * size; ++k) {
            const int64_t yy = r * stride + k / size - pad, xx = s * stride + k % size - pad;
            if (yy < 0 || xx < 0 || yy >= x.height || xx >= x.width) continue;
            sum += x.at(i, yy, xx) * w[(o * x.channels + i) * size * size + k];
          }
        }
        y.at(o, r, s) = sum;
      }
    }
  }
  return y;
}

// Transposed convolution whose stride is its size; weights [in, out, size, size].
Image NaiveNetwork::Transposed(const Image& x, const std::string& name, int size) const {
  const Vector& w = Weight(name + ".weight");
  const int64_t out = static_cast<int64_t>(Weight(name + ".bias").size());
  Image y(out, x.height * size, x.width * size);
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t r = 0; r < y.height; ++r) {
      for (int64_t s = 0; s < y.width; ++s) {
        double sum = Weight(name + ".bias")[o];
        for (int64_t i = 0; i < x.channels; ++i) {
          sum +=
              x.at(i, r / size, s / size) * w[((i * out + o) * size + r % size) * size + s % size];
        }
        y.at(o, r, s) = sum;
      }
    }
  }
  return y;
}

Image NaiveNetwork::Unit(const Image& x, const std::string& name) const {
  Image rectified = x;
  Relu(rectified);
  Image y = Conv(rectified, name + ".conv1", x.channels, 3, 1, true);
  Relu(y);
  y = Conv(y, name + ".conv2", x.channels, 3, 1, true);
  AddTo(y, rectified);
  return y;
}

Image NaiveNetwork::Reassemble(const Matrix& tap, int level) const {
  const std::string head = "depth_head.", number = std::to_string(level);
  const Matrix normed = Norm(tap, head + "norm", 1e-5);
  Image x(tap.columns, rows_, columns_);
  for (int64_t c = 0; c < tap.columns; ++c) {
    for (int64_t p = 0; p < rows_ * columns_; ++p) {
      x.values[c * rows_ * columns_ + p] = normed[kSpecials + p][c];
    }
  }
  const auto channels = static_cast<int64_t>(Weight(head + "projects." + number + ".bias").size());
  x = Conv(x, head + "projects." + number, channels, 1, 1, true);
  AddPositions(x, static_cast<double>(width_) / height_);
  if (level == 0) x = Transposed(x, head + "resize_layers.0", 4);
  if (level == 1) x = Transposed(x, head + "resize_layers.1", 2);
  if (level == 3) x = Conv(x, head + "resize_layers.3", channels, 3, 2, true);
  const auto features =
      static_cast<int64_t>(Weight(head + "scratch.refinenet1.out_conv.bias").size());
  return Conv(x, head + "scratch.layer" + std::to_string(level + 1) + "_rn", features, 3, 1, false);
}

NaiveResult NaiveNetwork::Depth(const std::array<Matrix, 4>& taps) const {
  const std::string scratch = "depth_head.scratch.";
  std::array<Image, 4> lateral;
  for (int k = 0; k < 4; ++k) lateral[k] = Reassemble(taps[k], k);
  Image x = lateral[3];
  for (int k = 3; k >= 0; --k) {
    const std::string fusion = scratch + "refinenet" + std::to_string(k + 1) + ".";
    if (k < 3) AddTo(x, Unit(lateral[k], fusion + "resConfUnit1"));
    x = Unit(x, fusion + "resConfUnit2");
    x = k > 0 ? Resize(x, lateral[k - 1].height, lateral[k - 1].width)
              : Resize(x, 2 * x.height, 2 * x.width);
    x = Conv(x, fusion + "out_conv", x.channels, 1, 1, true);
  }
  x = Conv(x, scratch + "output_conv1", x.channels / 2, 3, 1, true);
  x = Resize(x, height_, width_);
  AddPositions(x, static_cast<double>(width_) / height_);
  x = Conv(x, scratch + "output_conv2.0", 32, 3, 1, true);
  Relu(x);
  x = Conv(x, scratch + "output_conv2.2", 2, 1, 1, true);
  NaiveResult result;
  for (int64_t p = 0; p < height_ * width_; ++p) {
    result.depth.push_back(std::exp(x.values[p]));
    result.confidence.push_back(1.0 + std::exp(x.values[height_ * width_ + p]));
  }
  return result;
}

std::vector<NaiveResult> NaiveNetwork::Step(const std::vector<std::vector<float>>& frames,
                                            int64_t first, bool store) {
  std::vector<Matrix> x;
  for (size_t f = 0; f < frames.size(); ++f) {
    const int64_t frame = first + static_cast<int64_t>(f);
    const Matrix patches = Encode(frames[f]);
    Matrix tokens(kSpecials + patches.rows, c_);
    const int64_t later = frame == 0 ? 0 : 1, streaming = frame < settings_.scale_frames ? 0 : 1;
    std::copy_n(&Weight("aggregator.camera_token")[later * c_], c_, tokens[0]);
    std::copy_n(&Weight("aggregator.register_token")[later * 4 * c_], 4 * c_, tokens[1]);
    std::copy_n(&Weight("aggregator.scale_token")[streaming * c_], c_, tokens[5]);
    std::copy_n(patches[0], patches.values.size(), tokens[kSpecials]);
    x.push_back(tokens);
  }
  std::vector<std::array<Matrix, 4>> taps(frames.size());
  for (int block = 0; block < settings_.depth; ++block) {
    for (Matrix& tokens : x) FrameBlock(tokens, block);
    std::vector<Matrix> in_frame = x;
    GlobalStep(x, block, stored_, store);
    for (int k = 0; k < 4; ++k) {
      for (size_t f = 0; settings_.taps[k] == block && f < x.size(); ++f) {
        taps[f][k] = Matrix(x[f].rows, 2 * c_);
        for (int64_t t = 0; t < x[f].rows; ++t) {
          std::copy_n(in_frame[f][t], c_, taps[f][k][t]);
          std::copy_n(x[f][t], c_, taps[f][k][t] + c_);
        }
      }
    }
  }
  Matrix camera(static_cast<int64_t>(frames.size()), 2 * c_);
  for (size_t f = 0; f < frames.size(); ++f) std::copy_n(taps[f][3][0], 2 * c_, camera[f]);
  const auto poses = Poses(camera, store);
  std::vector<NaiveResult> results;
  for (size_t f = 0; f < frames.size(); ++f) {
    results.push_back(Depth(taps[f]));
    results.back().pose = poses[f];
  }
  if (store) stored_ += static_cast<int64_t>(frames.size());
  return results;
}

std::vector<NaiveResult> NaiveNetwork::Run(const std::vector<std::vector<float>>& frames,
                                           int height, int width) {
  height_ = height;
  width_ = width;
  rows_ = height / kPatch;
  columns_ = width / kPatch;
  stored_ = 0;
  past_.assign(settings_.depth, {});
  camera_past_.assign(settings_.camera_passes * settings_.camera_depth, {});
  const int scale = settings_.scale_frames;
  std::vector<NaiveResult> results = Step({frames.begin(), frames.begin() + scale}, 0, true);
  for (size_t f = scale; f < frames.size(); ++f) {
    const bool store = (f - scale) % settings_.keyframe_interval == 0;
    results.push_back(Step({frames[f]}, static_cast<int64_t>(f), store).front());
  }
  return results;
}

}  // namespace lingbot::reference
