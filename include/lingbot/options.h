#ifndef LINGBOT_OPTIONS_H_
#define LINGBOT_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>

namespace lingbot {

// How numbers are stored and multiplied in the image encoder and the frame and global blocks.
// Accumulators, softmax, normalisation statistics and both heads stay float32 in every case.
enum class Precision {
  kAuto,  // bfloat16 where the device multiplies it natively, else float32
  kFloat32,
  kBFloat16,  // weights and KV cache in bfloat16
};

// Who computes attention. All give the same result within rounding.
enum class AttentionBackend {
  kAuto,        // the fastest for the device
  kReference,   // CPU: plain loops over the page table: the yardstick
  kCpu,         // CPU: tiled, online softmax, over the page table without gathering
  kSdpa,        // gathers the visible tokens, then dense products; the only one of a GPU in float32
  kFlashInfer,  // GPU: FlashInfer's FA2 kernels over the page table
  kFlashInferFa3,  // GPU: FlashInfer's FA3 kernels over the page table, Hopper only
  kDense,          // GPU: our kernel over contiguous extents, Hopper only
};

// Where a model runs.
enum class DeviceKind {
  kAuto,  // a CUDA GPU if this build and this machine have one, else the CPU
  kCpu,
  kCuda,
};

// Arrangement of the KV cache in memory.
enum class KvLayout {
  kPlanes,       // all K pages of a block, then all V pages
  kInterleaved,  // each page holds its K, then its V
};

struct ModelOptions {
  DeviceKind device = DeviceKind::kAuto;
  int device_ordinal = 0;  // of the GPU
  Precision precision = Precision::kAuto;
  // GPU: give back the stack memory that CUDA keeps for every thread that the GPU could run (0.28
  // GB on an H200). A setting of the GPU for the whole process: kernels of other code whose need of
  // stack is not known when they are compiled (recursion) must then set cudaLimitStackSize
  // themselves.
  bool spare_gpu_stack = false;
  int threads = 0;  // for loading; 0 = all cores
  // Receives warnings, one line each without a line feed; the library itself never prints.
  std::function<void(const std::string&)> log;
};

struct SessionOptions {
  int scale_frames =
      0;  // frames processed together at the start; 0 = the model's own (8 as released)
  int sliding_window =
      0;  // later frames whose patches stay visible; 0 = the model's own (64 as released)
  int keyframe_interval = 1;  // after the scale frames, every n-th frame is stored
  // Instead of every n-th: a frame is stored if the image has moved further since the last stored
  // one, in the mean over its pixels as predicted depth and poses have it, than this fraction of
  // its width; or if that one is keyframe_max_gap frames back. 0 = off. For streams whose length is
  // not known. Not with a keyframe_interval, not in windows.
  double keyframe_motion = 0;
  int keyframe_max_gap = 30;
  int camera_iterations =
      0;  // refinement passes of the camera head; 0 = the model's own (4 as released)
  // Stored frames whose special tokens are kept. Beyond it older ones are thinned out (reported
  // once through `log`), or with `strict` the frame is refused with kTrajectoryFull.
  int trajectory_frames = 1024;
  bool strict = false;
  AttentionBackend attention = AttentionBackend::kAuto;
  KvLayout kv_layout = KvLayout::kPlanes;
  bool poison_cache = false;  // fill unused cache memory with NaN, to prove that it is never read
  int threads = 0;            // 0 = all cores; results are deterministic for a given number
  // Bytes of the device's memory that this process may use; 0 = what is free.
  uint64_t memory_limit = 0;
  // GPU: record the launches of a step once and replay them (a CUDA graph). Results are the same.
  bool graph = true;
  // GPU: measure the stages of StageTimes; costs a little time itself. The CPU always does.
  bool stage_times = false;
  int64_t expected_frames =
      0;  // length of the stream if known; short clips need less memory. 0 = unknown
  std::function<void(const std::string&)> log;
};

}  // namespace lingbot

#endif  // LINGBOT_OPTIONS_H_
