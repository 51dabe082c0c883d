#include "app/plots/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <span>

namespace unfold {
namespace {

constexpr double kHeight = 420, kLeft = 70, kTop = 40, kBottom = 50;
constexpr double kAcross = 460;       // width of the plot area
constexpr double kLetter = 8.5;       // upper estimate of the width of a character in labels
constexpr double kTitleLetter = 9.5;  // upper estimate of the width of a character in the title
constexpr double kToLabel = 24;       // distance from the frame to the labels of lines
constexpr double kLabelStep = 16;     // distance between labels
/// Colors that are distinguishable; kStyle has lighter shades of the dark ones for a dark background.
constexpr std::array kColors = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#e07b00", "#0f9fb4", "#b0705f", "#808080"};
static_assert(kColors.size() == kMostCurves);

/// Style sheet of a plot, with colors for light and dark backgrounds. Viewers that ignore style sheets use the
/// attributes of the elements.
constexpr const char* kStyle =
    "<style>.paper{fill:#fff}.ink{fill:#1b1f24}.axis{stroke:#57606a}.grid{stroke:#d8dee4}"
    "@media (prefers-color-scheme:dark){.paper{fill:#0d1117}.ink{fill:#e6edf3}.axis{stroke:#9aa4ae}"
    ".grid{stroke:#30363d}[stroke=\"#1f77b4\"]{stroke:#58a6ff}[fill=\"#1f77b4\"]{fill:#58a6ff}"
    "[stroke=\"#d62728\"]{stroke:#ff7b72}[fill=\"#d62728\"]{fill:#ff7b72}"
    "[stroke=\"#2ca02c\"]{stroke:#3fb950}[fill=\"#2ca02c\"]{fill:#3fb950}"
    "[stroke=\"#9467bd\"]{stroke:#bc8cff}[fill=\"#9467bd\"]{fill:#bc8cff}}</style>\n";

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text)
    result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string(1, c);
  return result;
}

std::string label(double x, double y, const char* anchor, const std::string& text,
                  const std::string& more = " class=\"ink\"") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                     escaped(text));
}

std::size_t letters_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

/// Width of the longest label.
template <class Labeled>
double room_for(const std::vector<Labeled>& all) {
  std::size_t letters = 0;
  for (const Labeled& one : all) letters = std::max(letters, letters_of(one.label));
  return std::ceil(kLetter * static_cast<double>(letters));
}

/// Returns the beginning of an SVG image, at least as wide as its title.
std::string start(const std::string& title, double width, double height) {
  width = std::max(width, std::ceil(kLeft + kTitleLetter * static_cast<double>(letters_of(title))));
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
             "font-family=\"sans-serif\" font-size=\"12\">\n{2}<rect width=\"{0}\" height=\"{1}\" fill=\"white\" "
             "class=\"paper\"/>\n",
             width, height, kStyle) +
         label(kLeft, 22, "start", title, " font-size=\"15\" class=\"ink\"");
}

/// Maps the values of an axis to coordinates.
class Scale {
 public:
  Scale(const Axis& axis, double from, double to) : logarithmic_(axis.logarithmic), from_(from), to_(to) {}
  void include(double value) {
    if (!fits(value)) return;
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }
  bool fits(double value) const { return std::isfinite(value) && (!logarithmic_ || value > 0); }
  /// Returns the coordinate of a value. Values out of range are clamped to the edge.
  double operator()(double value) const {
    const double low = map(low_), high = map(high_), inside = std::clamp(map(value), low, std::max(low, high));
    return high > low ? from_ + (to_ - from_) * (inside - low) / (high - low) : (from_ + to_) / 2;
  }
  bool empty() const { return low_ > high_; }
  /// Returns tick values within the range. On a logarithmic axis, powers of ten and, if these are few, also 2 and 5
  /// times them; on a linear axis, multiples of 1, 2 or 5 times a power of ten.
  std::vector<double> ticks() const {
    std::vector<double> result;
    if (empty()) return result;
    if (logarithmic_) {
      constexpr double kWide = 200;  // from this ratio on, powers of ten are enough
      for (double p = std::floor(std::log10(low_)); p <= std::ceil(std::log10(high_)); ++p)
        for (const double times : {1.0, 2.0, 5.0})
          if (const double t = times * std::pow(10, p);
              t >= low_ * 0.999 && t <= high_ * 1.001 && (times == 1 || high_ < kWide * low_))
            result.push_back(t);
      if (result.size() < 2) result = {low_, high_};
      return result;
    }
    const double raw = (high_ - low_) / 5;
    if (!(raw > 1e-12 * std::max(std::fabs(low_), std::fabs(high_)))) return {low_};  // steps would be lost in rounding
    double step = std::pow(10, std::floor(std::log10(raw)));
    step *= raw / step > 5 ? 10 : raw / step > 2 ? 5 : raw / step > 1 ? 2 : 1;
    for (double i = std::ceil(low_ / step - 1e-9); i * step <= high_ + 1e-9 * step; ++i)
      result.push_back(i * step + 0.0);  // avoids -0
    return result;
  }

