#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/fixture.h"

namespace unfold::test {
namespace {

std::vector<std::vector<std::string>> rows_of(const std::string& tsv) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(tsv);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, '\t');) rows.back().push_back(cell);
  }
  return rows;
}

TEST_F(CommandTest, unfolding_and_stepper_print_the_same_digits) {
  for (const char* model : {"rnn:9", "lstm:33,layers=2", "gru:17", "tensor-rnn:7"}) {
    train({"--model", model, "--overwrite", "--validate-every", "10"});
    for (const Arguments& more :
         {Arguments{}, Arguments{"--json"}, Arguments{"--split", "70/20/10", "--part", "test"}}) {
      const Arguments eval = Arguments{"eval", run_, text_} + more;
      const Finished unfolding = unfold_command(eval + Arguments{"--method", "unfolding"});
      const Finished stepper = unfold_command(eval + Arguments{"--method", "stepper"});
      ASSERT_EQ(unfolding.code, 0) << unfolding.err;
      EXPECT_EQ(unfolding.out, stepper.out) << model;
      EXPECT_EQ(unfolding.out, unfold_command(eval + Arguments{"--threads", "2"}).out) << model;
    }
  }
}

TEST_F(CommandTest, double_networks_print_the_same_digits_in_unfolding_and_stepper) {
  using Pair = std::pair<std::string, Arguments>;
  for (const auto& [model, how] : {Pair{"glnn:16", {"--optimizer", "ruop"}}, Pair{"lstm:33,layers=2", {}}}) {
    train(Arguments{"--model", model, "--precision", "double", "--overwrite"} + how);
    const Arguments eval = {"eval", run_, text_, "--json"};
    const Finished unfolding = unfold_command(eval + Arguments{"--method", "unfolding"});
    ASSERT_EQ(unfolding.code, 0) << unfolding.err;
    EXPECT_EQ(unfolding.out, unfold_command(eval + Arguments{"--method", "stepper"}).out) << model;
  }
}

