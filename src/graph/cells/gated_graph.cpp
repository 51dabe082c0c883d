#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "graph/circuit/cell_maps.h"
#include "graph/circuit/concatenation.h"
#include "graph/circuit/mixed_sparse.h"
#include "numerics/functions.h"
#include "unfold/graph/cells/cell.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

/// Returns s(0) and s'(0); for relu, the slope above 0.
std::pair<double, double> at_zero(Map activation) {
  return activation == Map::sigmoid ? std::pair(0.5, 0.25) : std::pair(0.0, 1.0);
}

/// Returns the rates alpha_i at which units initially forget.
std::vector<double> forgetting_rates(Index n, const SparseOptions& options) {
  std::vector<double> rates;
  for (Index i = 0; i < n; ++i) rates.push_back(options.alpha > 0 ? options.alpha : 1 / static_cast<double>(i + 2));
  if (options.alpha > 0 || options.longest == 0) return rates;
  rates = initial_time_constants(n, options.longest / 2);  // 1 .. longest / 2
  for (double& rate : rates) rate = 1 / (2 * rate);
  return rates;
}

/// Initial values of a unit that forgets with rate alpha and whose inputs give V_i the standard deviation 1/2.
struct UnitInit {
  double loop;       ///< weight of the self-loop
  double deviation;  ///< standard deviation of the input at a step
  double offset;     ///< constant added at each step, which cancels s(0) from the self-loop

  UnitInit(double alpha, Map activation, bool leaky) {
    constexpr double kDeviation = 0.5;  // standard deviation of V_i in the stationary state
    const auto [at_rest, slope] = at_zero(activation);
    loop = (leaky ? -alpha : 1 - alpha) / slope;
    deviation = kDeviation * std::sqrt(2 * alpha - alpha * alpha);
    offset = -loop * at_rest;
  }
};

/// V_t = [V_{t-1}] + rho x_t + sum over edges of the weights that x_t mixes. The initialization is the same as for
/// symbols: unit i adds a random combination of its inputs, which the self-loop forgets.
Signal of_vector(Circuit& c, Signal x, Signal v, const SparseOptions& options, bool gated, bool leaky) {
  const Index n = v.size();
  const auto edges = random_edges(n, options.edges, options.graph);
  std::shared_ptr<const Operator> op;
  if (gated)
    op = mixed_sparse(edges, x.size(), {.activation = options.activation, .leaky = leaky});
  else
    op = sparse_operator(edges, {.activation = options.activation, .leaky = leaky});
  std::vector<double> tau(at(op->parameter_shape(0).cols), 0.0), deviations, offsets;
  const std::vector<double> rates = forgetting_rates(n, options);
  for (Index i = 0; i < n; ++i) {
    const UnitInit start(rates[at(i)], options.activation, leaky);
    const std::int32_t loop = edges->loops()[at(i)];
    tau[at(gated ? as_mixed_sparse(op.get())->column(0, loop) : loop)] = start.loop;
    deviations.push_back(start.deviation);
    offsets.push_back(start.offset);
  }
  const Term recurrent{.parameter = "tau",
                       .source = gated ? concatenate(c, "xV", {x, v}) : v,
                       .init = Init::block_values(std::move(tau)),
                       .op = std::move(op)};
  const Signal next = c.affine("V", n, {{"rho", x, Init::normal_columns(std::move(deviations))}, recurrent},
                               Init::block_values(std::move(offsets)));
  c.feed(v, next);
  return c.map(options.activation, next);
}

/// Returns the initial weights of the edges if the rates are not the defaults; `initialize_from_frequencies` reads the
/// rates from these weights. Otherwise returns zeros.
Init chosen_loops(const Edges& edges, const SparseOptions& options, bool leaky) {
  if (options.alpha == 0 && options.longest == 0) return Init::zero();
  const std::vector<double> rates = forgetting_rates(edges.outputs(), options);
  std::vector<double> tau(at(edges.count()), 0.0);
  for (Index i = 0; i < edges.outputs(); ++i)
    tau[at(edges.loops()[at(i)])] = UnitInit(rates[at(i)], options.activation, leaky).loop;
  return Init::block_values(std::move(tau));
}

