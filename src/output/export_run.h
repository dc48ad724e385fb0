#ifndef LINGBOT_OUTPUT_EXPORT_RUN_H_
#define LINGBOT_OUTPUT_EXPORT_RUN_H_

#include <filesystem>
#include <functional>

#include "output/export_set.h"
#include "output/run_reader.h"

namespace lingbot {

struct ExportRunOptions {
  ExportSetOptions set;
  std::filesystem::path out;  // empty: into the run's own folder
  bool overwrite = false;     // also into a folder that holds something
  // Called after every frame with their number so far; false ends the export.
  std::function<bool(int64_t)> progress;
};

// Exports the frames of a run, whether it ended or was killed. Into the run's own folder, the
// manifest gets "exports" and "cloud", and what the folder holds already (depth, confidence) is not
// written again; another folder becomes complete in itself, with the images that the formats refer
// to and export.json, which states run, conventions, options and files.
//
// Throws kNoInput for a run without frames, kFileUnwritable, kInvalidArgument, RunReader's errors;
// nothing appears under its name then, but images and per-frame files.
ExportReport ExportRun(RunReader* run, const ExportRunOptions& options);

}  // namespace lingbot

#endif  // LINGBOT_OUTPUT_EXPORT_RUN_H_
