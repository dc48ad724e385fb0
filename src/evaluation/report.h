#ifndef LINGBOT_EVALUATION_REPORT_H_
#define LINGBOT_EVALUATION_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "evaluation/evaluate.h"

namespace lingbot {

// What was compared, as the user named it.
struct EvaluationNames {
  std::string run;
  std::string truth;
  std::string truth_format;
};

// Every figure with full digits; what is not determined is null, with a "problem" beside it.
nlohmann::ordered_json EvaluationJson(const Evaluation& evaluation,
                                      const EvaluationOptions& options,
                                      const EvaluationNames& names);

// The same for people, with the trivial baselines beside.
std::string EvaluationText(const Evaluation& evaluation, const EvaluationOptions& options,
                           const EvaluationNames& names);

}  // namespace lingbot

#endif  // LINGBOT_EVALUATION_REPORT_H_
