#include "evaluation/plot.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "evaluation/chart.h"

namespace lingbot {
namespace {

constexpr double kWidth = 1080;
constexpr double kHeight = 780;
constexpr char kTruthColor[] = "#222222";
constexpr char kRunColor[] = "#d62728";
constexpr char kRotationColor[] = "#1f77b4";

// The coordinates `x` and `y` (0, 1, 2) of positions.
Curve PathCurve(const std::vector<Eigen::Vector3d>& points, int x, int y, const std::string& name,
                const std::string& color) {
  Curve curve;
  curve.name = name;
  curve.color = color;
  for (const Eigen::Vector3d& point : points) {
    curve.x.push_back(point[x]);
    curve.y.push_back(point[y]);
  }
  return curve;
}

struct Paths {
  std::vector<Eigen::Vector3d> truth;
  std::vector<Eigen::Vector3d> run;  // aligned; empty without an alignment
};

Chart View(const Paths& paths, const std::string& title, int x, int y) {
  constexpr const char* kNames[] = {"x", "y", "z"};
  Chart chart;
  chart.title = title;
  chart.x_label = fmt::format("{}, truth's unit", kNames[x]);
  chart.y_label = fmt::format("{}, truth's unit", kNames[y]);
  chart.equal_axes = true;
  chart.y_down = y == 1;  // OpenCV's y points down
  chart.curves.push_back(PathCurve(paths.truth, x, y, "truth", kTruthColor));
  if (!paths.run.empty()) {
    chart.curves.push_back(PathCurve(paths.run, x, y, "run", kRunColor));
  }
  return chart;
}

Chart ErrorChart(const std::string& title, const std::string& unit, const std::string& color,
                 std::vector<double> times, std::vector<double> errors) {
  Chart chart;
  chart.title = title;
  chart.x_label = "time, s (frame number where the truth has no times)";
  chart.y_label = unit;
  chart.y_from_zero = true;
  chart.curves.push_back({title, color, std::move(times), std::move(errors), false});
  return chart;
}

std::string LegendEntry(double x, double y, const std::string& color, const std::string& text) {
  return fmt::format(
      "<path d=\"M{0:.0f} {1:.0f}h26\" stroke=\"{2}\" stroke-width=\"2\"/>\n"
      "<text x=\"{3:.0f}\" y=\"{4:.0f}\">{5}</text>\n",
      x, y, color, x + 32, y + 4, XmlText(text));
}

std::string Legend(const Evaluation& evaluation) {
  std::string svg = LegendEntry(58, 48, kTruthColor, "truth");
  if (!evaluation.sim3.alignment.similarity) {
    return svg + fmt::format("<text x=\"150\" y=\"52\">run not drawn: {}</text>\n",
                             XmlText(evaluation.sim3.alignment.problem));
  }
  const double percent =
      evaluation.path_length > 0 ? 100 * evaluation.sim3.position.rmse / evaluation.path_length : 0;
  return svg +
         LegendEntry(150, 48, kRunColor,
                     fmt::format("run after Sim3 alignment: ATE RMSE {:.4g}, {:.2f} % of the path",
                                 evaluation.sim3.position.rmse, percent));
}

std::string Views(const Paths& paths) {
  constexpr double kViewWidth = kWidth / 3;
  return DrawChart(View(paths, "from above", 0, 2), 0, 64, kViewWidth, 340) +
         DrawChart(View(paths, "from the front", 0, 1), kViewWidth, 64, kViewWidth, 340) +
         DrawChart(View(paths, "from the side", 2, 1), 2 * kViewWidth, 64, kViewWidth, 340);
}

std::string Errors(const Evaluation& evaluation) {
  const PosePairs& pairs = evaluation.pairs;
  std::string svg;
  if (const auto& similarity = evaluation.sim3.alignment.similarity) {
    svg += DrawChart(ErrorChart("position error", "truth's unit", kRunColor, pairs.times,
                                PositionErrors(pairs, *similarity)),
                     0, 412, kWidth / 2, 360);
  }
  if (pairs.size() < 2) return svg;
  return svg + DrawChart(ErrorChart("rotation error, from the first frame on", "degrees",
                                    kRotationColor, {pairs.times.begin() + 1, pairs.times.end()},
                                    RotationErrorsFromFirst(pairs)),
                         kWidth / 2, 412, kWidth / 2, 360);
}

}  // namespace

std::string EvaluationPlot(const Evaluation& evaluation, const std::string& title) {
  Paths paths;
  paths.truth = CentersOf(evaluation.pairs.truth);
  if (const auto& similarity = evaluation.sim3.alignment.similarity) {
    for (const RigidPose& pose : evaluation.pairs.run) {
      paths.run.push_back(*similarity * pose.center);
    }
  }
  return fmt::format(
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
             "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n"
             "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
             "<text x=\"58\" y=\"26\" font-size=\"15\" font-weight=\"bold\">{2}</text>\n",
             kWidth, kHeight, XmlText(title)) +
         Legend(evaluation) + Views(paths) + Errors(evaluation) + "</svg>\n";
}

}  // namespace lingbot
