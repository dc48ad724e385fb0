#ifndef LINGBOT_EVALUATION_CHART_H_
#define LINGBOT_EVALUATION_CHART_H_

#include <string>
#include <vector>

namespace lingbot {

// One line of a chart.
struct Curve {
  std::string name;   // for the legend
  std::string color;  // as SVG names it
  std::vector<double> x;
  std::vector<double> y;
  bool dashed = false;
};

// A rectangle with axes, ticks and curves, as a part of an SVG picture. Points that are not finite
// interrupt a curve; a single point is drawn as a dot.
struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Curve> curves;
  bool equal_axes = false;  // one unit has the same length on both
  bool y_down = false;      // values grow downwards
  bool y_from_zero = false;
};

// The picture's parts at (left, top); width and height with all labels, in pixels.
std::string DrawChart(const Chart& chart, double left, double top, double width, double height);

// Text with the characters that XML reserves replaced, and control characters dropped.
std::string XmlText(const std::string& text);

// A span of round numbers: about `count` of them inside [low, high], low < high.
std::vector<double> RoundTicks(double low, double high, int count);

}  // namespace lingbot

#endif  // LINGBOT_EVALUATION_CHART_H_
