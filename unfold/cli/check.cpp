#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "unfold/cli/figures.h"
#include "unfold/cli/verb.h"
#include "unfold/models/spec.h"
#include "unfold/verify/derivative_check.h"

namespace unfold {
namespace {

class Check final : public Verb {
 public:
  Check();
  ExitCode run(Console& console) override;

 private:
  nlohmann::ordered_json to_json(const CheckReport& report, const std::string& model) const;

  std::vector<std::string> model_;
  Index units_ = 5, symbols_ = 4, seed_ = 1;
};

Check::Check()
    : Verb(VerbOptions("check", "verifies all derivatives of a model against finite differences, at a small size",
                       {"unfold check lstm:256,layers=2", "unfold check gru:8,reset=after --seed 3 --json"})) {
  options_.add_inputs({.name = "model",
                       .target = &model_,
                       .placeholder = "MODEL-SPEC",
                       .help = "the model, as for train; its size is cut down to --units"});
  options_.add({.name = "units",
                .target = &units_,
                .placeholder = "N",
                .help = "largest number of units in a layer",
                .least = 1,
                .most = 64});
  options_.add({.name = "symbols",
                .target = &symbols_,
                .placeholder = "N",
                .help = "size of the alphabet",
                .least = 2,
                .most = 256});
  options_.add({.name = "seed", .target = &seed_, .placeholder = "N", .help = "of parameters and data", .least = 0});
  add_common();
}

nlohmann::ordered_json Check::to_json(const CheckReport& report, const std::string& model) const {
  nlohmann::ordered_json checks = nlohmann::ordered_json::array();
  for (const CheckResult& result : report.results)
    checks.push_back({{"name", result.name},
                      {"what", result.what},
                      {"run", result.run},
                      {"passed", result.passed()},
                      {"worst", result.worst},
                      {"bound", result.bound},
                      {"where", result.where}});
  return {{"model", model}, {"passed", report.passed()}, {"checks", std::move(checks)}};
}

ExitCode Check::run(Console& console) {
  ModelSpec spec = cut_down(parse_model_spec(model_.front()), units_);
  spec.dropout = 0;  // a mask is a constant for every derivative
  const std::string model = to_string(spec);
  Circuit circuit;
  build_model(spec, circuit.symbols("symbols", symbols_), symbols_, circuit);
  console.remark(fmt::format("checking {} with {} symbols: {} parameters, double precision", model, symbols_,
                             circuit.parameter_count()));
  const std::vector<Index> lengths = {4, 1, 3};
  const CheckReport report = check_derivatives(circuit, *softmax_readout<double>(), Structure::chains(lengths),
                                               {.seed = static_cast<std::uint64_t>(seed_)});
  print_result(json_ ? one_line(to_json(report, model)) : report.text());
  flush_results();
  if (!report.passed())
    throw VerificationError(fmt::format("the derivatives of {} are wrong; the table says which and where", model));
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_check() { return std::make_unique<Check>(); }

}  // namespace unfold
