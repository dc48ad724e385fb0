#ifndef LINGBOT_OUTPUT_RUN_READER_H_
#define LINGBOT_OUTPUT_RUN_READER_H_

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "output/frame_record.h"

namespace lingbot {

// What of a frame is read besides its record.
struct FrameParts {
  bool depth = true;
  bool confidence = true;
  bool rgb = true;
};

// A frame read back; the spans of `record` lie in the vectors. Reused from frame to frame.
struct LoadedFrame {
  FrameRecord record;
  std::vector<float> depth;       // [height, width]; empty if not asked for, as the next two
  std::vector<float> confidence;  // [height, width]
  std::vector<uint8_t> rgb;       // [height, width, 3]; empty too if the run kept no images
  nlohmann::ordered_json json;    // the line of frames.jsonl
};

// Reads what RunWriter left, frame by frame and in bounded memory, whether the run ended or was
// killed: a last line that is cut short does not count.
//
// Errors name the file and what was expected of it: kFileNotFound, kFileUnreadable, kCorruptFile,
// kUnsupportedFormat, kNoInput (no frame at all is no error here).
class RunReader {
 public:
  // Looks through all records. Throws kNoInput if `folder` holds no run.
  explicit RunReader(std::filesystem::path folder);

  const std::filesystem::path& folder() const { return folder_; }
  const nlohmann::ordered_json& manifest() const { return manifest_; }  // {} if there is none
  std::string status() const;  // of the manifest; "unknown" if it does not say
  int64_t frames() const { return frames_; }
  int height() const { return height_; }  // of all frames; 0 if there is none
  int width() const { return width_; }
  bool has_images() const { return has_images_; }  // every frame has one
  bool has_depth() const { return has_depth_; }    // likewise
  bool has_confidence() const { return has_confidence_; }
  bool cut_short() const { return cut_short_; }            // a last line was ignored
  uint64_t record_bytes() const { return record_bytes_; }  // length of the lines that count

  // The next frame, from the first on; false after the last.
  bool Next(const FrameParts& parts, LoadedFrame* frame);

  void Rewind();

 private:
  bool NextLine(std::string* line);
  void ReadManifest();
  void Scan();
  void NoteRecord(const FrameRecord& record, const nlohmann::ordered_json& json);
  FrameRecord ParseRecord(const std::string& line, nlohmann::ordered_json* json) const;
  std::filesystem::path PathOf(const nlohmann::ordered_json& json, const char* kind) const;
  void LoadDepth(LoadedFrame* frame) const;
  std::string Where(int64_t line) const;

  std::filesystem::path folder_;
  nlohmann::ordered_json manifest_ = nlohmann::ordered_json::object();
  std::ifstream file_;
  std::vector<char> buffer_;  // of one line
  int64_t line_ = 0;          // number of the line read last
  int64_t frames_ = 0;
  int64_t last_index_ = -1;
  int height_ = 0, width_ = 0;
  bool has_images_ = true, has_depth_ = true, has_confidence_ = true;
  bool cut_short_ = false;
  uint64_t record_bytes_ = 0;
};

}  // namespace lingbot

#endif  // LINGBOT_OUTPUT_RUN_READER_H_
