#ifndef LINGBOT_EVALUATION_PLOT_H_
#define LINGBOT_EVALUATION_PLOT_H_

#include <string>

#include "evaluation/evaluate.h"

namespace lingbot {

// An SVG picture: the true and the aligned trajectory from above (x, z), from the front (x, y) and
// from the side (z, y), and the position and rotation errors over time. Without an alignment the
// run's trajectory is left out and the picture says why. Points that are not finite are left out.
std::string EvaluationPlot(const Evaluation& evaluation, const std::string& title);

}  // namespace lingbot

#endif  // LINGBOT_EVALUATION_PLOT_H_
