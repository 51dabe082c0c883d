#include "app/report/page.h"

#include <fmt/format.h>

#include <cmath>

namespace unfold {
namespace {

constexpr std::size_t kMostPoints = 400;

/// Selects evenly spaced points by index, including the first and the last.
std::vector<CurvePoint> thinned(const std::vector<CurvePoint>& points) {
  if (points.size() <= kMostPoints) return points;
  std::vector<CurvePoint> some;
  some.reserve(kMostPoints);
  for (std::size_t i = 0; i < kMostPoints; ++i) some.push_back(points[i * (points.size() - 1) / (kMostPoints - 1)]);
  return some;
}

/// Rounds to five significant digits, which is enough for a screen.
PageJson short_number(double x) {
  if (!std::isfinite(x)) return nullptr;
  return std::strtod(fmt::format("{:.5g}", x).c_str(), nullptr);
}

PageJson series_json(const ChartSeries& series) {
  PageJson points = PageJson::array();
  for (const CurvePoint& p : thinned(series.curve.points)) {
    PageJson point = {short_number(p.x), short_number(p.y.median)};
    if (p.y.lower != p.y.median || p.y.upper != p.y.median) {
      point.push_back(short_number(p.y.lower));
      point.push_back(short_number(p.y.upper));
    }
    points.push_back(std::move(point));
  }
  return {{"label", series.curve.label}, {"style", series.style}, {"points", std::move(points)}};
}

std::string escaped_html(const std::string& text) {
  std::string result;
  for (const char c : text)
    result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string(1, c);
  return result;
}

/// JSON for a script element, escaped so that no string in it ends the element or begins a comment.
std::string script_json(const PageJson& json) {
  const std::string text = json.dump(-1, ' ', false, PageJson::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  }
  return safe;
}

}  // namespace

PageJson facts_block(const std::vector<std::pair<std::string, std::string>>& facts) {
  PageJson rows = PageJson::array();
  for (const auto& [name, value] : facts)
    if (!value.empty()) rows.push_back({name, value});
  return {{"kind", "facts"}, {"rows", std::move(rows)}};
}

PageJson table_block(const std::vector<std::string>& heading, const std::vector<std::vector<std::string>>& rows) {
  return {{"kind", "table"}, {"heading", heading}, {"rows", rows}};
}

PageJson code_block(const std::string& text) { return {{"kind", "code"}, {"text", text}}; }
PageJson note_block(const std::string& text) { return {{"kind", "note"}, {"text", text}}; }

PageJson chart_block(const std::string& title, const Axis& x, const Axis& y, const std::vector<ChartSeries>& series) {
  if (kChartLibrary.empty()) {
    std::vector<Curve> curves;
    curves.reserve(series.size());
    for (const ChartSeries& s : series) curves.push_back({s.curve.label, thinned(s.curve.points)});
    return {{"kind", "picture"}, {"svg", line_plot(title, x, y, curves)}};
  }
  PageJson all = PageJson::array();
  for (const ChartSeries& s : series) all.push_back(series_json(s));
  PageJson x_axis = {{"label", x.label}, {"log", x.logarithmic}};
  for (const AxisTick& tick : x.ticks) x_axis["ticks"].push_back({tick.at, tick.label});
  return {{"kind", "chart"},
          {"title", title},
          {"x", std::move(x_axis)},
          {"y", {{"label", y.label}, {"log", y.logarithmic}}},
          {"series", std::move(all)}};
}

PageJson bars_block(const std::string& title, const std::string& unit, const std::vector<Bar>& bars) {
  if (kChartLibrary.empty()) return {{"kind", "picture"}, {"svg", bar_plot(title, unit, bars)}};
  PageJson all = PageJson::array();
  for (const Bar& bar : bars)
    all.push_back({{"label", bar.label},
                   {"value", short_number(bar.value.median)},
                   {"low", short_number(bar.value.lower)},
                   {"high", short_number(bar.value.upper)}});
  return {{"kind", "bars"}, {"title", title}, {"unit", unit}, {"bars", std::move(all)}};
}

PageJson heat_map_block(const Shades& shades) {
  PageJson values = PageJson::array();
  for (const std::vector<double>& row : shades.values) {
    PageJson cells = PageJson::array();
    for (const double v : row) cells.push_back(short_number(std::round(v * 1000) / 1000));
    values.push_back(std::move(cells));
  }
  return {{"kind", "shades"},
          {"title", shades.title},
          {"rowLabel", shades.row_label},
          {"columnLabel", shades.column_label},
          {"rows", shades.rows},
          {"columns", shades.columns},
          {"values", std::move(values)}};
}

std::string page_html(const std::string& title, const std::string& subtitle, const std::vector<PageSection>& sections) {
  PageJson list = PageJson::array();
  for (const PageSection& s : sections) {
    PageJson section = {{"id", s.id}, {"title", s.title}, {"note", s.note}};
    if (s.blocks.empty())
      section["missing"] = s.missing;
    else
      section["blocks"] = s.blocks;
    list.push_back(std::move(section));
  }
  const PageJson data = {{"title", title}, {"subtitle", subtitle}, {"sections", std::move(list)}};
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light "
      "dark\">\n<title>{}</title>\n<link rel=\"icon\" "
      "href=\"data:,\">\n<style>\n{}</style>\n</head>\n<body>\n<noscript>This page requires JavaScript, which is "
      "disabled in this browser.</noscript>\n",
      escaped_html(title), kPageStyle);
  html += fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n", script_json(data));
  if (!kChartLibrary.empty()) html += fmt::format("<script>\n{}\n</script>\n", kChartLibrary);
  return html + fmt::format("<script>\n{}</script>\n</body>\n</html>\n", kPageScript);
}

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kDigits64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) {
      return k < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[k])) : 0U;
    };
    const unsigned all = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    text += kDigits64[all >> 18 & 63];
    text += kDigits64[all >> 12 & 63];
    text += i + 1 < bytes.size() ? kDigits64[all >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? kDigits64[all & 63] : '=';
  }
  return text;
}

}  // namespace unfold
