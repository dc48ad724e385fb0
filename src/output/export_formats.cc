#include "output/export_formats.h"

#include <algorithm>

#include "base/check.h"

namespace lingbot {
namespace {

//                                       word           cloud  origins maps   images
constexpr ExportFormat kFormats[] = {
    {ExportKind::kDepth, "depth", false, false, true, false},
    {ExportKind::kConfidence, "confidence", false, false, true, false},
    {ExportKind::kTum, "tum", false, false, false, false},
    {ExportKind::kKitti, "kitti", false, false, false, false},
    {ExportKind::kPly, "ply", true, false, false, false},
    {ExportKind::kGlb, "glb", true, false, false, false},
    {ExportKind::kColmapText, "colmap-text", true, true, false, true},
    {ExportKind::kColmapBin, "colmap-bin", true, true, false, true},
    {ExportKind::kNerfstudio, "nerfstudio", false, false, false, true},
    {ExportKind::kNpz, "npz", false, false, true, false},
};

const ExportFormat* FindWord(std::string_view word) {
  const auto* found = std::find_if(std::begin(kFormats), std::end(kFormats),
                                   [&](const ExportFormat& format) { return format.word == word; });
  return found == std::end(kFormats) ? nullptr : found;
}

}  // namespace

const ExportFormat& FormatOf(ExportKind kind) {
  for (const ExportFormat& format : kFormats) {
    if (format.kind == kind) return format;
  }
  Fail(ErrorCode::kInternal, "there is no export format {}", static_cast<int>(kind));
}

std::string ExportWords() {
  std::string words;
  for (const ExportFormat& format : kFormats) {
    words += (words.empty() ? "" : ", ") + std::string(format.word);
  }
  return words;
}

std::vector<ExportKind> ParseExportList(std::string_view list) {
  std::vector<ExportKind> kinds;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string_view word = list.substr(begin, end - begin);
    const ExportFormat* format = FindWord(word);
    Check(format != nullptr, ErrorCode::kInvalidArgument,
          "'{}' is no kind of export; there are {}, separated by commas", word, ExportWords());
    kinds.push_back(format->kind);
    begin = end + 1;
  }
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  return kinds;
}

}  // namespace lingbot
