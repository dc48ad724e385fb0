#ifndef LINGBOT_ENGINE_TEST_STREAM_H_
#define LINGBOT_ENGINE_TEST_STREAM_H_

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "engine/model_impl.h"
#include "engine/session_impl.h"
#include "weights/hashed_weights.h"

namespace lingbot::testing {

inline constexpr int kHeight = 28;
inline constexpr int kWidth = 42;

// The smallest network with every part of the released one: one head, one block a trunk.
inline ModelTensorSizes SmallSizes() {
  ModelTensorSizes sizes;
  sizes.img_size = 56;
  sizes.embed_dim = 64;
  sizes.num_heads = 1;
  sizes.depth = 4;
  sizes.vit_depth = 1;
  sizes.camera_depth = 1;
  sizes.dpt_features = 16;
  sizes.dpt_channels = {16, 16, 16, 16};
  return sizes;
}

inline HashedWeights SmallWeights(float fc2_bias_offset = 1.0f) {
  return HashedWeights(ModelTensorShapes(SmallSizes()), 7, fc2_bias_offset,
                       {{"config", R"({"taps": [0, 1, 2, 3], "camera_heads": 1})"}});
}

// Loaded once for all tests of a program.
inline const Model& SmallModel() {
  static const Model model = [] {
    ModelOptions options;
    options.device = DeviceKind::kCpu;
    options.precision = Precision::kFloat32;
    return MakeModel(SmallWeights(), options);
  }();
  return model;
}

// Scale 3, window 2: evictions begin with the sixth stored frame.
inline SessionOptions SmallOptions() {
  SessionOptions options;
  options.scale_frames = 3;
  options.sliding_window = 2;
  options.threads = 1;
  return options;
}

using Frames = std::vector<std::vector<float>>;

inline Frames MakeFrames(int count, int height = kHeight, int width = kWidth, int seed = 1) {
  std::mt19937 random(seed);
  Frames frames(count, std::vector<float>(size_t{3} * height * width));
  for (auto& frame : frames) {
    for (float& value : frame) value = static_cast<float>(random() >> 8) * 0x1p-24f;
  }
  return frames;
}

// A result that outlives its callback.
struct Recorded {
  int64_t index = 0;
  bool keyframe = false;
  PoseEncoding pose{};
  std::vector<float> depth, confidence;
  CacheOccupancy cache;
};
using Results = std::vector<Recorded>;

inline ResultCallback RecordInto(Results& results) {
  return [&results](const FrameResult& r) {
    results.push_back({r.index,
                       r.keyframe,
                       r.pose,
                       {r.depth.begin(), r.depth.end()},
                       {r.confidence.begin(), r.confidence.end()},
                       r.cache});
  };
}

template <typename AnySession>
Results RunStream(AnySession& session, const Frames& frames) {
  Results results;
  for (const auto& frame : frames) session.Add(frame, RecordInto(results));
  session.Finish(RecordInto(results));
  return results;
}

inline Results RunFresh(const Frames& frames, const SessionOptions& options) {
  Session session(SmallModel(), kHeight, kWidth, options);
  return RunStream(session, frames);
}

inline bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

inline bool SameOccupancy(const CacheOccupancy& a, const CacheOccupancy& b) {
  return a.stored_frames == b.stored_frames && a.scale_pages == b.scale_pages &&
         a.window_pages == b.window_pages && a.special_tokens == b.special_tokens &&
         a.special_pages == b.special_pages && a.last_page_length == b.last_page_length;
}

inline bool SameResult(const Recorded& a, const Recorded& b) {
  return a.index == b.index && a.keyframe == b.keyframe &&
         std::memcmp(a.pose.data(), b.pose.data(), sizeof(a.pose)) == 0 &&
         SameBits(a.depth, b.depth) && SameBits(a.confidence, b.confidence) &&
         SameOccupancy(a.cache, b.cache);
}

inline constexpr int kIdentical = -1;  // of FirstDifference
// Number of the first result that is not bit for bit the same.
inline int64_t FirstDifference(const Results& a, const Results& b) {
  const size_t common = std::min(a.size(), b.size());
  for (size_t i = 0; i < common; ++i) {
    if (!SameResult(a[i], b[i])) return static_cast<int64_t>(i);
  }
  return a.size() == b.size() ? -1 : static_cast<int64_t>(common);
}

// |a - b| / |b|; NaN if either holds one.
inline double RelativeL2(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0.0, norm = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    norm += double{b[i]} * b[i];
  }
  return std::sqrt(difference / norm);
}

inline double PoseDistance(const PoseEncoding& a, const PoseEncoding& b) {
  double worst = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(double{a[i]} - b[i]);
    if (std::isnan(d) || d > worst) worst = d;
  }
  return worst;
}

}  // namespace lingbot::testing

#endif  // LINGBOT_ENGINE_TEST_STREAM_H_