TEST_F(CommandTest, eval_reproduces_training_results) {
  const Finished trained = unfold_command(training({"--json", "--split", "80/10/10"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Finished evaluated = unfold_command({"eval", run_, text_, "--split", "80/10/10", "--part", "valid", "--json"});
  const nlohmann::json valid = only_object(trained.out)["valid"], again = only_object(evaluated.out);
  EXPECT_EQ(valid["symbols"], again["symbols"]);
  EXPECT_NEAR(valid["nats_per_symbol"].get<double>(), again["nats_per_symbol"].get<double>(), 0.02);
  const Finished segments =
      unfold_command({"eval", run_, text_, "--split", "80/10/10", "--segments", "64", "--warmup", "256", "--json"});
  EXPECT_EQ(valid["nats_per_symbol"], only_object(segments.out)["nats_per_symbol"]);
}

TEST_F(CommandTest, eval_and_score_report_their_reading_method) {
  train();
  const auto json = [&](const Arguments& more) {
    return only_object(unfold_command(Arguments{"eval", run_, text_, "--json"} + more).out);
  };
  const nlohmann::json exact = json({}), parts = json({"--segments", "8", "--warmup", "20"});
  EXPECT_EQ(exact["segments"], 0);
  EXPECT_EQ(exact["warmup"], 0);
  EXPECT_EQ(exact["warmup_symbols"], 0);
  EXPECT_EQ(parts["segments"], 8);
  EXPECT_EQ(parts["warmup"], 20);
  EXPECT_GT(parts["warmup_symbols"], 0);
  EXPECT_LE(parts["warmup_symbols"], 7 * 20);
  EXPECT_EQ(parts["symbols"], exact["symbols"]);
  EXPECT_EQ(parts["bytes"], exact["bytes"]);
  const Arguments cut = {"--segments", "8", "--warmup", "20"};
  EXPECT_NE(unfold_command({"eval", run_, text_}).out.find("exact"), std::string::npos);
  EXPECT_NE(unfold_command(Arguments{"eval", run_, text_} + cut).out.find("8 parallel segments"), std::string::npos);
  const Finished scored = unfold_command(Arguments{"score", run_, text_} + cut);
  EXPECT_NE(scored.err.find("8 parallel segments"), std::string::npos) << scored.err;
  EXPECT_EQ(scored.out, unfold_command(Arguments{"eval", run_, text_, "--per-symbol", "-"} + cut).out);
  EXPECT_NE(scored.out, unfold_command({"score", run_, text_}).out);
  EXPECT_EQ(unfold_command({"eval", run_, text_, "--warmup", "20"}).code, 2);
  EXPECT_EQ(unfold_command({"score", run_, text_, "--warmup", "20"}).code, 2);
}

TEST_F(CommandTest, evaluation_units_are_consistent) {
  write_bytes(text_, "\xC3\xA9t\xC3\xA9 " + small_text(1500));
  train();
  const nlohmann::json json = only_object(unfold_command({"eval", run_, text_, "--json"}).out);
  const double nats = json["nats_per_symbol"], bits = json["bits_per_symbol"];
  EXPECT_NEAR(bits, nats / std::log(2.0), 1e-12);
  EXPECT_NEAR(json["perplexity"].get<double>(), std::exp(nats), 1e-9 * std::exp(nats));
  EXPECT_NEAR(json["bits_per_byte"].get<double>(), bits * json["symbols"].get<double>() / json["bytes"].get<double>(),
              1e-12);
  EXPECT_EQ(json["bytes"].get<std::size_t>(), read_bytes(text_).size());
  EXPECT_EQ(json["symbols"].get<std::size_t>(), read_bytes(text_).size() - 2);
}

TEST_F(CommandTest, symbol_and_line_surprisals_sum_to_the_evaluation) {
  train();
  const nlohmann::json json =
      only_object(unfold_command({"eval", run_, text_, "--json", "--per-symbol", folder_ / "s.tsv"}).out);
  const double total = json["bits_per_symbol"].get<double>() * json["symbols"].get<double>();
  const Finished scored = unfold_command({"score", run_, text_});
  ASSERT_EQ(scored.code, 0) << scored.err;
  EXPECT_EQ(scored.out, read_bytes(folder_ / "s.tsv"));
  EXPECT_EQ(unfold_command({"eval", run_, text_, "--per-symbol", "-"}).out, scored.out);
  const auto rows = rows_of(scored.out);
  ASSERT_EQ(rows.size(), json["symbols"].get<std::size_t>() + 1);
  EXPECT_EQ(rows[0], (std::vector<std::string>{"position", "symbol", "bits"}));
  double sum = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    ASSERT_EQ(rows[i].size(), 3u);
    EXPECT_EQ(rows[i][0], std::to_string(i - 1));
    sum += std::stod(rows[i][2]);
  }
  EXPECT_NEAR(sum, total, 1e-5 * total);

  const std::string text = read_bytes(text_);
  const auto lines = rows_of(unfold_command({"score", run_, text_, "--by", "line"}).out);
  EXPECT_EQ(static_cast<std::ptrdiff_t>(lines.size()) - 1,
            std::count(text.begin(), text.end(), '\n') + (text.ends_with('\n') ? 0 : 1));
  double line_sum = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) line_sum += std::stod(lines[i][2]);
  EXPECT_NEAR(line_sum, total, 1e-5 * total);
}

TEST_F(CommandTest, samples_are_reproducible_and_differ_by_seed) {
  train();
  const auto draw = [&](const Arguments& more) {
    const Finished finished = unfold_command(Arguments{"sample", run_, "--length", "80"} + more);
    EXPECT_EQ(finished.code, 0) << finished.err;
    return finished.out;
  };
  const std::string one = draw({});
  EXPECT_EQ(one.size(), 80u);
  EXPECT_EQ(draw({}), one);
  EXPECT_NE(draw({"--seed", "2"}), one);
  EXPECT_NE(draw({"--prime", "the cat"}), one);
  EXPECT_EQ(draw({"--temperature", "0"}), draw({"--top-k", "1", "--seed", "5"}));
  EXPECT_TRUE(draw({"--stop", "a"}).find('a') == draw({"--stop", "a"}).size() - 1);
  const nlohmann::json json = only_object(draw({"--count", "3", "--json"}));
  ASSERT_EQ(json["samples"].size(), 3u);
  EXPECT_EQ(json["samples"][0]["text"], one);
  EXPECT_NE(json["samples"][1]["text"], one);
  EXPECT_EQ(draw({"--length", "0"}), "");
}

TEST_F(CommandTest, info_shows_card_parameters_and_history) {
  train();
  for (const std::string& model : {run_, run_ + "/model.safetensors"}) {
    const Finished finished = unfold_command({"info", model});
    EXPECT_EQ(finished.code, 0) << finished.err;
    for (const char* text : {"rnn:8", "chars", "output/bias", "adam", "history"})
      EXPECT_THAT(finished.out, HasSubstr(text));
  }
}

TEST_F(CommandTest, info_plots_training_curves) {
  train();
  const std::string file = folder_ / "curves.svg";
  const Finished finished = unfold_command({"info", run_, run_, "--plot", file});
  EXPECT_EQ(finished.code, 0) << finished.err;
  const std::string svg = read_bytes(file);
  EXPECT_THAT(svg, HasSubstr("<svg"));
  EXPECT_THAT(svg, HasSubstr("rnn:8"));
  EXPECT_THAT(svg, HasSubstr("bits per symbol"));

  EXPECT_EQ(unfold_command(Arguments{"info", run_, run_}).code, 2);
  const Finished nothing = unfold_command({"info", folder_ / "no-such-run", "--plot", file});
  EXPECT_EQ(nothing.code, 4);
  EXPECT_THAT(nothing.err, HasSubstr("no such file; check the name"));
  std::filesystem::create_directory(folder_ / "empty");
  expect_failure({"info", folder_ / "empty", "--plot", file}, 4, "contains neither validations nor steps to plot");
}

TEST_F(CommandTest, info_prints_the_network_plan_or_reports_that_there_is_none) {
  train();
  const Finished finished = unfold_command({"info", run_, "--plan"});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_THAT(finished.out, StartsWith("stage 1, loop\n"));
  EXPECT_THAT(finished.out, HasSubstr("stage 2, batched\n  output = "));
  EXPECT_EQ(only_object(unfold_command({"info", run_, "--plan", "--json"}).out)["plan"], finished.out);
  const std::string fitted = folder_ / "fitted";
  ASSERT_EQ(unfold_command({"train", text_, "--model", "frequency", "--out", fitted}).code, 0);
  expect_failure({"info", fitted, "--plan"}, 2, "needs a network");
}

TEST_F(CommandTest, check_prints_a_table_and_passes_for_bundled_models) {
  for (const char* model : {"rnn:4,activation=relu", "lstm:300,layers=2", "gru:3,reset=after", "tensor-rnn:4"}) {
    const Finished finished = unfold_command({"check", model, "--units", "3", "--symbols", "3"});
    EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
    EXPECT_THAT(finished.out, HasSubstr("gradient"));
    EXPECT_THAT(finished.out, HasSubstr("transpose"));
    EXPECT_THAT(finished.out, HasSubstr(" of 10 checks ran, all passed"));
  }
}

TEST_F(CommandTest, check_reports_skipped_checks_with_reasons) {
  const Finished text = unfold_command({"check", "urnn:4"});
  EXPECT_THAT(text.out, ::testing::EndsWith("not run: forward, adjoint, modulus (the scalar graph does not support "
                                            "vector maps), path (vector maps have no paths)\n"));
  const nlohmann::json json = only_object(unfold_command({"check", "urnn:4", "--json"}).out);
  EXPECT_EQ(json["passed"], true);
  for (const auto& check : json["checks"]) EXPECT_EQ(check.contains("passed"), check["run"].get<bool>()) << check;
}

TEST_F(CommandTest, bench_reports_the_share_of_peak) {
  const Finished finished = unfold_command({"bench", "--model", "lstm:16", "--batch", "4", "--window", "16",
                                            "--symbols", "12", "--threads", "2", "--seconds", "0.05", "--json"});
  ASSERT_EQ(finished.code, 0) << finished.err;
  const nlohmann::json json = only_object(finished.out);
  EXPECT_EQ(json["model"], "lstm:16");
  EXPECT_EQ(json["parameters"], 4 * 16 * (12 + 16 + 1) + 12 * 16 + 12);
  EXPECT_EQ(json["flops_per_symbol"], 6 * (4 * 16 * 16 + 12 * 16));
  for (const char* key : {"symbols_per_second", "seconds_per_step", "share_of_peak"})
    EXPECT_GT(json[key].get<double>(), 0);
  EXPECT_LT(json["share_of_peak"].get<double>(), 1.2);
}

/// Returns the number of product operations in the output of `bench --profile`.
double operations_of_products(const nlohmann::json& profile) {
  double operations = 0;
  for (const auto& stage : profile["stages"]) {
    const std::string name = stage["stage"];
    if (name == "recurrent products" || name == "hoisted products" || name == "deferred gradients")
      operations += stage["operations"].get<double>();
  }
  return operations;
}

TEST_F(CommandTest, bench_accounts_for_every_stage_of_a_step) {
  const auto profile = [&](const std::string& model) {
    const Finished finished = unfold_command({"bench", "--profile", "--model", model, "--batch", "4", "--window", "16",
                                              "--symbols", "12", "--threads", "2", "--seconds", "0.05", "--json"});
    EXPECT_EQ(finished.code, 0) << finished.err;
    return only_object(finished.out);
  };
  const nlohmann::json gru = profile("gru:16");
  EXPECT_EQ(operations_of_products(gru), 4 * 16 * 6 * (3 * 16 * 16 + 12 * 16));
  EXPECT_GT(gru["share_of_attainable"].get<double>(), 0);
  // Three edges into each of 16 units instead of a matrix.
  EXPECT_EQ(operations_of_products(profile("gnn:16,edges=3")), 4 * 16 * 6 * (3 * 16 + 12 * 16));
}

}  // namespace
}  // namespace unfold::test
