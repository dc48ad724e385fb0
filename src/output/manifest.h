#ifndef LINGBOT_OUTPUT_MANIFEST_H_
#define LINGBOT_OUTPUT_MANIFEST_H_

#include <nlohmann/json.hpp>
#include <string>

#include "geometry/point_cloud.h"
#include "output/frame_files.h"
#include "output/frame_record.h"

namespace lingbot {

// What the caller knows about a run; copied into manifest.json.
struct RunInfo {
  std::string input;                     // folder, file or device, as given
  std::string input_fingerprint;         // of what it was when the run began; "" = unknown
  std::string model_name;                // path or name of the checkpoint
  std::string weights_hash;              // with its kind, e.g. "sha256:..."
  nlohmann::ordered_json options;        // of the run, as the user may repeat them
  nlohmann::ordered_json preprocessing;  // mode, image size, ...
};

// Statements every reader needs: pose direction, axes, pixels, units.
nlohmann::ordered_json ConventionsJson();

nlohmann::ordered_json IntrinsicsJson(const Intrinsics& intrinsics);  // not finite -> null

// One line of frames.jsonl. The pose's quaternion must have unit length (WithRigidPose).
nlohmann::ordered_json FrameJson(const FrameRecord& record, const WrittenFrame& written);

nlohmann::ordered_json PointCloudJson(const PointCloudOptions& options,
                                      const PointCloudReport& report, const std::string& problem);

// The parts of manifest.json that are there from the start.
nlohmann::ordered_json ManifestHead(const RunInfo& info);

// Text of a JSON value; bytes that are not UTF-8 (names of files) are replaced, never an error.
// indent -1 = one line.
std::string JsonText(const nlohmann::ordered_json& json, int indent);

}  // namespace lingbot

#endif  // LINGBOT_OUTPUT_MANIFEST_H_
