#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "app/plots/plot.h"
#include "app/plots/table.h"
#include "app/plots/training_curve.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t i = text.find(part); i != std::string::npos; i = text.find(part, i + 1)) ++found;
  return found;
}

TEST(Report, quartiles_interpolate_between_order_statistics) {
  EXPECT_EQ(quartiles({3}).lower, 3);
  EXPECT_EQ(quartiles({5, 1, 3}).median, 3);
  const Quartiles q = quartiles({4, 1, 3, 2});
  EXPECT_DOUBLE_EQ(q.lower, 1.75);
  EXPECT_DOUBLE_EQ(q.median, 2.5);
  EXPECT_DOUBLE_EQ(q.upper, 3.25);
  EXPECT_THROW(quantile({}, 0.5), UsageError);
}

TEST(Report, standard_error_decreases_with_the_root_of_the_count) {
  const MeanAndSpread found = mean_and_spread({1, 3, 5, 7});
  EXPECT_DOUBLE_EQ(found.mean, 4);
  EXPECT_DOUBLE_EQ(found.deviation * found.deviation, 20.0 / 3);
  EXPECT_DOUBLE_EQ(found.error, found.deviation / 2);
  EXPECT_THROW(mean_and_spread({1}), UsageError);
}

TEST(Report, tables_are_written_as_markdown_and_aligned_text) {
  const TextTable table{{"task", "ours", "theirs"}, {{"κ² | a", "0.5", "0"}, {"b", "12.25", "-"}}};
  EXPECT_EQ(to_markdown(table),
            "| task | ours | theirs |\n| --- | ---: | ---: |\n| κ² \\| a | 0.5 | 0 |\n| b | 12.25 | - |\n");
  EXPECT_EQ(to_text(table), "task     ours  theirs\nκ² | a    0.5       0\nb       12.25       -\n");
  EXPECT_THROW(to_text({{"a", "b"}, {{"1"}}}), UsageError);
}

TEST(Report, tables_right_align_numbers_and_left_align_words) {
  const TextTable table{{"task", "method", "ours", "solved", "theirs"},
                        {{"1", "path", "**-0.5**", "9 of 10", "1.47 (path)"}, {"10", "a GRU", "-", "", "none"}}};
  EXPECT_EQ(to_markdown(table),
            "| task | method | ours | solved | theirs |\n| --- | --- | ---: | ---: | --- |\n"
            "| 1 | path | **-0.5** | 9 of 10 | 1.47 (path) |\n| 10 | a GRU | - |  | none |\n");
  EXPECT_EQ(to_text(table),
            "task  method      ours   solved  theirs\n"
            "1     path    **-0.5**  9 of 10  1.47 (path)\n"
            "10    a GRU          -           none\n");
}

TEST(Report, logs_become_curves_and_several_runs_a_band) {
  const std::string path = (std::filesystem::temp_directory_path() / "unfold-report-log.jsonl").string();
  std::ofstream(path) << R"({"event":"progress","step":1,"seconds":1,"error_rate":9})"
                      << "\n"
                      << R"({"event":"validation","seconds":2,"error_rate":0.5})"
                      << "\n"
                      << R"({"event":"validation","seconds":3,"error_rate":"nan"})"
                      << "\n"
                      << R"({"event":"validation","seconds":4,"error_rate":0.25})"
                      << "\n"
                      << R"({"event":"valida)";
  const auto curve = read_log_curve(path, "validation", "seconds", "error_rate");
  std::filesystem::remove(path);
  EXPECT_EQ(curve, (std::vector<std::pair<double, double>>{{2, 0.5}, {4, 0.25}}));
  EXPECT_TRUE(read_log_curve("/nowhere", "validation", "a", "b").empty());

  const auto joined = join_curves({curve, {{3, 1.5}}});
  ASSERT_EQ(joined.size(), 2u);  // from the point where both have begun
  EXPECT_EQ(joined[0].x, 3);
  EXPECT_EQ(joined[0].y.median, (0.375 + 1.5) / 2);  // the first is halfway between its points
  EXPECT_EQ(joined[1].y.median, 0.875);
  EXPECT_EQ(joined[1].y.lower, 0.25 + 0.25 * 1.25);
}

TEST(Report, late_run_is_joined_from_its_first_point) {
  const std::vector<std::pair<double, double>> early = {{1, 4}, {2, 3}, {9, 2}}, also = {{1.5, 4}, {3, 3}},
                                               late = {{8, 9}};
  const auto joined = join_curves({early, also, late});
  ASSERT_FALSE(joined.empty());
  EXPECT_EQ(joined.front().x, 1.5);
  EXPECT_EQ(joined.front().y.median, (3.5 + 4) / 2);
  EXPECT_EQ(joined.back().y.median, 3);
  EXPECT_TRUE(join_curves({{}, {}}).empty());
}

TEST(Report, wide_ranges_get_a_logarithmic_axis) {
  const auto plot_of = [](double low, double high) {
    return line_plot("t", {"x"}, {"y"}, {{"a", {{1, {high, high, high}}, {2, {low, low, low}}}}});
  };
  EXPECT_NE(plot_of(0.01, 10).find(">0.1<"), std::string::npos);
  EXPECT_NE(plot_of(0.01, 10).find(">y, logarithmic<"), std::string::npos);
  EXPECT_EQ(plot_of(1, 10).find(">5<"), std::string::npos);
  EXPECT_EQ(plot_of(1, 10).find("logarithmic"), std::string::npos);
  EXPECT_NE(plot_of(-1, 400).find(">100<"), std::string::npos);
  EXPECT_EQ(plot_of(-1, 400).find(">10<"), std::string::npos);
}

TEST(Report, plots_have_a_line_and_band_per_curve_and_only_finite_numbers) {
  const double bad = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Curve> curves = {{"a<b", {{1, {1, 2, 3}}, {2, {1, 1, 1}}, {3, {bad, bad, bad}}}}, {"none", {}}};
  for (const bool logarithmic : {false, true}) {
    const std::string svg = line_plot("title & more", {"x"}, {"y", logarithmic}, curves);
    EXPECT_EQ(count(svg, "fill-opacity"), 1u);
    EXPECT_EQ(count(svg, "a&lt;b"), 1u);
    EXPECT_EQ(count(svg, "nan"), 0u);
    EXPECT_EQ(count(svg, "inf"), 0u);
    EXPECT_EQ(count(svg, "</svg>"), 1u);
  }
  EXPECT_EQ(count(line_plot("t", {"x"}, {"y"}, {}), "nan"), 0u);
  const std::string bars = bar_plot("t", "%", {{"one", {1, 2, 3}}, {"failed", {bad, bad, bad}}});
  EXPECT_EQ(count(bars, "fill-opacity"), 1u);
  EXPECT_EQ(count(bars, "nan"), 0u);
}

TEST(Report, values_that_differ_in_the_last_bit_get_one_tick) {
  const double high = std::nextafter(1.548, 2);
  const std::string svg = line_plot("t", {"x"}, {"y"}, {{"a", {{1, {1.548, high, high}}, {2, {1.548, 1.548, high}}}}});
  EXPECT_EQ(count(svg, ">1.548<"), 1u);
}

}  // namespace
}  // namespace unfold