/// V_t = [V_{t-1}] + rho_{x_t} + sum over edges tau s(V_{t-1}), a_t = s(V_t).
Signal sparse_cell(Circuit& c, Signal x, Index n, const SparseOptions& options, bool gated, bool leaky,
                   bool always = false) {
  const Signal v = c.link(n, Delay::previous(), true);
  if (!c.is_symbols(x)) return of_vector(c, x, v, options, gated, leaky);
  const auto edges = random_edges(n, options.edges, options.graph);
  Term recurrent{.parameter = "tau", .source = v, .init = chosen_loops(*edges, options, leaky), .gate = x};
  recurrent.op = sparse_operator(
      edges, {.activation = options.activation, .leaky = leaky, .gating = gated ? Gating::weights : Gating::state});
  const Signal next = c.affine("V", n, {{"rho", x, Init::zero()}, recurrent}, Init::zero(), always);
  c.feed(v, next);
  return c.map(options.activation, next);
}

/// Returns (u - mean) / deviation under the frequencies, u uniform on [0, 1); zero if the deviation is zero.
std::vector<double> standardized(Random& random, std::span<const double> frequencies) {
  std::vector<double> u(frequencies.size());
  for (double& x : u) x = random.uniform();
  double total = 0, mean = 0, variance = 0;
  for (std::size_t x = 0; x < u.size(); ++x) total += frequencies[x], mean += frequencies[x] * u[x];
  mean /= total;
  for (std::size_t x = 0; x < u.size(); ++x) variance += frequencies[x] * (u[x] - mean) * (u[x] - mean);
  const double deviation = std::sqrt(variance / total);
  for (double& x : u) x = deviation > 0 ? (x - mean) / deviation : 0;
  return u;
}

/// Returns the rate of a unit whose self-loop is edge e: the rate from `chosen_loops`, or 1 / (i + 2).
double rate_of(const Init& init, std::int32_t e, Index i, const SparseForm& form) {
  if (init.values.size() == 1 && init.values.front() == 0) return 1 / static_cast<double>(i + 2);
  const double moved = init.values[at(e)] * at_zero(form.activation).second;
  return form.leaky ? -moved : 1 - moved;
}

/// Initializes the recurrence: unit i forgets with rate alpha_i and adds a random number for each symbol.
template <class T>
void start_recurrence(const Circuit& circuit, const Node& affine, const Node::AffineTerm& term,
                      std::span<const double> frequencies, std::uint64_t seed, Parameters<T>& parameters) {
  const SparseOperator& op = *as_sparse(term.op.get());
  Matrix<T> tau = parameters[term.parameter];
  std::fill_n(tau.data, tau.rows * tau.cols, T{0});
  Matrix<T> rho{};
  for (const auto& other : affine.terms())
    if (other.dense()) rho = parameters[other.parameter];
  Random random(seed, affine.name + "/start");
  for (Index i = 0; i < affine.size; ++i) {
    const std::int32_t e = op.edges().loops()[at(i)];
    const UnitInit start(rate_of(circuit.parameters()[at(term.parameter)].init, e, i, op.form()), op.form().activation,
                         op.form().leaky);
    if (e >= 0)
      for (Index x = 0; x < tau.rows; ++x) tau(x, e) = static_cast<T>(start.loop);
    const std::vector<double> u = standardized(random, frequencies);
    for (Index x = 0; x < rho.rows; ++x) rho(x, i) = static_cast<T>(start.deviation * u[at(x)] + start.offset);
  }
}

}  // namespace

std::shared_ptr<const Edges> random_edges(Index units, Index degree, Index graph) {
  if (degree < 1) throw UsageError("a graph needs at least one edge per unit: the self-loop");
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  std::vector<std::int32_t> others(at(units));
  Random random(static_cast<std::uint64_t>(graph), "graph");
  for (Index j = 0; j < units; ++j) {
    std::iota(others.begin(), others.end(), 0);
    std::swap(others[0], others[at(j)]);  // the self-loop first
    const Index count = std::min(degree, units);
    for (Index k = 1; k < count; ++k) {
      const auto pick = k + static_cast<Index>(random.below(static_cast<std::uint64_t>(units - k)));
      std::swap(others[at(k)], others[at(pick)]);
    }
    for (Index k = 0; k < count; ++k) pairs.emplace_back(static_cast<std::int32_t>(j), others[at(k)]);
  }
  return std::make_shared<const Edges>(units, units, std::move(pairs));
}

