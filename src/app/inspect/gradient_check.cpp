#include "app/inspect/gradient_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "loss/symbol_probabilities.h"
#include "model/fitted_spec.h"
#include "model/hmm/hmm.h"
#include "model/network/density_model.h"
#include "numerics/functions.h"
#include "unfold/loss/registry.h"
#include "unfold/model/network/network_body.h"
#include "unfold/model/network/spec.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

using Type = FieldSpecification::Type;

Structure small_structure() {
  const std::vector<Index> lengths = {4, 1, 3};
  return Structure::chains(lengths);
}

/// Returns a node with three children of which one is missing, a chain of nodes, and single nodes.
Structure small_trees() {
  const Tree trees[] = {{{{}, {}, {0, 1}, {}, {2, -1, 3}}}, {{{}}}, {{{}, {0}, {}, {1, 2}}}};
  return Structure::trees(trees);
}

/// Grids of different shapes; the last layer of two of them has several positions.
Structure small_grids(const std::vector<Index>& sides) {
  Index block = 1;
  for (const Index side : sides) block *= side;
  const std::pair<Index, Index> shapes[] = {{2 * block, 3 * block}, {1, 1}, {block + 1, block}};
  return Structure::grids(shapes, sides);
}

/// Checks a density model on vectors with `request.symbols` numbers.
CheckOutcome check_density(const CheckRequest& request, Reporter& reporter) {
  const ModelSpec spec = parse_model_spec(request.model);
  const DataSpecification data{
      .source = "table",
      .fields = {{.name = kOne, .type = Type::values, .size = 1},
                 {.name = kVector, .type = Type::values, .size = request.symbols, .once = true}}};
  CheckOutcome outcome{.model = to_string(spec), .report = {}};
  Circuit circuit;
  const Network<double> network = build_network<double>(
      spec, data, {.reads = {kOne}, .heads = {{.field = kVector, .loss = outcome.model}}}, circuit);
  reporter.remark(fmt::format("checking {} with vectors of {} numbers: {} parameters, double precision", outcome.model,
                              request.symbols, circuit.parameter_count()));
  outcome.report = check_derivatives(network, small_structure(), {.seed = request.seed});
  return outcome;
}

CheckOutcome check_network(const CheckRequest& request, Reporter& reporter) {
  if (names_density(request.model)) return check_density(request, reporter);
  ModelSpec spec = with_max_units(parse_model_spec(request.model), request.units);
  spec.dropout = spec.dropouti = spec.dropouth = 0;  // dropout masks are constant under differentiation
  CheckOutcome outcome{.model = to_string(spec), .report = {}};
  Circuit circuit;
  const Signal input = [&] {
    const auto part = circuit.in_part(input_part(spec));
    return circuit.symbols("symbols", request.symbols);
  }();
  const ChosenLoss chosen = choose_loss(spec.loss.empty() ? "softmax" : spec.loss);
  const std::unique_ptr<Loss<double>> loss = chosen.make<double>();
  if (auto* counted = dynamic_cast<SymbolCount<double>*>(loss.get())) counted->set_symbols(request.symbols);
  const ModelSignals signals = build_model(spec, input, chosen.signal_size(request.symbols), circuit);
  loss->declare(circuit, signals.logits);
  reporter.remark(fmt::format("checking {} with {} symbols: {} parameters, double precision", outcome.model,
                              request.symbols, circuit.parameter_count()));
  const Structure structure = spec.cell->reads_trees()   ? small_trees()
                              : spec.cell->reads_grids() ? small_grids(patches_of(spec))
                                                         : small_structure();
  outcome.report = check_derivatives(circuit, *loss, structure, {.seed = request.seed});
  return outcome;
}

/// Returns p(next symbol | symbols read) of the HMM, computed by the forward algorithm.
std::vector<double> next_probabilities(const HmmParameters& hmm, std::vector<Symbol> read) {
  std::vector<double> result;
  const double before = log_likelihood(hmm, read);
  read.push_back(0);
  for (Symbol next = 0; next < hmm.alphabet; ++next) {
    read.back() = next;
    result.push_back(log_likelihood(hmm, read) - before);
  }
  vector_exp(result.data(), result.data(), hmm.alphabet);
  return result;
}

