#include "output/exporter.h"

#include "base/check.h"

namespace lingbot {

std::unique_ptr<Exporter> MakeExporter(ExportKind kind, const std::filesystem::path& folder) {
  switch (kind) {
    case ExportKind::kDepth:
    case ExportKind::kConfidence:
      return MakeMapExporter(kind, folder);
    case ExportKind::kTum:
      return MakeTumExporter(folder);
    case ExportKind::kKitti:
      return MakeKittiExporter(folder);
    case ExportKind::kPly:
      return MakePlyExporter(folder);
    case ExportKind::kGlb:
      return MakeGlbExporter(folder);
    case ExportKind::kColmapText:
      return MakeColmapTextExporter(folder);
    case ExportKind::kColmapBin:
      return MakeColmapBinExporter(folder);
    case ExportKind::kNerfstudio:
      return MakeNerfstudioExporter(folder);
    case ExportKind::kNpz:
      return MakeNpzExporter(folder);
  }
  Fail(ErrorCode::kInternal, "there is no export format {}", static_cast<int>(kind));
}

}  // namespace lingbot