 private:
  double map(double value) const { return logarithmic_ ? std::log10(value) : value; }
  bool logarithmic_;
  double from_, to_;
  double low_ = std::numeric_limits<double>::infinity(), high_ = -std::numeric_limits<double>::infinity();
};

std::string name_of(const Axis& axis) { return axis.label + (axis.logarithmic ? ", logarithmic" : ""); }

std::vector<AxisTick> ticks_of(const Axis& axis, const Scale& scale) {
  if (!axis.ticks.empty()) return axis.ticks;
  const std::vector<double> places = scale.ticks();
  std::vector<AxisTick> ticks;
  ticks.reserve(places.size());
  for (const double t : places) ticks.push_back({t, fmt::format("{:.4g}", t)});
  return ticks;
}

std::string axes(const Axis& x, const Axis& y, const Scale& across, const Scale& up) {
  const double right = kLeft + kAcross, bottom = kHeight - kBottom;
  std::string svg;
  for (const AxisTick& tick : ticks_of(x, across))
    svg += fmt::format("<path d=\"M{0:.1f} {1:.1f}V{2:.1f}\" stroke=\"#ddd\" class=\"grid\"/>\n", across(tick.at), kTop,
                       bottom) +
           label(across(tick.at), bottom + 16, "middle", tick.label);
  for (const double t : up.ticks())
    svg += fmt::format("<path d=\"M{1:.1f} {0:.1f}H{2:.1f}\" stroke=\"#ddd\" class=\"grid\"/>\n", up(t), kLeft, right) +
           label(kLeft - 6, up(t) + 4, "end", fmt::format("{:.4g}", t));
  svg += fmt::format("<path d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\" fill=\"none\" stroke=\"black\" class=\"axis\"/>\n",
                     kLeft, kTop, bottom, right);
  svg += label((kLeft + right) / 2, kHeight - 12, "middle", name_of(x));
  const double middle = (kTop + bottom) / 2;
  svg += label(16, middle, "middle", name_of(y),
               fmt::format(" class=\"ink\" transform=\"rotate(-90 16 {:.1f})\"", middle));
  return svg;
}

std::string path_of(const std::vector<std::pair<double, double>>& points) {
  std::string path;
  for (const auto& [x, y] : points) path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x, y);
  return path;
}

/// The two scales of a frame that holds all curves.
struct Frame {
  Scale across, up;

  bool fits(const CurvePoint& p) const {
    return across.fits(p.x) && up.fits(p.y.lower) && up.fits(p.y.median) && up.fits(p.y.upper);
  }
};

/// Returns the common frame. Curves with a single point, which come from models that are fitted in one step, do not
/// extend the x axis of learning curves.
Frame frame_of(const Axis& x, const Axis& y, const std::vector<Curve>& curves) {
  Frame frame{Scale(x, kLeft, kLeft + kAcross), Scale(y, kHeight - kBottom, kTop)};
  const bool lines = std::ranges::any_of(curves, [](const Curve& curve) { return curve.points.size() > 1; });
  for (const Curve& curve : curves)
    for (const CurvePoint& p : curve.points) {
      if (!frame.fits(p)) continue;
      if (!lines || curve.points.size() > 1) frame.across.include(p.x);
      for (const double value : {p.y.lower, p.y.median, p.y.upper}) frame.up.include(value);
    }
  return frame;
}

