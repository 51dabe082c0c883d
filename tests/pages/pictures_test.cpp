/// Checks that the pictures of the documentation, and those of the plot code, are legible and that their elements can
/// be distinguished.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "app/plots/plot.h"
#include "app/plots/score_plot.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

namespace fs = std::filesystem;

struct Box {
  double left, top, right, bottom;
};

/// One frame of an image: an svg element with its contents.
struct PictureFrame {
  Box box;
  double font = 12;
  std::vector<std::pair<std::string, Box>> texts;           // with their positions
  std::vector<std::string> series;                          // color and dashes of each
  std::vector<std::pair<std::string, double>> labels = {};  // colors of colored texts, and their start positions
  std::vector<std::pair<std::string, double>> ends = {};    // colors of series, and their end positions
};

/// Returns the value of an attribute in an element's text; `otherwise` if the attribute is absent.
std::string attribute(const std::string& element, const std::string& name, const std::string& otherwise = "") {
  const std::size_t begin = element.find(" " + name + "=\"");
  if (begin == std::string::npos) return otherwise;
  const std::size_t from = begin + name.size() + 3;
  return element.substr(from, element.find('"', from) - from);
}

double number(const std::string& text) { return text.empty() ? 0 : std::strtod(text.c_str(), nullptr); }

std::size_t letters(const std::string& text) {
  std::string plain = std::regex_replace(text, std::regex("&[a-z]+;"), "x");
  return static_cast<std::size_t>(std::ranges::count_if(plain, [](char c) { return (c & 0xC0) != 0x80; }));
}

/// Returns the bounding box of a text, using the mean letter width of common fonts.
Box box_of(const std::string& element, const std::string& text, double font) {
  constexpr double kMeanLetter = 0.56, kAbove = 0.8, kBelow = 0.25;
  const double size = number(attribute(element, "font-size", std::to_string(font)));
  const double width = kMeanLetter * size * static_cast<double>(letters(text));
  const std::string anchor = attribute(element, "text-anchor", "start");
  const double before = anchor == "end" ? width : anchor == "middle" ? width / 2 : 0;
  const double x = number(attribute(element, "x")), y = number(attribute(element, "y"));
  if (attribute(element, "transform").starts_with("rotate(-90"))
    return {x - kAbove * size, y - (width - before), x + kBelow * size, y + before};
  return {x - before, y - kAbove * size, x - before + width, y + kBelow * size};
}

/// Returns the last x of a path of absolute moves and lines.
double end_of(const std::string& path) {
  const std::size_t last = path.find_last_of("ML");
  return last == std::string::npos ? 0 : number(path.substr(last + 1));
}

/// Returns the frames of a picture. A nested frame is clipped by both frames, but drawn to fit its own.
std::vector<PictureFrame> frames_of(const std::string& svg) {
  std::vector<PictureFrame> frames;
  std::vector<std::size_t> open;
  const std::regex element(R"(<(/?)(svg|text|path)\b([^>]*)>([^<]*))");
  for (std::sregex_iterator i(svg.begin(), svg.end(), element), end; i != end; ++i) {
    const std::string tag = (*i)[2], rest = (*i)[3], text = (*i)[4];
    if ((*i)[1].length() > 0) {
      if (tag == "svg") open.pop_back();
      continue;
    }
    if (tag == "svg") {
      open.push_back(frames.size());
      frames.push_back({.box = {0, 0, number(attribute(rest, "width")), number(attribute(rest, "height"))},
                        .font = number(attribute(rest, "font-size", "12")),
                        .texts = {},
                        .series = {}});
      continue;
    }
    PictureFrame& frame = frames.at(open.back());
    if (tag == "text") {
      const Box box = box_of(rest, text, frame.font);
      frame.texts.emplace_back(text, box);
      if (const std::string fill = attribute(rest, "fill"); !fill.empty()) frame.labels.emplace_back(fill, box.left);
    } else if (attribute(rest, "class") == "series") {
      frame.series.push_back(attribute(rest, "stroke") + attribute(rest, "stroke-dasharray"));
      frame.ends.emplace_back(attribute(rest, "stroke"), end_of(attribute(rest, "d")));
    }
  }
  return frames;
}

/// Returns the faults of a picture, one per line; empty if there are none.
std::string faults_of(const std::string& svg) {
  std::string faults;
  for (const PictureFrame& frame : frames_of(svg)) {
    for (const auto& [text, box] : frame.texts)
      if (box.left < 0 || box.top < 0 || box.right > frame.box.right || box.bottom > frame.box.bottom)
        faults += "the text \"" + text + "\" leaves the frame\n";
    if (std::set(frame.series.begin(), frame.series.end()).size() < frame.series.size())
      faults += "two lines look alike\n";
    if (frame.series.size() > kMostCurves) faults += "more lines than eight\n";
    for (const auto& [color, end] : frame.ends) {
      const auto beside = [&name = color, at = end](const auto& label) {
        return label.first == name && label.second > at;
      };
      if (std::ranges::none_of(frame.labels, beside)) faults += "a line of " + color + " has no label at its end\n";
    }
  }
  return faults;
}

