#ifndef LINGBOT_CLI_EVAL_COMMAND_H_
#define LINGBOT_CLI_EVAL_COMMAND_H_

#include <string>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "evaluation/evaluate.h"
#include "evaluation/ground_truth.h"

namespace lingbot::cli {

struct EvalOptions {
  std::string run;
  std::string truth;
  std::string truth_depth;
  std::string plot;
  GroundTruthOptions reading;  // its paths are set from the above
  EvaluationOptions evaluation;
  bool json = false;
};

// Compares a run or a trajectory with ground truth. Throws UsageError for inputs that cannot be
// used, else Error.
ExitCode EvalCommand(const EvalOptions& options);

Command AddEvalCommand(CLI::App* program);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_EVAL_COMMAND_H_
