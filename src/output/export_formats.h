#ifndef LINGBOT_OUTPUT_EXPORT_FORMATS_H_
#define LINGBOT_OUTPUT_EXPORT_FORMATS_H_

#include <string>
#include <string_view>
#include <vector>

namespace lingbot {

// In the order in which they are written: what another one refers to comes first.
enum class ExportKind {
  kDepth,
  kConfidence,
  kTum,
  kKitti,
  kPly,
  kGlb,
  kColmapText,
  kColmapBin,
  kNerfstudio,
  kNpz,
};

// What a format takes from every frame and from the whole run.
struct ExportFormat {
  ExportKind kind;
  const char* word;  // on the command line
  bool cloud;
  bool origins;  // of every point, the pixel that it came from
  bool maps;     // depth and confidence of every frame
  bool images;   // refers to images/NNNNNN.png
};

const ExportFormat& FormatOf(ExportKind kind);

// "depth, confidence, tum, ...", for help and messages.
std::string ExportWords();

// Words separated by commas; each kind once, in the order of writing. Throws kInvalidArgument,
// naming the words that there are, for an unknown or missing one.
std::vector<ExportKind> ParseExportList(std::string_view list);

}  // namespace lingbot

#endif  // LINGBOT_OUTPUT_EXPORT_FORMATS_H_
