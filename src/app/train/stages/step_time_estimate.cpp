#include "app/train/stages/step_time_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>

#include "app/fields/defaults/sequence_choice.h"
#include "base/threads/available_memory.h"
#include "numerics/moments.h"
#include "unfold/graph/circuit/unit_weights.h"
#include "unfold/graph/engine/unfolding.h"
#include "unfold/optim/optimizer.h"

namespace unfold {
namespace {

constexpr Index kTimedPositions = 8, kTimedChains = 16, kTimedRows = 64, kTimedMatrix = 160;
constexpr double kMinReportedSeconds = 5;  // seconds
constexpr double kMinMeasuredOperations =
    2e10;                                  // floating-point operations, which take seconds on the slowest machines
constexpr double kPassesOfRiemannian = 3;  // two evaluations and the work between them, in units of one gradient

/// Returns the time of the fastest of several calls, in seconds. The first call allocates memory, and other processes
/// add noise.
template <class Work>
double seconds_of(Work&& work) {
  using Clock = std::chrono::steady_clock;
  double best = 0;
  for (int time = 0; time < 4; ++time) {
    const Clock::time_point start = Clock::now();
    work();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = time == 0 ? seconds : std::min(best, seconds);
  }
  return best;
}

/// Returns the seconds per position of a gradient on one thread. With several threads, the time of such a small pass
/// would mostly be synchronization.
template <class T>
double pass_seconds(const LanguageModel<T>& model) {
  Team team(1);
  Unfolding<T> unfolding(model.plan(), team);
  unfolding.lay(Structure::chains(kTimedChains, kTimedPositions));
  unfolding.set_parameters(model.parameters());
  std::ranges::fill(unfolding.symbols(model.symbols()), Symbol{0});
  std::vector<T> gradient(static_cast<std::size_t>(model.parameters().size()));
  return seconds_of([&] {
           unfolding.forward();
           unfolding.clear_adjoints();
           unfolding.backward(gradient);
         }) /
         static_cast<double>(kTimedChains * kTimedPositions);
}

/// The units of an affine map: their number, and the number of inputs of each.
struct UnitsOfMap {
  Index units = 0, gated = 0, shared = 1, alphabet = 0;  // shared: including the bias
  Index weights() const { return gated + shared; }
};

Index edges_of(const Node::AffineTerm& term) {
  const UnitWeights* weights = unit_weights(term.op.get());
  return weights == nullptr ? 0 : weights->unit_edges().count();
}

UnitsOfMap units_of(const Plan& plan, const Node& node) {
  UnitsOfMap map{.units = node.size};
  for (const Node::AffineTerm& term : node.terms()) {
    const Node& source = plan.nodes()[static_cast<std::size_t>(term.source)];
    const bool lookup = source.kind() == Node::Kind::symbols;
    const Index weights = lookup ? 1 : term.dense() ? source.size : edges_of(term) / std::max<Index>(1, node.size);
    (lookup || term.gate >= 0 ? map.gated : map.shared) += weights;
    if (lookup) map.alphabet = source.size;
    if (term.gate >= 0) map.alphabet = plan.nodes()[static_cast<std::size_t>(term.gate)].size;
  }
  return map;
}

/// Returns the seconds per position for the sums of one unit.
template <class T>
double sum_seconds(const UnitsOfMap& map, bool full) {
  std::vector<std::int32_t> gated(static_cast<std::size_t>(map.gated)), shared(static_cast<std::size_t>(map.shared));
  for (std::size_t i = 0; i < shared.size(); ++i) shared[i] = static_cast<std::int32_t>(i);
  UnitMoments moments(std::move(gated), std::move(shared), map.alphabet, full);
  const std::vector<double> inputs(static_cast<std::size_t>(kTimedRows * map.shared), 0.5);
  const std::vector<Symbol> symbols(static_cast<std::size_t>(kTimedRows), 0);
  const std::vector<T> adjoints(static_cast<std::size_t>(kTimedRows), T{0.5});
  return seconds_of([&] {
           moments.add<T>({inputs.data(), kTimedRows, map.shared, map.shared}, map.gated > 0 ? symbols.data() : nullptr,
                          adjoints.data(), nullptr, 1);
         }) /
         static_cast<double>(kTimedRows);
}

/// Returns the seconds per multiply-add of a factorization.
double factor_seconds() {
  constexpr Index n = kTimedMatrix;
  std::vector<double> matrix(static_cast<std::size_t>(n * n));
  const auto work = static_cast<double>(n) * n * n / 6;
  return seconds_of([&] {
           std::ranges::fill(matrix, 0.01);
           for (Index i = 0; i < n; ++i) matrix[static_cast<std::size_t>(i * n + i)] = 1;
           cholesky(matrix.data(), n, n);
         }) /
         work;
}

/// Returns the multiply-adds to solve for one unit: its shared block, bordered by one block per symbol.
double solution_work(const UnitsOfMap& map) {
  const auto s = static_cast<double>(map.shared), g = static_cast<double>(map.gated);
  return s * s * s / 6 + static_cast<double>(map.alphabet) * (g * s * s / 2 + g * g * g / 6);
}

/// Adds the cost of the matrices of a map's units.
template <class T>
void add_metric(StepEstimate& cost, const UnitsOfMap& map, bool full, Index positions, int threads) {
  const auto units = static_cast<double>(map.units), s = static_cast<double>(map.shared),
             g = static_cast<double>(map.gated), a = static_cast<double>(map.alphabet);
  const double sums = sum_seconds<T>(map, full) * static_cast<double>(positions) * units / threads;
  const double rows = full ? 1 : 3 / std::max(1.0, s);  // number of rows of the shared block, relative to its size
  cost.metric_seconds += sums + (full ? units * solution_work(map) * factor_seconds() : 0);
  cost.metric_bytes += 8 * units * (s * s * rows + (a + 1) * (g + 1) * (g + s));
  cost.units += map.units;
  cost.weights = std::max(cost.weights, map.weights());
}

std::string seconds_text(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.0f} h", seconds / 3600);
}

bool has_metric(std::string_view optimizer) { return spec_name(optimizer) == "ruop" || spec_name(optimizer) == "rbpm"; }

/// Returns the number of passes per step, in units of one gradient.
template <class T>
double passes_of(std::string_view optimizer) {
  const bool riemannian = has_metric(optimizer) || spec_name(optimizer) == "ascent";
  return riemannian ? kPassesOfRiemannian : static_cast<double>(make_optimizer<T>(optimizer, 1)->gradients());
}

}  // namespace

