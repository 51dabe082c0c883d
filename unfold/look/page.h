#pragma once
/// Internal: a page made of sections, which are made of blocks. What stands in them is JSON, which a script in the page
/// draws.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/report/plot.h"

namespace unfold {

using PageJson = nlohmann::ordered_json;

/// Files of the project and of the plotting library, as they were when the command was built.
extern const std::string_view kPageStyle, kPageScript, kChartLibrary, kChartVersion;

/// Blocks, each an object with its kind.
PageJson facts_block(const std::vector<std::pair<std::string, std::string>>& facts);
PageJson table_block(const std::vector<std::string>& heading, const std::vector<std::vector<std::string>>& rows);
PageJson code_block(const std::string& text);
/// Words above another block.
PageJson note_block(const std::string& text);

/// A line in a chart: `style` is "line", "dash" (a level that others are held against) or "points".
struct ChartSeries {
  Curve curve;
  std::string style = "line";
};
/// A chart of the plotting library, or where there is none a plain picture. Long curves are thinned.
PageJson chart_block(const std::string& title, const Axis& x, const Axis& y, const std::vector<ChartSeries>& series);
PageJson bars_block(const std::string& title, const std::string& unit, const std::vector<Bar>& bars);

/// Shades: of rows by columns, each 0 to 1.
struct Shades {
  std::string title, row_label, column_label;
  std::vector<std::string> rows = {}, columns = {};
  std::vector<std::vector<double>> values = {};
};
PageJson shades_block(const Shades& shades);

/// A section: `note` says how to read it. Where `blocks` is empty, `missing` says why.
struct PageSection {
  std::string id, title, note = {};
  std::vector<PageJson> blocks = {};
  std::string missing = {};
};

/// The whole page.
std::string page_html(const std::string& title, const std::string& subtitle, const std::vector<PageSection>& sections);

/// Bytes as base64 (RFC 4648).
std::string base64(std::string_view bytes);

}  // namespace unfold