/// Counts overlapping labels in one column.
std::size_t hidden_labels(const std::string& svg) {
  std::size_t hidden = 0;
  for (const PictureFrame& frame : frames_of(svg))
    for (std::size_t i = 0; i < frame.texts.size(); ++i)
      for (std::size_t k = 0; k < i; ++k) {
        const Box &a = frame.texts[i].second, &b = frame.texts[k].second;
        const bool apart = a.right <= b.left || b.right <= a.left || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
        hidden += apart ? 0 : 1;
      }
  return hidden;
}

CurvePoint point(double x, double y) { return {x, {y - 0.1, y, y + 0.1}}; }

/// Returns `count` falling curves, the last of which end at the same height.
std::vector<Curve> some_curves(std::size_t count, const std::string& name) {
  std::vector<Curve> curves;
  for (std::size_t i = 0; i < count; ++i) {
    Curve curve{.label = name + " " + std::to_string(i + 1), .points = {}};
    for (int k = 1; k <= 40; ++k) curve.points.push_back(point(k, 1 + static_cast<double>(i % 3) / k));
    curves.push_back(curve);
  }
  return curves;
}

TEST(Pictures, documentation_pictures_are_complete_and_legible) {
  int pictures = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(UNFOLD_SOURCE_DIR) / "docs")) {
    if (entry.path().extension() != ".svg") continue;
    ++pictures;
    EXPECT_EQ(faults_of(read_file(entry.path())), "") << entry.path();
  }
  EXPECT_GT(pictures, 20);
}

TEST(Pictures, line_plots_are_complete_for_many_series_and_long_names) {
  for (const std::size_t count : {0, 1, 2, 8, 9, 16, 33})
    for (const std::string& name : {std::string("a"), std::string(70, 'w')}) {
      const std::string svg = line_plot("A title that is rather long for a picture as narrow as this one is, I fear",
                                        {"steps", true}, {"bits per symbol"}, some_curves(count, name));
      EXPECT_EQ(faults_of(svg), "") << count << " lines";
      EXPECT_EQ(hidden_labels(svg), 0u) << count << " lines";
    }
}

TEST(Pictures, bar_and_score_plots_are_complete) {
  std::vector<Bar> bars;
  for (int i = 0; i < 20; ++i)
    bars.push_back({std::string(static_cast<std::size_t>(3 * i + 1), 'm'), {1.0 * i, 2.0 * i, 3.0 * i}});
  const std::string svg =
      bar_plot("A title that is longer than all that stands below it is wide, and goes on and on", "%", bars);
  EXPECT_EQ(faults_of(svg), "");
  EXPECT_EQ(hidden_labels(svg), 0u);
  std::vector<double> scores;
  std::vector<bool> anomalous;
  for (int i = 0; i < 1000; ++i) {
    scores.push_back(std::sin(i) + (i % 50 == 0 ? 5 : 0));
    anomalous.push_back(i % 50 == 0);
  }
  EXPECT_EQ(faults_of(score_plot("today.log", "bits per symbol", scores, anomalous)), "");
  EXPECT_EQ(faults_of(score_plot("today.log", "bits per symbol", scores, {})), "");
}

TEST(Pictures, single_point_is_a_dot_and_narrow_logarithmic_axes_have_ticks) {
  const std::string svg =
      line_plot("t", {"x", true}, {"y"}, {{"a", {point(30, 1)}}, {"b", {point(30, 1), point(170, 2)}}});
  EXPECT_NE(svg.find("<circle"), std::string::npos);
  for (const char* tick : {">50<", ">100<"}) EXPECT_NE(svg.find(tick), std::string::npos) << tick;
}

TEST(Pictures, faulty_pictures_are_detected) {
  const std::string begin = R"(<svg width="100" height="50" font-size="12">)", end = "</svg>";
  EXPECT_EQ(faults_of(begin + R"(<text x="10" y="20">abc</text>)" + end), "");
  EXPECT_NE(faults_of(begin + R"(<text x="90" y="20">abc</text>)" + end), "");
  EXPECT_NE(faults_of(begin + R"(<text x="10" y="20" text-anchor="end">abc</text>)" + end), "");
  EXPECT_NE(
      faults_of(begin + R"-(<text x="16" y="10" text-anchor="middle" transform="rotate(-90 16 10)">abc</text>)-" + end),
      "");
  const std::string line = R"(<path d="M1 1L50 9" stroke="#111" class="series"/>)",
                    label = R"(<text x="60" y="20" fill="#111">a</text>)";
  EXPECT_EQ(faults_of(begin + line + label + end), "");
  EXPECT_NE(faults_of(begin + line + line + label + end), "");
  EXPECT_NE(faults_of(begin + line + end), "");
}

}  // namespace
}  // namespace unfold