/// Returns whether all values are positive and span such a wide range that a linear axis would flatten all but the
/// largest.
bool spans_orders(const std::vector<Curve>& curves) {
  constexpr double kFar = 30;
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const Curve& curve : curves)
    for (const CurvePoint& p : curve.points)
      for (const double value : {p.y.lower, p.y.median, p.y.upper}) {
        if (!std::isfinite(value)) continue;
        low = std::min(low, value);
        high = std::max(high, value);
      }
  return low > 0 && high > kFar * low;
}

/// Vertical positions for labels near `wanted`, without overlap and within the frame.
std::vector<double> spread(const std::vector<double>& wanted) {
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return wanted[i]; });
  std::vector<double> found(wanted.size());
  double lowest = kTop + 4;
  for (const std::size_t i : order) {
    found[i] = std::max(wanted[i], lowest);
    lowest = found[i] + kLabelStep;
  }
  double highest = kHeight - kBottom;
  for (auto i = order.rbegin(); i != order.rend(); ++i) {
    found[*i] = std::min(found[*i], highest);
    highest = found[*i] - kLabelStep;
  }
  return found;
}

struct DrawnCurve {
  std::vector<std::pair<double, double>> line, band;
};

DrawnCurve drawn(const Curve& curve, const Frame& frame) {
  DrawnCurve result;
  std::vector<std::pair<double, double>> back;
  for (const CurvePoint& p : curve.points) {
    if (!frame.fits(p)) continue;
    result.line.emplace_back(frame.across(p.x), frame.up(p.y.median));
    result.band.emplace_back(frame.across(p.x), frame.up(p.y.upper));
    back.emplace_back(frame.across(p.x), frame.up(p.y.lower));
  }
  result.band.insert(result.band.end(), back.rbegin(), back.rend());
  return result;
}

/// Draws curves in one frame.
std::string panel(const std::string& title, const Axis& x, const Axis& y, const Frame& frame,
                  std::span<const Curve> curves, double labels) {
  constexpr double kRight = kLeft + kAcross;
  std::string svg = start(title, kRight + kToLabel + labels, kHeight) + axes(x, y, frame.across, frame.up);
  std::vector<double> ends;
  std::vector<std::pair<double, double>> last;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const DrawnCurve curve = drawn(curves[i], frame);
    last.push_back(curve.line.empty() ? std::pair(kRight, kHeight - kBottom) : curve.line.back());
    ends.push_back(last.back().second);
    if (curve.line.empty()) continue;
    svg += fmt::format("<path d=\"{}Z\" fill=\"{}\" fill-opacity=\"0.15\"/>\n", path_of(curve.band), kColors[i]);
    svg += fmt::format(
        "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" stroke-linejoin=\"round\" "
        "class=\"series\"/>\n",
        path_of(curve.line), kColors[i]);
    if (curve.line.size() == 1)  // a path with a single point is invisible
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", last[i].first, last[i].second,
                         kColors[i]);
  }
  const std::vector<double> heights = spread(ends);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    svg += fmt::format(
        "<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"{}\" stroke-opacity=\"0.5\" stroke-dasharray=\"1 2\"/>\n",
        last[i].first, last[i].second, kRight + kToLabel - 4, heights[i], kColors[i]);
    svg += label(kRight + kToLabel, heights[i] + 4, "start", curves[i].label, fmt::format(" fill=\"{}\"", kColors[i]));
  }
  return svg + "</svg>\n";
}

}  // namespace

std::string line_plot(const std::string& title, const Axis& x, const Axis& given, const std::vector<Curve>& curves) {
  Axis y = given;
  y.logarithmic = given.logarithmic || spans_orders(curves);
  const Frame frame = frame_of(x, y, curves);
  const double labels = room_for(curves);
  const std::size_t panels = (curves.size() + kMostCurves - 1) / kMostCurves;
  if (panels < 2) return panel(title, x, y, frame, curves, labels);
  std::vector<std::string> plots;
  for (std::size_t k = 0; k < panels; ++k) {
    const std::size_t begin = curves.size() * k / panels, end = curves.size() * (k + 1) / panels;
    plots.push_back(panel(fmt::format("{} ({} of {})", title, k + 1, panels), x, y, frame,
                          std::span(curves).subspan(begin, end - begin), labels));
  }
  return stacked_plots(plots);
}

