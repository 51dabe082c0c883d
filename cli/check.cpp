#include "app/inspect/gradient_check.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "app/forecast/forecast_table.h"
#include "base/options/shell_argument.h"
#include "cli/shared_options.h"
#include "cli/terminal/console_reporter.h"
#include "cli/terminal/metrics_text.h"
#include "cli/verb.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

class Check final : public Verb {
 public:
  Check();
  ExitCode run(Console& console) override;

 private:
  std::vector<std::string> model_;
  Index units_ = 5, symbols_ = 4, seed_ = 1;
};

Check::Check()
    : Verb(CommandOptions("check", "checks all derivatives of a small model against finite differences",
                          {"unfold check lstm:256,layers=2", "unfold check gru:8,reset=after --seed 3 --json"})) {
  options_.add_inputs({.name = "model",
                       .target = &model_,
                       .placeholder = "MODEL-SPEC",
                       .help = "the model, as for train; its sizes are reduced to --units"});
  options_.add({.name = "units",
                .target = &units_,
                .placeholder = "N",
                .help = "largest number of units in a layer",
                .least = 1,
                .most = 64});
  options_.add(alphabet_size_row(symbols_, 256));
  options_.add(
      {.name = "seed", .target = &seed_, .placeholder = "N", .help = "random seed of parameters and data", .least = 0});
  add_common();
}

nlohmann::ordered_json to_json(const CheckOutcome& outcome) {
  nlohmann::ordered_json checks = nlohmann::ordered_json::array();
  for (const CheckResult& result : outcome.report.results) {
    checks.push_back({{"name", result.name}, {"what", result.what}, {"run", result.run}});
    if (result.run)
      checks.back().update({{"passed", result.passed()}, {"worst", result.worst}, {"bound", result.bound}});
    checks.back()["where"] = result.where;
  }
  return {{"model", outcome.model},
          {"passed", outcome.report.passed()},
          {"summary", outcome.report.summary()},
          {"checks", std::move(checks)}};
}

/// Returns the error for a file or a run folder, which other commands describe; the error itself for other names.
UsageError explained(const UsageError& error, const std::string& model) {
  std::error_code none;
  if (!std::filesystem::exists(model, none)) return error;
  const bool trained = looks_like_model(model);
  return UsageError(
      fmt::format("check verifies the derivatives of a model that it creates, such as lstm:100, but {0} is a {1}; "
                  "`unfold {2} {3}` describes it",
                  model, trained ? "trained model" : "file", trained ? "info" : "inspect", shell_argument(model)));
}

ExitCode Check::run(Console& console) {
  ConsoleReporter reporter(console);
  const CheckOutcome outcome = [&] {
    try {
      return check(
          {.model = model_.front(), .units = units_, .symbols = symbols_, .seed = static_cast<std::uint64_t>(seed_)},
          reporter);
    } catch (const UsageError& error) {
      throw explained(error, model_.front());
    }
  }();
  print_result(json_ ? one_line(to_json(outcome)) : outcome.report.text());
  flush_results();
  if (!outcome.report.passed())
    throw VerificationError(fmt::format("the derivatives of {} are wrong; see the table", outcome.model));
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_check() { return std::make_unique<Check>(); }

}  // namespace unfold