template <class T>
StepEstimate estimate_step(const LanguageModel<T>& model, std::string_view optimizer, Index positions, int threads) {
  StepEstimate cost;
  if (has_metric(optimizer)) {
    const Plan& plan = *model.plan();
    const bool full = optimizer.find("reduction=quasi-diagonal") == std::string_view::npos;
    for (int i = 0; i < static_cast<int>(plan.nodes().size()); ++i) {
      const Node& node = plan.nodes()[static_cast<std::size_t>(i)];
      if (node.kind() == Node::Kind::affine && plan.live(i) && i != model.logits().id)
        add_metric<T>(cost, units_of(plan, node), full, positions, threads);
    }
  }
  cost.seconds =
      cost.metric_seconds + passes_of<T>(optimizer) * pass_seconds(model) * static_cast<double>(positions) / threads;
  return cost;
}

Index symbols_of_step(const TrainSettings& s, const Split& training) {
  std::vector<Index> lengths;
  lengths.reserve(training.pieces.size());
  for (const Piece& piece : training.pieces) lengths.push_back(piece.range.size());
  if (!s.whole_sequences) {
    const Index windows = make_optimizer<float>(s.optimizer, 1)->batches();
    return std::min(training.symbols(), s.batch * s.window * windows);
  }
  std::ranges::sort(lengths, std::greater<>());
  lengths.resize(std::min(lengths.size(), static_cast<std::size_t>(s.batch)));
  return std::accumulate(lengths.begin(), lengths.end(), Index{0});
}

template <class T>
std::string step_time_note(const LanguageModel<T>& model, const TrainSettings& settings, const Split& training,
                           int threads) {
  const Index positions = symbols_of_step(settings, training);
  const std::string name(spec_name(settings.optimizer));
  const double weights = static_cast<double>(model.parameters().size()), read = static_cast<double>(positions);
  const double passes = passes_of<T>(settings.optimizer);
  if (!has_metric(name) && 6 * weights * read * passes < kMinMeasuredOperations) return {};
  const StepEstimate cost = estimate_step(model, settings.optimizer, positions, threads);
  const bool fits = cost.metric_bytes <= static_cast<double>(available_memory());
  if (cost.seconds < kMinReportedSeconds && fits) return {};
  std::string text = fmt::format("a step of {} on {} symbols takes about {}, during which no progress is shown", name,
                                 positions, seconds_text(cost.seconds));
  if (cost.units == 0) return text + "; fewer symbols per step (--batch, --window) make steps faster";
  text += fmt::format(": {} units have a matrix of up to {} x {} weights each, {} in total{}", cost.units, cost.weights,
                      cost.weights, bytes_text(static_cast<std::size_t>(cost.metric_bytes)),
                      fits ? "" : ", which exceeds the available memory");
  const std::string reduced = name + ":reduction=quasi-diagonal";
  const StepEstimate less = estimate_step(model, reduced, positions, threads);
  if (less.seconds < cost.seconds / 2)
    text += fmt::format("; {} would take about {}", reduced, seconds_text(less.seconds));
  return text + "; sparse (glnn:N,edges=3) or smaller networks and --optimizer adam are faster";
}

template std::string step_time_note(const LanguageModel<float>&, const TrainSettings&, const Split&, int);
template std::string step_time_note(const LanguageModel<double>&, const TrainSettings&, const Split&, int);
template StepEstimate estimate_step(const LanguageModel<float>&, std::string_view, Index, int);
template StepEstimate estimate_step(const LanguageModel<double>&, std::string_view, Index, int);

}  // namespace unfold
