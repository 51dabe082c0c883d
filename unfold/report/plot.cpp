#include "unfold/report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace unfold {
namespace {

constexpr double kHeight = 420, kLeft = 70, kTop = 40, kBottom = 50;
constexpr double kAcross = 460;  // of the area that curves are drawn in
constexpr double kLetter = 8.5;  // width of a letter of the labels, rather too much than too little
constexpr std::array kColours = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd",
                                 "#ff7f0e", "#17becf", "#8c564b", "#7f7f7f"};

const char* colour(std::size_t i) { return kColours[i % kColours.size()]; }
/// Where colours are used a second time, lines are dashed.
const char* dashes(std::size_t i) { return i < kColours.size() ? "" : " stroke-dasharray=\"6 3\""; }

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text)
    result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string(1, c);
  return result;
}

std::string label(double x, double y, const char* anchor, const std::string& text, const char* more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                     escaped(text));
}

/// Room for the longest of some labels.
template <class Labelled>
double room_for(const std::vector<Labelled>& all) {
  std::size_t letters = 0;
  for (const Labelled& one : all) letters = std::max(letters, one.label.size());
  return std::ceil(kLetter * static_cast<double>(letters));
}

std::string start(const std::string& title, double width, double height) {
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
             "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
             width, height) +
         label(kLeft, 22, "start", title, " font-size=\"15\"");
}

/// Where the values of an axis lie.
class Scale {
 public:
  Scale(const Axis& axis, double from, double to) : logarithmic_(axis.logarithmic), from_(from), to_(to) {}
  void include(double value) {
    if (!fits(value)) return;
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }
  bool fits(double value) const { return std::isfinite(value) && (!logarithmic_ || value > 0); }
  double operator()(double value) const {
    const double low = map(low_), high = map(high_);
    return high > low ? from_ + (to_ - from_) * (map(value) - low) / (high - low) : (from_ + to_) / 2;
  }
  bool empty() const { return low_ > high_; }
  /// Round numbers within the range: powers of ten, or steps of 1, 2 or 5 times one.
  std::vector<double> ticks() const {
    std::vector<double> result;
    if (empty()) return result;
    if (logarithmic_) {
      for (double p = std::floor(std::log10(low_)); p <= std::ceil(std::log10(high_)); ++p)
        if (const double t = std::pow(10, p); t >= low_ * 0.999 && t <= high_ * 1.001) result.push_back(t);
      if (result.size() < 2) result = {low_, high_};
      return result;
    }
    const double raw = (high_ - low_) / 5;
    if (!(raw > 0)) return {low_};
    double step = std::pow(10, std::floor(std::log10(raw)));
    step *= raw / step > 5 ? 10 : raw / step > 2 ? 5 : raw / step > 1 ? 2 : 1;
    for (double i = std::ceil(low_ / step - 1e-9); i * step <= high_ + 1e-9 * step; ++i) result.push_back(i * step);
    return result;
  }

 private:
  double map(double value) const { return logarithmic_ ? std::log10(value) : value; }
  bool logarithmic_;
  double from_, to_;
  double low_ = std::numeric_limits<double>::infinity(), high_ = -std::numeric_limits<double>::infinity();
};

std::string axes(const Axis& x, const Axis& y, const Scale& across, const Scale& up) {
  const double right = kLeft + kAcross, bottom = kHeight - kBottom;
  std::string svg;
  for (const double t : across.ticks())
    svg += fmt::format("<path d=\"M{0:.1f} {1:.1f}V{2:.1f}\" stroke=\"#ddd\"/>\n", across(t), kTop, bottom) +
           label(across(t), bottom + 16, "middle", fmt::format("{:.4g}", t));
  for (const double t : up.ticks())
    svg += fmt::format("<path d=\"M{1:.1f} {0:.1f}H{2:.1f}\" stroke=\"#ddd\"/>\n", up(t), kLeft, right) +
           label(kLeft - 6, up(t) + 4, "end", fmt::format("{:.4g}", t));
  svg += fmt::format("<path d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\" fill=\"none\" stroke=\"black\"/>\n", kLeft, kTop, bottom,
                     right);
  svg += label((kLeft + right) / 2, kHeight - 12, "middle", x.label);
  const double middle = (kTop + bottom) / 2;
  svg += label(16, middle, "middle", y.label, fmt::format(" transform=\"rotate(-90 16 {:.1f})\"", middle).c_str());
  return svg;
}