namespace {

/// Returns the number in `name="..."` of the first element.
double size_in(const std::string& svg, const char* name) {
  const std::string key = fmt::format(" {}=\"", name);
  const std::size_t at = svg.find(key);
  return at == std::string::npos ? 0 : std::strtod(svg.c_str() + at + key.size(), nullptr);
}

}  // namespace

std::string stacked_plots(const std::vector<std::string>& plots) {
  std::string inner;
  double width = 0, height = 0;
  for (const std::string& plot : plots) {
    inner += fmt::format("<g transform=\"translate(0 {:.1f})\">\n{}</g>\n", height, plot);
    width = std::max(width, size_in(plot, "width"));
    height += size_in(plot, "height");
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n", width,
             height) +
         inner + "</svg>\n";
}

namespace {

constexpr double kBarStep = 24, kBarsAcross = 400;

/// Returns whether bars that start at 0 would have almost the same length.
bool alike(const std::vector<Bar>& bars) {
  constexpr double kNear = 0.8;
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const Bar& bar : bars) {
    if (!std::isfinite(bar.value.median)) continue;
    low = std::min({low, bar.value.lower, bar.value.median});
    high = std::max({high, bar.value.upper, bar.value.median});
  }
  return bars.size() > 1 && low < high && low > kNear * high;
}

std::string bar_ticks(const Scale& across, double bottom) {
  std::string svg;
  for (const double t : across.ticks())
    svg += fmt::format("<path d=\"M{0:.1f} {1:.1f}V{2:.1f}\" stroke=\"#ddd\" class=\"grid\"/>\n", across(t), kTop,
                       bottom) +
           label(across(t), bottom + 16, "middle", fmt::format("{:.4g}", t));
  return svg;
}

/// Returns a bar from 0, or a dot if the axis does not start at 0, with a line between the quartiles.
std::string bar_mark(const Quartiles& v, const Scale& across, double from, double y, bool dot) {
  const double at = across(v.median);
  const std::string mark =
      dot ? fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\" fill=\"{}\"/>\n", at, y + 10.5, kColors[0])
          : fmt::format(
                "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"15\" fill=\"{}\" fill-opacity=\"0.7\"/>\n",
                from, y + 3, std::max(0.5, at - from), kColors[0]);
  const std::string line = fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"black\" class=\"axis\"/>\n",
                                       across(v.lower), y + 10.5, across(v.upper));
  return dot ? line + mark : mark + line;
}

}  // namespace

std::string bar_plot(const std::string& title, const std::string& unit, const std::vector<Bar>& bars) {
  constexpr double kValue = 80, kTicks = 20;
  const bool dots = alike(bars);
  const double names = room_for(bars) + 16, end = names + kBarsAcross, from = dots ? names + 12 : names;
  const double bottom = kTop + kBarStep * static_cast<double>(bars.size()), below = dots ? kTicks : 0;
  Scale across({}, from, end);
  if (!dots) across.include(0);
  for (const Bar& bar : bars)
    for (const double value : {bar.value.lower, bar.value.median, bar.value.upper}) across.include(value);
  std::string svg = start(title, end + kValue, bottom + 40 + below);
  if (dots) svg += bar_ticks(across, bottom);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double y = kTop + kBarStep * static_cast<double>(i);
    const Quartiles& v = bars[i].value;
    svg += label(names - 8, y + 15, "end", bars[i].label);
    svg += std::isfinite(v.median)
               ? bar_mark(v, across, from, y, dots) + label(across(std::max(v.median, v.upper)) + (dots ? 10 : 6),
                                                            y + 15, "start", fmt::format("{:.4g}", v.median))
               : label(names + 4, y + 15, "start", "-");
  }
  return svg + label((names + end) / 2, bottom + 26 + below, "middle", unit) + "</svg>\n";
}

}  // namespace unfold