Signal gnn(Circuit& c, Signal x, Index n, const SparseOptions& options) {
  return sparse_cell(c, x, n, options, true, false);
}

Signal glnn(Circuit& c, Signal x, Index n, const SparseOptions& options) {
  return sparse_cell(c, x, n, options, true, true);
}

Signal sparse_rnn(Circuit& c, Signal x, Index n, const SparseRnnOptions& options) {
  return sparse_cell(c, x, n, options, false, options.leak, options.always);
}

template <class Visitor>
void describe(Visitor& v, SparseOptions& o) {
  v("edges", o.edges, "outgoing edges per unit, including the self-loop", range(1, kMostUnits));
  v("graph", o.graph, "seed of the random graph; 0: seed of the training run", range(0, 1e15));
  v("activation", o.activation, "activation function of the units",
    {{Map::tanh, "tanh"}, {Map::relu, "relu"}, {Map::sigmoid, "sigmoid"}});
  v("alpha", o.alpha, "initial rate at which every unit forgets; 0: determined by longest", range(0, 1));
  v("longest", o.longest, "initial time constants, spread over 2 .. longest steps; 0: i + 2 for unit i", at_least(0));
}

template <class Visitor>
void describe(Visitor& v, SparseRnnOptions& o) {
  describe(v, static_cast<SparseOptions&>(o));
  v("leak", o.leak, "the pre-activations leak, as in glnn, but without gates");
  v("always", o.always, "weights from an always-active unit, in addition to the weights of symbols");
}

namespace {

template <class Options>
CellEntry sparse_entry(const std::string& name, const char* help,
                       Signal (*add)(Circuit&, Signal, Index, const Options&)) {
  return CellOf<Options>{
      .name = name,
      .help = help,
      .add = add,
      .fault = [name](const StackOptions& stack, const Options& o) -> std::string {
        if (o.alpha > 0 && o.longest > 0)
          return "alpha= and longest= both set the initial rates; leave out one of them";
        if (o.longest > 0 && o.longest <= 2) return "longest must be greater than 2 steps, or 0";
        return stack.trained_initial ? name + " always has a trained initial state; leave out trained-initial=" : "";
      },
      .graph = &Options::graph};
}

}  // namespace

CellEntry gnn_cell() { return sparse_entry<SparseOptions>("gnn", "gated network on a random graph", gnn); }
CellEntry glnn_cell() { return sparse_entry<SparseOptions>("glnn", "gated leaky network on a random graph", glnn); }
CellEntry sparse_rnn_cell() {
  return sparse_entry<SparseRnnOptions>("sparse-rnn", "simple recurrent network on a random graph", sparse_rnn);
}

template <class T>
void initialize_from_frequencies(const Circuit& circuit, Signal logits, std::span<const double> read,
                                 std::span<const double> predicted, std::uint64_t seed, Parameters<T>& parameters) {
  for (const Node& node : circuit.nodes())
    for (const auto& term : node.terms())
      if (as_sparse(term.op.get()) != nullptr && term.gate >= 0)
        start_recurrence(circuit, node, term, read, seed, parameters);
  const Node& output = circuit.nodes()[at(logits.id)];
  for (const auto& term : output.terms()) {
    Matrix<T> w = parameters[term.parameter];
    std::fill_n(w.data, w.rows * w.cols, T{0});
  }
  const int bias = output.affine().bias;
  if (bias < 0) return;
  const double total = std::accumulate(predicted.begin(), predicted.end(), 0.0);
  for (Index x = 0; x < output.size; ++x) {
    // A symbol that is never predicted gets a lower value than a symbol that is predicted once, but not -infinity.
    const double share = std::max(predicted[at(x)], 0.5) / std::max(total, 1.0);
    double log = 0;
    vector_log(&share, &log, 1);
    parameters[bias](0, x) = static_cast<T>(log);
  }
}

template void initialize_from_frequencies(const Circuit&, Signal, std::span<const double>, std::span<const double>,
                                          std::uint64_t, Parameters<float>&);
template void initialize_from_frequencies(const Circuit&, Signal, std::span<const double>, std::span<const double>,
                                          std::uint64_t, Parameters<double>&);

}  // namespace unfold
