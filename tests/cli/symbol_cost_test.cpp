/// The cost per symbol of fitted models: counts compared with counts by hand, and the command.

#include "app/bench/symbol_profile.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "app/bench/peak_performance.h"
#include "tests/cli/fixture.h"
#include "unfold/base/error.h"

namespace unfold::test {
namespace {

constexpr double kShort = 0.01;

SymbolProfile cost_of(const std::string& model, const std::string& text) {
  Team team(1);
  return measure_symbol_cost(model, text, team, kShort);
}

void expect_sound(const SymbolProfile& cost) {
  EXPECT_GT(cost.seconds(), 0) << cost.model;
  EXPECT_GT(cost.attainable_seconds(), 0) << cost.model;
  for (const auto* lines : {&cost.lines, &cost.beside})
    for (const ProfileLine& line : *lines) {
      EXPECT_GE(line.seconds, 0) << cost.model << ' ' << line.stage;
      EXPECT_GE(line.operations, 0) << cost.model << ' ' << line.stage;
    }
}

TEST(Machine, machine_reports_processor_time_used_by_others) {
  std::atomic<bool> enough{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 2 * available_threads(); ++i)
    others.emplace_back([&] {
      while (!enough) continue;
    });
  Team team(2);
  const double share = measure_peak_rates(team).processors;
  enough = true;
  for (std::thread& other : others) other.join();
  EXPECT_GT(share, 0);
  EXPECT_LT(share, 0.9);
}

TEST(SymbolProfile, synthetic_text_is_reproducible_and_structured) {
  const std::string text = artificial_text(5000);
  EXPECT_EQ(text.size(), 5000u);
  EXPECT_EQ(text, artificial_text(5000));
  EXPECT_EQ(text.substr(0, 1000), artificial_text(1000));
  EXPECT_GT(std::ranges::count(text, ' '), 300);
}

TEST(SymbolProfile, bitwise_models_make_eight_decisions_per_byte) {
  for (const char* model : {"ctw:16", "cm:memory=1,level=fast"}) {
    const SymbolProfile cost = cost_of(model, artificial_text(3000));
    EXPECT_EQ(cost.unit, "decisions");
    ASSERT_EQ(cost.lines.size(), 2u);
    EXPECT_EQ(cost.lines[0].operations, 8) << model;
    EXPECT_GT(cost.lines[0].bytes, 0) << model;
    expect_sound(cost);
  }
}

TEST(SymbolProfile, ppm_asks_once_for_a_certain_symbol) {
  // After the first rounds the most probable symbol is queried, and confirmed.
  std::string text;
  while (text.size() < 20000) text += "abcdefgh";
  const SymbolProfile cost = cost_of("ppm:5,memory=1M", text);
  EXPECT_NEAR(cost.lines[0].operations, 1, 0.01);
  expect_sound(cost);
}

TEST(SymbolProfile, distribution_models_compute_one_distribution_per_symbol) {
  const SymbolProfile cost = cost_of("ppm:3", artificial_text(2000));
  EXPECT_EQ(cost.unit, "distributions");
  EXPECT_EQ(cost.lines[0].operations, 1);
  expect_sound(cost);
}

TEST(SymbolProfile, baum_welch_iteration_takes_six_operations_per_state_pair) {
  const SymbolProfile cost = cost_of("hmm:7", artificial_text(4000));
  double operations = 0;
  for (const ProfileLine& line : cost.lines) operations += line.operations;
  EXPECT_EQ(operations, 6 * 7 * 7);
  expect_sound(cost);
}

TEST(SymbolProfile, ngram_cost_covers_all_stages) {
  std::string text;
  while (text.size() < 1200) text += "ab";
  const SymbolProfile cost = cost_of("ngram:3", text);
  std::vector<std::string> stages;
  for (const ProfileLine& line : cost.lines) stages.push_back(line.stage);
  EXPECT_EQ(stages, (std::vector<std::string>{"counting", "collecting n-grams", "linking", "estimating"}));
  // a, b, the beginning; ab, ba, beginning a; aba, bab, beginning ab; the end of the text adds no new n-gram.
  EXPECT_NEAR(cost.lines[1].operations * 1200, 9, 1);
  // Two contexts are known before each symbol except the first two.
  ASSERT_EQ(cost.beside.size(), 1u);
  EXPECT_NEAR(cost.beside[0].operations, 2, 0.01);
  expect_sound(cost);
}

TEST(SymbolProfile, models_without_a_cost_account_are_named_in_the_error) {
  EXPECT_THROW(cost_of("lstm:8", artificial_text(2000)), UsageError);
  EXPECT_THROW(cost_of("frequency", artificial_text(2000)), UsageError);
  EXPECT_THROW(cost_of("ppm", artificial_text(999)), UsageError);
}

TEST_F(CommandTest, bench_reports_the_cost_per_symbol_of_fitted_models) {
  std::ofstream(folder_ / "text") << artificial_text(3000);
  for (const char* model : {"ppm", "cm:memory=1,level=fast", "ctw:16", "hmm:5", "ngram:3"}) {
    const Arguments arguments = {"bench",          "--model",   model, "--profile", "--text",
                                 folder_ / "text", "--threads", "1",   "--seconds", "0.02"};
    const Finished table = unfold_command(arguments);
    ASSERT_EQ(table.code, 0) << table.err;
    EXPECT_THAT(table.out, HasSubstr("3000 symbols"));
    EXPECT_THAT(table.out, HasSubstr("together"));
    Arguments with_json = arguments;
    with_json.emplace_back("--json");
    const nlohmann::json json = only_object(unfold_command(with_json).out);
    EXPECT_EQ(json["symbols"], 3000);
    double seconds = 0;
    for (const auto& stage : json["stages"]) seconds += stage["seconds"].get<double>();
    EXPECT_NEAR(seconds, json["seconds_per_symbol"].get<double>(), 1e-12);
    EXPECT_GT(json["share_of_attainable"].get<double>(), 0);
    EXPECT_EQ(json["threads"], 1);
  }
}

TEST_F(CommandTest, bench_of_fitted_models_reports_supported_options) {
  expect_failure({"bench", "--model", "ppm"}, 2, "--profile");
  expect_failure({"bench", "--model", "hmm:5", "--memory"}, 2, "--profile");
  expect_failure({"bench", "--model", "lstm:8", "--profile", "--text", "x"}, 2, "--text");
  expect_failure({"bench", "--model", "ppm", "--profile", "--text", folder_ / "none"}, 3, "none");
}

}  // namespace
}  // namespace unfold::test
