#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/system_memory.h"
#include "bench/report.h"
#include "bench/stage_times.h"
#include "bench/stream_bench.h"
#include "ops/attention.h"

namespace lingbot {
namespace {

using Json = nlohmann::json;

// Memory and times are compared from this frame on.
constexpr int64_t kSettledFrame = 500;

double Percent(double before, double after) { return 100.0 * (after / before - 1.0); }

const char* NameOf(Precision precision) {
  return precision == Precision::kBFloat16 ? "bf16" : "f32";
}

std::string Header(const StreamReport& r) {
  const ModelInfo& m = r.model;
  return fmt::format(
      "model: {:.1f} M parameters, {} channels, {} + 2 x {} blocks, {}; made and packed in {:.1f} "
      "s\n"
      "stream: {}x{} pixels, {} scale frames, window {}, attention {}\n",
      static_cast<double>(m.parameters) * 1e-6, m.embed_dim, m.vit_depth, m.depth,
      NameOf(m.precision), r.load_seconds, r.width, r.height, r.scale_frames, r.sliding_window,
      NameOf(r.attention));
}

std::string Stages(const StageTimes& times) {
  std::string text;
  for (const auto& [name, field] : kStageFields) {
    text += fmt::format("{}{} {:.2f}", text.empty() ? "" : ", ", name, times.*field);
  }
  return text;
}

std::string Table(const StreamReport& r) {
  if (r.marks.empty()) return "no frame was streamed after the scale step\n";
  std::string text = "ms a frame, median / p99 of the frames before\n";
  text += fmt::format("{:>7} {:>4}", "frame", "of");
  for (const auto& [name, field] : kStageFields) text += fmt::format(" {:>17}", name);
  text += fmt::format(" {:>9} {:>8} {:>9}\n", "processor", "specials", "resident");
  for (const StreamMark& mark : r.marks) {
    text += fmt::format("{:>7} {:>4}", mark.frame, mark.window);
    for (const auto& [name, field] : kStageFields) {
      text += fmt::format(" {:>8.2f}/{:>8.2f}", mark.median.*field, mark.p99.*field);
    }
    text += fmt::format(" {:>9.2f} {:>8} {:>9}{}\n", mark.processor, mark.cache.special_tokens,
                        FormatBytes(mark.resident),
                        mark.gpu > 0 ? "  GPU " + FormatBytes(mark.gpu) : "");
  }
  return text;
}

const StreamMark* MarkOf(const StreamReport& r, int64_t frame) {
  for (const StreamMark& mark : r.marks) {
    if (mark.frame == frame) return &mark;
  }
  return nullptr;
}

std::string Growth(const StreamReport& r) {
  const StreamMark* settled = MarkOf(r, kSettledFrame);
  if (settled == nullptr || r.marks.back().frame == kSettledFrame) {
    return fmt::format("growth: not measured, needs more than {} frames\n", kSettledFrame);
  }
  const StreamMark& last = r.marks.back();
  return fmt::format(
      "growth: resident {:.3f} MB after frame {}, {:.3f} MB after frame {}: {:+.2f} %\n"
      "growth: median {:.2f} ms at frame {}, {:.2f} ms at frame {}: {:+.1f} %\n"
      "growth: processor time {:.2f} ms at frame {}, {:.2f} ms at frame {}: {:+.1f} %; trajectory "
      "budget {}\n",
      static_cast<double>(settled->resident) * 1e-6, settled->frame,
      static_cast<double>(last.resident) * 1e-6, last.frame,
      Percent(static_cast<double>(settled->resident), static_cast<double>(last.resident)),
      settled->median.total, settled->frame, last.median.total, last.frame,
      Percent(settled->median.total, last.median.total), settled->processor, settled->frame,
      last.processor, last.frame, Percent(settled->processor, last.processor),
      r.thinned_at > 0 ? fmt::format("used up at frame {}", r.thinned_at) : "not used up");
}

std::string Memory(const StreamReport& r) {
  const MemoryPlan& p = r.plan;
  return fmt::format(
      "memory: resident {} at the end, {} at its peak; planned {} (weights {}, patches {}, "
      "specials {}, camera {}, workspace {}, frames {})\n",
      FormatBytes(r.resident), FormatBytes(r.peak_resident), FormatBytes(p.total()),
      FormatBytes(p.weights), FormatBytes(p.patch_cache), FormatBytes(p.specials),
      FormatBytes(p.camera_cache), FormatBytes(p.workspace), FormatBytes(p.results));
}

std::string Rates(const StreamReport& r) {
  std::string text = fmt::format(
      "linear layers: {:.3f} GFLOP a frame, at least {:.1f} GFLOP/s (all time outside cache "
      "attention and heads)",
      r.linear_operations * 1e-9, r.linear_rate * 1e-9);
  if (r.raw_rate > 0.0) {
    text += fmt::format(", {:.1f} % of the matrix library's {:.1f} GFLOP/s",
                        100.0 * r.linear_rate / r.raw_rate, r.raw_rate * 1e-9);
  }
  return text + "\n";
}

// What a GPU's stream adds.
std::string Gpu(const StreamReport& r) {
  if (r.model.device != DeviceKind::kCuda || r.marks.empty()) return "";
  const StreamMark& last = r.marks.back();
  const double operations =
      4.0 * r.model.depth * r.frame_tokens * r.visible_tokens * r.model.embed_dim;
  const double milliseconds = last.median.global_attention;
  return fmt::format(
      "gpu: {} in use, session made in {:.2f} s, first pose {:.2f} s after the start; global "
      "attention {:.2f} TFLOP a frame{}\n",
      FormatBytes(last.gpu), r.session_seconds, r.first_pose_seconds, operations * 1e-12,
      milliseconds > 0.0 ? fmt::format(", {:.0f} TFLOP/s", operations / milliseconds * 1e-9) : "");
}

std::string Cache(const CacheOccupancy& c) {
  return fmt::format(
      "cache: {} frames stored, {} scale + {} window + {} special pages, {} special tokens\n",
      c.stored_frames, c.scale_pages, c.window_pages, c.special_pages, c.special_tokens);
}

Json StagesJson(const StageTimes& times) {
  Json json;
  for (const auto& [name, field] : kStageFields) json[name] = times.*field;
  return json;
}

Json CacheJson(const CacheOccupancy& c) {
  return {{"stored_frames", c.stored_frames}, {"scale_pages", c.scale_pages},
          {"window_pages", c.window_pages},   {"special_tokens", c.special_tokens},
          {"special_pages", c.special_pages}, {"last_page_length", c.last_page_length}};
}

Json MarksJson(const StreamReport& r) {
  Json marks = Json::array();
  for (const StreamMark& mark : r.marks) {
    marks.push_back({{"frame", mark.frame},
                     {"window", mark.window},
                     {"median_ms", StagesJson(mark.median)},
                     {"p99_ms", StagesJson(mark.p99)},
                     {"processor_ms", mark.processor},
                     {"resident", mark.resident},
                     {"cache", CacheJson(mark.cache)}});
  }
  return marks;
}

Json PlanJson(const MemoryPlan& p) {
  return {{"weights", p.weights},     {"patch_cache", p.patch_cache},
          {"specials", p.specials},   {"camera_cache", p.camera_cache},
          {"workspace", p.workspace}, {"results", p.results},
          {"total", p.total()}};
}

Json GrowthJson(const StreamReport& r) {
  const StreamMark* settled = MarkOf(r, kSettledFrame);
  if (settled == nullptr || r.marks.back().frame == kSettledFrame) return nullptr;
  const StreamMark& last = r.marks.back();
  return {{"from_frame", settled->frame},
          {"to_frame", last.frame},
          {"resident_percent",
           Percent(static_cast<double>(settled->resident), static_cast<double>(last.resident))},
          {"median_percent", Percent(settled->median.total, last.median.total)},
          {"processor_percent", Percent(settled->processor, last.processor)}};
}

}  // namespace

std::string StreamText(const StreamReport& r) {
  std::string text = MachineText(r.machine, r.threads) + Header(r);
  text += fmt::format("scale step: {}\n", Stages(r.scale_step));
  text += Table(r) + Growth(r) + Memory(r) + Gpu(r) + Cache(r.cache);
  if (!r.marks.empty()) text += Rates(r);
  return text + fmt::format("outputs: {:016x}\n", r.hash);
}

Json StreamJson(const StreamReport& r) {
  return {{"machine", MachineJson(r.machine, r.threads)},
          {"parameters", r.model.parameters},
          {"precision", NameOf(r.model.precision)},
          {"height", r.height},
          {"width", r.width},
          {"scale_frames", r.scale_frames},
          {"sliding_window", r.sliding_window},
          {"attention", NameOf(r.attention)},
          {"load_seconds", r.load_seconds},
          {"scale_step_ms", StagesJson(r.scale_step)},
          {"marks", MarksJson(r)},
          {"growth", GrowthJson(r)},
          {"thinned_at", r.thinned_at},
          {"plan", PlanJson(r.plan)},
          {"gpu_bytes", r.marks.empty() ? 0 : r.marks.back().gpu},
          {"session_seconds", r.session_seconds},
          {"first_pose_seconds", r.first_pose_seconds},
          {"resident", r.resident},
          {"peak_resident", r.peak_resident},
          {"cache", CacheJson(r.cache)},
          {"linear_operations", r.linear_operations},
          {"linear_rate", r.linear_rate},
          {"raw_rate", r.raw_rate > 0.0 ? Json(r.raw_rate) : Json()},
          {"outputs", fmt::format("{:016x}", r.hash)}};
}

}  // namespace lingbot
