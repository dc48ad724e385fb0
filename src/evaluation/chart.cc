#include "evaluation/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace lingbot {
namespace {

constexpr double kLeftMargin = 58;
constexpr double kRightMargin = 12;
constexpr double kTopMargin = 26;
constexpr double kBottomMargin = 42;

struct Range {
  double low = 0;
  double high = 1;

  double middle() const { return 0.5 * (low + high); }
  double span() const { return high - low; }
  // With room at both ends; a single value gets a unit around it.
  Range Padded() const {
    const double smallest = 1e-9 * std::max({std::abs(low), std::abs(high), 1e-300});
    const double room = span() > smallest ? 0.05 * span() : std::max(0.5, 0.5 * std::abs(low));
    return {low - room, high + room};
  }
  Range Around(double width) const { return {middle() - 0.5 * width, middle() + 0.5 * width}; }
};

bool IsDrawn(const Curve& curve, size_t i) {
  return std::isfinite(curve.x[i]) && std::isfinite(curve.y[i]);
}

Range RangeOf(const std::vector<Curve>& curves, std::vector<double> Curve::*axis) {
  Range range = {INFINITY, -INFINITY};
  for (const Curve& curve : curves) {
    for (size_t i = 0; i < curve.x.size(); ++i) {
      if (!IsDrawn(curve, i)) continue;
      range.low = std::min(range.low, (curve.*axis)[i]);
      range.high = std::max(range.high, (curve.*axis)[i]);
    }
  }
  return range.low <= range.high ? range : Range{};
}

// Where values lie in the picture.
struct Frame {
  double left, top, width, height;  // of the area between the axes
  Range x, y;
  bool y_down;

  double X(double value) const { return left + width * (value - x.low) / x.span(); }
  double Y(double value) const {
    const double part = (value - y.low) / y.span();
    return top + height * (y_down ? part : 1 - part);
  }
};

Frame FrameOf(const Chart& chart, double left, double top, double width, double height) {
  Frame frame = {left + kLeftMargin,
                 top + kTopMargin,
                 width - kLeftMargin - kRightMargin,
                 height - kTopMargin - kBottomMargin,
                 RangeOf(chart.curves, &Curve::x).Padded(),
                 RangeOf(chart.curves, &Curve::y).Padded(),
                 chart.y_down};
  if (chart.y_from_zero) frame.y.low = 0;
  if (chart.equal_axes) {
    const double unit = std::max(frame.x.span() / frame.width, frame.y.span() / frame.height);
    frame.x = frame.x.Around(unit * frame.width);
    frame.y = frame.y.Around(unit * frame.height);
  }
  return frame;
}

std::string Label(double x, double y, const std::string& anchor, const std::string& text,
                  const std::string& more = {}) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, XmlText(text));
}

std::string Axes(const Chart& chart, const Frame& f) {
  std::string svg = fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" "
      "stroke=\"#888\"/>\n",
      f.left, f.top, f.width, f.height);
  const double bottom = f.top + f.height;
  for (const double tick : RoundTicks(f.x.low, f.x.high, 5)) {
    svg += fmt::format("<path d=\"M{0:.1f} {1:.1f}V{2:.1f}\" stroke=\"#ddd\"/>\n", f.X(tick), f.top,
                       bottom);
    svg += Label(f.X(tick), bottom + 14, "middle", fmt::format("{:.6g}", tick));
  }
  for (const double tick : RoundTicks(f.y.low, f.y.high, 5)) {
    svg += fmt::format("<path d=\"M{0:.1f} {1:.1f}H{2:.1f}\" stroke=\"#ddd\"/>\n", f.left,
                       f.Y(tick), f.left + f.width);
    svg += Label(f.left - 5, f.Y(tick) + 4, "end", fmt::format("{:.6g}", tick));
  }
  svg += Label(f.left + 0.5 * f.width, bottom + 31, "middle", chart.x_label);
  const double x = f.left - 44;
  const double y = f.top + 0.5 * f.height;
  svg += Label(x, y, "middle", chart.y_label,
               fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", x, y));
  return svg + Label(f.left, f.top - 8, "start", chart.title, " font-weight=\"bold\"");
}

std::string DrawCurve(const Curve& curve, const Frame& f) {
  std::string path;
  std::string dots;
  bool open = false;
  for (size_t i = 0; i < curve.x.size(); ++i) {
    if (!IsDrawn(curve, i)) {
      open = false;
      continue;
    }
    const double x = f.X(curve.x[i]);
    const double y = f.Y(curve.y[i]);
    const bool alone = !open && (i + 1 == curve.x.size() || !IsDrawn(curve, i + 1));
    if (alone) {
      dots += fmt::format("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"3\" fill=\"{}\"/>\n", x, y,
                          curve.color);
    } else {
      path += fmt::format("{}{:.2f} {:.2f}", open ? 'L' : 'M', x, y);
    }
    open = true;
  }
  if (path.empty()) return dots;
  return dots + fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"{}/>\n",
                            path, curve.color, curve.dashed ? " stroke-dasharray=\"5 4\"" : "");
}

// Bytes of the UTF-8 character, of more than one, that the text begins with; 0 if it is none that
// XML may hold. The bounds are those of Unicode's table 3-7.
size_t Utf8Length(std::string_view text) {
  const auto at = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = at(0);
  const size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                        : first >= 0xE0 && first <= 0xEF ? 3
                        : first >= 0xF0 && first <= 0xF4 ? 4
                                                         : 0;
  const unsigned least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (length == 0 || at(1) < least || at(1) > most) return 0;
  for (size_t i = 2; i < length; ++i) {
    if (at(i) < 0x80 || at(i) > 0xBF) return 0;
  }
  const bool not_in_xml = first == 0xEF && at(1) == 0xBF && at(2) >= 0xBE;  // U+FFFE, U+FFFF
  return not_in_xml ? 0 : length;
}

}  // namespace

std::string XmlText(const std::string& text) {
  std::string xml;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) >= 0x80) {
      const size_t length = Utf8Length(std::string_view(text).substr(i));
      xml += length == 0 ? "\xEF\xBF\xBD" : text.substr(i, length);
      i += std::max<size_t>(length, 1) - 1;
    } else if (c == '&') {
      xml += "&amp;";
    } else if (c == '<') {
      xml += "&lt;";
    } else if (c == '>') {
      xml += "&gt;";
    } else if (c == '"') {
      xml += "&quot;";
    } else if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) {
      xml += c;
    }
  }
  return xml;
}

std::vector<double> RoundTicks(double low, double high, int count) {
  std::vector<double> ticks;
  const double rough = (high - low) / count;
  if (!(rough > 0) || !std::isfinite(rough)) return ticks;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough) step = factor * power;
  }
  const double first = std::ceil(low / step);
  // A step lost in the rounding of its place would never end.
  for (int i = 0; i <= 2 * count && (first + i) * step <= high; ++i) {
    ticks.push_back((first + i) * step + 0.0);
  }
  return ticks;
}

std::string DrawChart(const Chart& chart, double left, double top, double width, double height) {
  const Frame frame = FrameOf(chart, left, top, width, height);
  std::string svg = Axes(chart, frame);
  for (const Curve& curve : chart.curves) svg += DrawCurve(curve, frame);
  return svg;
}

}  // namespace lingbot