std::string path_of(const std::vector<std::pair<double, double>>& points) {
  std::string path;
  for (const auto& [x, y] : points) path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x, y);
  return path;
}

}  // namespace

std::string line_plot(const std::string& title, const Axis& x, const Axis& y, const std::vector<Curve>& curves) {
  constexpr double kRight = kLeft + kAcross, kToLabel = 36;
  Scale across(x, kLeft, kRight), up(y, kHeight - kBottom, kTop);
  const auto fits = [&](const CurvePoint& p) {
    return across.fits(p.x) && up.fits(p.y.lower) && up.fits(p.y.median) && up.fits(p.y.upper);
  };
  for (const Curve& curve : curves)
    for (const CurvePoint& p : curve.points) {
      if (!fits(p)) continue;
      across.include(p.x);
      for (const double value : {p.y.lower, p.y.median, p.y.upper}) up.include(value);
    }
  std::string svg = start(title, kRight + kToLabel + room_for(curves), kHeight) + axes(x, y, across, up);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    std::vector<std::pair<double, double>> line, band, back;
    for (const CurvePoint& p : curves[i].points) {
      if (!fits(p)) continue;
      line.emplace_back(across(p.x), up(p.y.median));
      band.emplace_back(across(p.x), up(p.y.upper));
      back.emplace_back(across(p.x), up(p.y.lower));
    }
    band.insert(band.end(), back.rbegin(), back.rend());
    if (!line.empty()) {
      svg += fmt::format("<path d=\"{}Z\" fill=\"{}\" fill-opacity=\"0.15\"/>\n", path_of(band), colour(i));
      svg += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"{}/>\n", path_of(line),
                         colour(i), dashes(i));
    }
    const double at = kTop + 10 + 18 * static_cast<double>(i), from = kRight + 12;
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}h18\" stroke=\"{}\" stroke-width=\"3\"{}/>\n", from, at - 4, colour(i),
                       dashes(i));
    svg += label(kRight + kToLabel, at, "start", curves[i].label);
  }
  return svg + "</svg>\n";
}

namespace {

/// The number in `name="..."` of the first element.
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

std::string bar_plot(const std::string& title, const std::string& unit, const std::vector<Bar>& bars) {
  constexpr double kStep = 24, kBars = 400, kValue = 80;
  const double names = room_for(bars) + 16, end = names + kBars;
  const double bottom = kTop + kStep * static_cast<double>(bars.size());
  Scale across({}, names, end);
  across.include(0);
  for (const Bar& bar : bars)
    for (const double value : {bar.value.median, bar.value.upper}) across.include(value);
  std::string svg = start(title, end + kValue, bottom + 40);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double y = kTop + kStep * static_cast<double>(i);
    const Quartiles& v = bars[i].value;
    svg += label(names - 8, y + 15, "end", bars[i].label);
    if (!std::isfinite(v.median)) {
      svg += label(names + 4, y + 15, "start", "-");
      continue;
    }
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"15\" fill=\"{}\" fill-opacity=\"0.7\"/>\n", names,
        y + 3, std::max(0.5, across(v.median) - names), colour(i));
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"black\"/>\n", across(v.lower), y + 10.5,
                       across(v.upper));
    svg += label(across(std::max(v.median, v.upper)) + 6, y + 15, "start", fmt::format("{:.4g}", v.median));
  }
  return svg + label((names + end) / 2, bottom + 26, "middle", unit) + "</svg>\n";
}

}  // namespace unfold
