#pragma once
/// An HTML page of sections, which consist of blocks. The content of a block is JSON; a script in the page renders it.
/// Internal to app/report/.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "app/plots/plot.h"

namespace unfold {

using PageJson = nlohmann::ordered_json;

/// The project's style and script and the plotting library, embedded at build time.
extern const std::string_view kPageStyle, kPageScript, kChartLibrary, kChartVersion;

/// Returns a block, a JSON object with its kind: a table of names and values.
PageJson facts_block(const std::vector<std::pair<std::string, std::string>>& facts);
PageJson table_block(const std::vector<std::string>& heading, const std::vector<std::vector<std::string>>& rows);
PageJson code_block(const std::string& text);
/// Returns a paragraph of text above another block.
PageJson note_block(const std::string& text);

/// A series of a chart. `style` is "line", "dash" (a reference level) or "points".
struct ChartSeries {
  Curve curve;
  std::string style = "line";
};
/// Returns a chart drawn with the plotting library, or a static SVG if the build has none. Long curves are thinned.
PageJson chart_block(const std::string& title, const Axis& x, const Axis& y, const std::vector<ChartSeries>& series);
PageJson bars_block(const std::string& title, const std::string& unit, const std::vector<Bar>& bars);

/// A heat map: rows by columns of intensities in [0, 1].
struct Shades {
  std::string title, row_label, column_label;
  std::vector<std::string> rows = {}, columns = {};
  std::vector<std::vector<double>> values = {};
};
PageJson heat_map_block(const Shades& shades);

/// A section. `note` explains how to read it. If `blocks` is empty, `missing` gives the reason.
struct PageSection {
  std::string id, title, note = {};
  std::vector<PageJson> blocks = {};
  std::string missing = {};
};

/// Returns the complete HTML page.
std::string page_html(const std::string& title, const std::string& subtitle, const std::vector<PageSection>& sections);

/// Encodes bytes as base64 (RFC 4648).
std::string base64(std::string_view bytes);

}  // namespace unfold
