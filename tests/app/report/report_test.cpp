#include "app/report/report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "app/fields/evaluation/field_evaluation.h"
#include "app/predict/predict.h"
#include "app/report/page.h"
#include "app/report/report_parts.h"
#include "app/report/report_positions.h"
#include "app/train/train.h"
#include "tests/base/scratch.h"

namespace unfold {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Report : public ::testing::Test {
 protected:
  /// Trains a run on text that contains page-breaking markup.
  std::string train_run(const std::string& name, Index seed = 1) const {
    std::string text;
    for (int i = 0; i < 150; ++i) text += "a <b> & \"c\" </script> \\u003c d\n";
    TrainRequest request{.out = folder_.path(name)};
    request.settings.data = {folder_.write("text with 'quotes'.txt", text)};
    request.settings.model = "lstm:6";
    request.settings.split = "80/10/10";
    request.settings.steps = 6;
    request.settings.seed = seed;
    request.settings.validate_every = 2;
    request.settings.window = 20;
    request.settings.batch = 4;
    request.run.sample_every = 3;
    request.run.log_every = 1;
    request.run.threads = 1;
    request.given = {"model", "split", "steps", "seed", "validate-every", "window", "batch"};
    train(request);
    return request.out;
  }
  static std::string page_of(ReportRequest request) {
    Reporter silent;
    request.threads = 1;
    return report_page(request, silent);
  }
  /// Returns the data embedded in the page.
  static nlohmann::json data_of(const std::string& page) {
    const std::string begin = "<script type=\"application/json\" id=\"data\">";
    const std::size_t from = page.find(begin) + begin.size();
    return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
  }
  static const nlohmann::json& section(const nlohmann::json& data, const std::string& id) {
    for (const nlohmann::json& one : data.at("sections"))
      if (one.at("id") == id) return one;
    throw std::runtime_error("no section " + id);
  }
  testing_support::ScratchFolder folder_;
};

TEST_F(Report, every_report_section_has_content_or_a_reason) {
  const nlohmann::json data = data_of(page_of({.runs = {train_run("run")}, .floor = 1.5}));
  std::vector<std::string> ids;
  for (const nlohmann::json& one : data.at("sections")) {
    ids.push_back(one.at("id"));
    if (one.contains("blocks"))
      EXPECT_FALSE(one.at("blocks").empty()) << one.at("id");
    else
      EXPECT_GT(one.at("missing").get<std::string>().size(), 10u) << one.at("id");
  }
  EXPECT_THAT(ids, ::testing::ElementsAre("card", "curves", "seeds", "cost", "baselines", "forecasts", "text",
                                          "neurons", "gates", "lags", "radius", "calibration", "confusion", "worst",
                                          "samples", "attention", "trees", "rolls", "command"));
  for (const char* id : {"card", "curves", "cost", "text", "neurons", "gates", "lags", "radius", "calibration",
                         "confusion", "worst", "samples", "command"})
    EXPECT_TRUE(section(data, id).contains("blocks")) << id << section(data, id);
  for (const char* id : {"seeds", "forecasts", "attention", "trees", "rolls"})
    EXPECT_TRUE(section(data, id).contains("missing")) << id;
}

TEST_F(Report, report_is_one_self_contained_file) {
  const std::string page = page_of({.runs = {train_run("run")}});
  EXPECT_LT(page.size(), 3'000'000u);
  for (const char* outside : {"<script src", "@import", "fetch(", "XMLHttpRequest", "<link rel=\"stylesheet\"", "<img"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  // Text in the data does not close an element: the number of scripts is that of the page itself.
  std::size_t ends = 0;
  for (std::size_t i = page.find("</script>"); i != std::string::npos; i = page.find("</script>", i + 1)) ++ends;
  EXPECT_EQ(ends, plotting_library().empty() ? 2u : 3u);
}

TEST_F(Report, text_surprisals_sum_to_the_bits_of_the_part) {
  const std::string run = train_run("run");
  const nlohmann::json data = data_of(page_of({.runs = {run}}));
  const nlohmann::json& block = section(data, "text").at("blocks").at(0);
  double bits = 0;
  std::string text;
  for (const nlohmann::json& symbol : block.at("symbols")) {
    bits += symbol.at(1).get<double>();
    text += block.at("texts").at(symbol.at(0).get<std::size_t>()).get<std::string>();
  }
  EXPECT_THAT(text, HasSubstr("a <b> & \"c\" </script> \\u003c d\n"));
  EXPECT_GT(bits / static_cast<double>(text.size()), 1);
}

TEST_F(Report, several_runs_are_shown_with_their_spread) {
  const std::string a = train_run("a", 1), b = train_run("b", 2);
  const nlohmann::json data = data_of(page_of({.runs = {a, b}, .baselines = false}));
  const nlohmann::json& blocks = section(data, "seeds").at("blocks");
  EXPECT_EQ(blocks.back().at("rows").size(), 2u);
}

TEST_F(Report, sections_explain_missing_data_or_log) {
  const std::string run = train_run("run");
  std::filesystem::remove(folder_.path("text with 'quotes'.txt"));
  const nlohmann::json gone = data_of(page_of({.runs = {run}}));
  EXPECT_THAT(section(gone, "text").at("missing").get<std::string>(), HasSubstr("--data FILE"));
  EXPECT_TRUE(section(gone, "curves").contains("blocks"));
  const nlohmann::json file = data_of(page_of({.runs = {run + "/model.safetensors"}}));
  EXPECT_THAT(section(file, "curves").at("missing").get<std::string>(), HasSubstr("model file"));
  EXPECT_THAT(section(file, "command").at("missing").get<std::string>(), HasSubstr("model file"));
  EXPECT_THROW(page_of({.runs = {folder_.path("nothing")}}), ModelError);
}

TEST_F(Report, report_of_a_fitted_model_explains_missing_sections) {
  TrainRequest request{.out = folder_.path("counts")};
  std::string text;
  for (int i = 0; i < 200; ++i) text += "abcab cab\n";
  request.settings.data = {folder_.write("counts.txt", text)};
  request.settings.model = "ngram:2";
  request.settings.split = "80/10/10";
  request.given = {"model", "split"};
  train(request);
  const nlohmann::json data = data_of(page_of({.runs = {request.out}}));
  EXPECT_THAT(section(data, "neurons").at("missing").get<std::string>(), HasSubstr("not a network"));
  EXPECT_TRUE(section(data, "calibration").contains("blocks"));
}

TEST_F(Report, label_report_shows_confusions_and_worst_examples) {
  std::string table;
  for (int i = 0; i < 200; ++i)
    table += i % 10 == 9 ? "\n" : std::string(i % 3 == 0 ? "dog noun" : i % 3 == 1 ? "runs verb" : "run noun") + "\n";
  TrainRequest request{.out = folder_.path("tagger")};
  request.settings.data = {folder_.write("tags.txt", table)};
  request.settings.format = "columns";
  request.settings.read = "1";
  request.settings.predict = "2";
  request.settings.model = "bilstm:4";
  request.settings.split = "60/20/20";
  request.settings.steps = 5;
  request.run.threads = 1;
  request.given = {"format", "read", "predict", "model", "split", "steps"};
  train(request);
  const nlohmann::json data = data_of(page_of({.runs = {request.out}}));
  EXPECT_TRUE(section(data, "confusion").contains("blocks")) << section(data, "confusion");
  EXPECT_TRUE(section(data, "calibration").contains("blocks"));
  EXPECT_TRUE(section(data, "worst").contains("blocks"));
  EXPECT_TRUE(section(data, "attention").contains("missing"));
  for (const char* id : {"text", "neurons", "gates", "lags"})
    EXPECT_TRUE(section(data, id).contains("blocks")) << section(data, id);
  // Words of the test part with the losses of their tags, which sum to the loss of the part.
  const nlohmann::json text = section(data, "text").at("blocks")[0];
  double bits = 0;
  Index words = 0, ends = 0;
  for (const nlohmann::json& place : text.at("symbols")) {
    const std::string shown = text.at("texts")[place[0].get<std::size_t>()];
    ends += shown == "\n" ? 1 : 0;
    if (shown == "\n") continue;
    ++words;
    bits += place[1].get<double>();
    EXPECT_THAT(text.at("names")[place[0].get<std::size_t>()].get<std::string>(), HasSubstr(shown + ": "));
    ASSERT_EQ(place[2].size(), 4u);  // two tags and their probabilities
    EXPECT_NEAR(place[2][1].get<int>() + place[2][3].get<int>(), 1000, 1);
  }
  const FieldFigures figures = evaluate_on_fields(
      {.model = request.out, .data = request.settings.data, .split = "60/20/20", .part = "test", .threads = 1});
  EXPECT_EQ(words, figures.heads[0].predicted);
  EXPECT_EQ(ends, figures.examples);
  EXPECT_NEAR(bits, figures.heads[0].nats / std::log(2), 0.01 * static_cast<double>(words));
  // Both directions are analyzed.
  const nlohmann::json chart = section(data, "lags").at("blocks")[0];
  if (chart.at("kind") == "chart") {  // a chart, if the plotting library is built in
    ASSERT_EQ(chart.at("series").size(), 2u);
    for (const nlohmann::json& series : chart.at("series"))
      for (const nlohmann::json& point : series.at("points")) EXPECT_GT(point[1].get<double>(), 0) << series;
  }
  // Every unit has one value for each position of the text, including both ends.
  const nlohmann::json neurons = section(data, "neurons").at("blocks")[0];
  EXPECT_EQ(static_cast<Index>(neurons.at("symbols").size()), words + ends);
  EXPECT_EQ((neurons.at("units")[0].at("values").get<std::string>().size() + 2) / 4,
            (neurons.at("symbols").size() + 2) / 3);
}

TEST_F(Report, numeric_report_shows_forecasts_with_bands) {
  std::string table = "value\n";
  for (int i = 0; i < 300; ++i) table += std::to_string(std::sin(0.3 * i)) + "\n";
  TrainRequest request{.out = folder_.path("waves")};
  request.settings.data = {folder_.write("wave.csv", table)};
  request.settings.read = "value";
  request.settings.predict = "value";
  request.settings.ahead = 1;
  request.settings.model = "gru:4";
  request.settings.split = "60/20/20";
  request.settings.steps = 5;
  request.run.threads = 1;
  request.given = {"read", "predict", "ahead", "model", "split", "steps"};
  train(request);
  const nlohmann::json data = data_of(page_of({.runs = {request.out}}));
  for (const char* id : {"forecasts", "text", "neurons", "gates", "lags"})
    EXPECT_TRUE(section(data, id).contains("blocks")) << section(data, id);
}

TEST_F(Report, ForecastsOfADatedSeriesHaveDatesOnTheirAxis) {
  std::string table = "day,value\n";
  for (int i = 0; i < 300; ++i)
    table += fmt::format("2024-{:02}-{:02},{}\n", 1 + i / 28, 1 + i % 28, std::sin(0.3 * i));
  TrainRequest request{.out = folder_.path("dated")};
  request.settings.data = {folder_.write("dated.csv", table)};
  request.settings.predict = "value";
  request.settings.model = "gru:4";
  request.settings.split = "60/20/20";
  request.settings.steps = 5;
  request.run.threads = 1;
  request.given = {"predict", "model", "split", "steps"};
  train(request);
  const nlohmann::json data = data_of(page_of({.runs = {request.out}}));
  const nlohmann::json chart = section(data, "forecasts").at("blocks")[0];
  if (chart.at("kind") != "chart") {  // this build draws pictures
    EXPECT_THAT(chart.at("svg").get<std::string>(), HasSubstr("2024-10"));
    return;
  }
  EXPECT_EQ(chart.at("x").at("label"), "day");
  // The last fifth begins on day 240, the 17th of September; months are too coarse for 60 days.
  for (const nlohmann::json& tick : chart.at("x").at("ticks")) {
    EXPECT_GT(tick[0].get<double>(), 0);
    EXPECT_LE(tick[0].get<double>(), 60);
    EXPECT_THAT(tick[1].get<std::string>(), HasSubstr("2024-"));
  }
  EXPECT_GE(chart.at("x").at("ticks").size(), 2u);
}

TEST(Page, page_shows_numbers_as_written) {
  const FieldSpecification field{
      .name = "load", .type = FieldSpecification::Type::values, .size = 1, .mean = {2.9}, .deviation = {1.3}};
  for (const double x : {-3.0, 0.0, 0.001, 2.9, 7.25}) {
    const auto z = static_cast<float>((x - 2.9) / 1.3);
    EXPECT_EQ(number_text(field, 0, z, 3), fmt::format("{}", x)) << x;
  }
  EXPECT_EQ(number_text({.name = "load", .type = FieldSpecification::Type::values, .size = 1}, 0, 1e-9F, 3), "1e-09");
}

TEST(Page, short_decimals_have_no_exponent_at_usual_sizes) {
  EXPECT_EQ(short_decimal(1042.4, 3), "1042");
  EXPECT_EQ(short_decimal(999.7, 3), "1000");
  EXPECT_EQ(short_decimal(-123456.7, 4), "-123457");
  EXPECT_EQ(short_decimal(0.012345, 3), "0.0123");
  EXPECT_EQ(short_decimal(2.5e-7, 3), "2.5e-07");
  EXPECT_EQ(short_decimal(0, 3), "0");
}

TEST_F(Report, task_report_shows_units_gates_lags_and_worst_examples) {
  for (const std::string task : {"adding:12", "temporal-order:20"}) {
    TrainRequest request{.out = folder_.path(task)};
    request.settings.task = task;
    request.settings.model = "lstm:5";
    request.settings.steps = 5;
    request.run.threads = 1;
    request.given = {"task", "model", "steps"};
    train(request);
    const nlohmann::json data = data_of(page_of({.runs = {request.out}}));
    for (const char* id : {"neurons", "gates", "lags", "worst", "radius"})
      EXPECT_TRUE(section(data, id).contains("blocks")) << section(data, id);
    EXPECT_EQ(section(data, "confusion").contains("blocks"), task.starts_with("temporal"));
    const nlohmann::json rows = section(data, "worst").at("blocks")[0].at("rows");
    ASSERT_EQ(rows.size(), 24u);
    EXPECT_EQ(rows[0][1], task.starts_with("adding") ? "12" : "20");
    EXPECT_GE(std::stod(rows[0][4].get<std::string>()), std::stod(rows[23][4].get<std::string>()));
  }
}

TEST_F(Report, command_is_quoted_for_a_shell) {
  const std::string command = command_of(train_run("run"));
  EXPECT_THAT(command, ::testing::StartsWith("unfold train '"));
  EXPECT_THAT(command, HasSubstr("text with '\\''quotes'\\''.txt'"));
  EXPECT_THAT(command, HasSubstr("--model lstm:6"));
  EXPECT_THAT(command, HasSubstr("--steps 6"));
}

TEST(Page, base64_follows_its_standard) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe"), "//4=");
}

TEST(Page, calibrated_predictions_lie_on_the_diagonal) {
  Calibration calibration;
  for (int i = 0; i < 1000; ++i) calibration.see(0.25, i % 4 == 0);
  const std::string text = nlohmann::ordered_json(calibration.section().blocks.back()).dump();
  EXPECT_THAT(text, HasSubstr("distance from the diagonal is 0.00 percentage points"));
  EXPECT_FALSE(Calibration().section().missing.empty());
}

}  // namespace
}  // namespace unfold