/// The HMM as a network with equivalent parameters.
class HmmAsNetwork {
 public:
  explicit HmmAsNetwork(const CheckRequest& request)
      : hmm_(HmmParameters::random(states(request), request.symbols, request.seed, 0)),
        signals_(build_model(parse_model_spec(fmt::format("linear-gnn:{}", hmm_.states)), hmm_.alphabet, circuit_)),
        parameters_(circuit_),
        passes_(circuit_, small_structure(), request.seed) {
    set_hmm(hmm_, parameters_);
    passes_.set_parameters(parameters_.flat());
    CircuitInputs inputs = passes_.inputs();
    for (Symbol& x : inputs.symbols.at(signals_.symbols.id))
      x = std::max(x, Symbol{0});  // an HMM does not support missing symbols
    passes_.set_inputs(std::move(inputs));
  }

  std::string spec() const { return HmmModel::canonical(fmt::format("hmm:{}", hmm_.states)); }
  Index parameter_count() const { return circuit_.parameter_count(); }

  CheckReport check(std::uint64_t seed) {
    CheckReport report = check_derivatives(passes_, *softmax_loss<double>(), {.seed = seed});
    report.results.push_back(check_probabilities());
    return report;
  }

 private:
  static Index states(const CheckRequest& request) {
    const std::string spec = HmmModel::canonical(request.model);
    return std::min(request.units, parse_fitted_spec<HmmOptions>(spec, "states").states);
  }

  CheckResult check_probabilities() {
    CheckResult result{.name = "probabilities", .what = "network = forward algorithm of the HMM", .bound = 1e-12};
    const HmmParameters hmm = hmm_of(parameters_);
    const std::vector<double> outputs = passes_.outputs();
    const Structure& structure = passes_.structure();
    const std::vector<Symbol>& symbols = passes_.inputs().symbols.at(signals_.symbols.id);
    for (Index s = 0; s < structure.sequences(); ++s) {
      std::vector<Symbol> read;
      for (Index t = 0; t < structure.size(s); ++t) {
        const auto row = static_cast<std::size_t>(structure.row(s, t));
        read.push_back(symbols[row]);
        const auto o = std::span(outputs).subspan(row * static_cast<std::size_t>(hmm.alphabet),
                                                  static_cast<std::size_t>(hmm.alphabet));
        compare(result, o, next_probabilities(hmm, read), fmt::format("position {} of sequence {}", t, s));
      }
    }
    return result;
  }

  static void compare(CheckResult& result, std::span<const double> o, const std::vector<double>& expected,
                      const std::string& where) {
    std::vector<double> p(o.begin(), o.end());  // log probabilities
    vector_exp(p.data(), p.data(), static_cast<Index>(p.size()));
    for (std::size_t x = 0; x < o.size(); ++x) {
      const double error = std::fabs(p[x] - expected[x]);
      if (error <= result.worst && !result.where.empty()) continue;
      result.worst = std::isnan(error) ? INFINITY : error;
      result.where = fmt::format("symbol {} after {}", x, where);
    }
  }

  Circuit circuit_;
  HmmParameters hmm_;
  ModelSignals signals_;
  Parameters<double> parameters_;
  Passes passes_;
};

CheckOutcome check_hmm(const CheckRequest& request, Reporter& reporter) {
  HmmAsNetwork network(request);
  reporter.remark(fmt::format("checking {} as a network with {} symbols: {} parameters, double precision",
                              network.spec(), request.symbols, network.parameter_count()));
  return {.model = network.spec(), .report = network.check(request.seed)};
}

}  // namespace

CheckOutcome check(const CheckRequest& request, Reporter& reporter) {
  const std::string name = parse_spec(request.model).name;
  if (name == HmmModel::kName) return check_hmm(request, reporter);
  if (is_fitted_model(request.model))
    throw UsageError(fmt::format(
        "{} is fitted, not trained by gradients, so it has no derivatives to check; check a network, or an hmm", name));
  return check_network(request, reporter);
}

}  // namespace unfold
