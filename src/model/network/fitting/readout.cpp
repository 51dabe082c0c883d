#include "model/network/fitting/readout.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/text/example_weights.h"
#include "graph/cells/autoregression.h"
#include "graph/cells/kernels.h"
#include "graph/circuit/concatenation.h"
#include "numerics/functions.h"
#include "train/softmax_regression.h"
#include "unfold/base/error.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/numerics/product.h"

namespace unfold {
namespace {

/// For the sequence in each slot, the number of positions read so far.
class Positions {
 public:
  void enter(const Carry& carry) {
    seen_.resize(std::max(seen_.size(), at(carry.slots_needed)));
    for (const Index slot : carry.fresh) seen_[at(slot)] = 0;
  }
  Index before(const Batch& batch, Index chain) const { return seen_[at(batch.carry.slots[at(chain)])]; }
  void leave(const Batch& batch) {
    for (Index chain = 0; chain < batch.structure.sequences(); ++chain)
      seen_[at(batch.carry.slots[at(chain)])] += batch.structure.size(chain);
    for (const auto& [from, to] : batch.carry.moves) seen_[at(to)] = seen_[at(from)];
  }

 private:
  std::vector<Index> seen_;
};

/// Where the inputs of the map of a head contain the current value of the predicted field.
struct Current {
  std::string read = {};  ///< field of the batch
  Index place = -1;       ///< position of its first number; -1: the inputs do not contain it
};

/// Returns the place of a signal in another one: 0 if they are the same, its offset in a concatenation, otherwise -1.
Index place_in(const Circuit& circuit, int signal, int whole) {
  if (signal == whole) return 0;
  for (const auto& term : circuit.nodes()[at(whole)].terms()) {
    const Placed* placed = as_concatenation(term.op.get());
    const Index inner = placed != nullptr ? place_in(circuit, signal, term.source) : -1;
    if (inner >= 0) return placed->offset() + inner;
  }
  return -1;
}

template <class T>
Current current_of(const Network<T>& network, const Head<T>& head) {
  const Circuit& circuit = *head.signal.circuit;
  const Node& map = circuit.nodes()[at(head.signal.id)];
  if (map.terms().size() != 1) return {};
  for (const NetworkInput& input : network.inputs) {
    if (parse_read(input.field).field != head.field) continue;
    return {.read = input.field, .place = place_in(circuit, input.signal.id, map.terms().front().source)};
  }
  return {};
}

/// The regression for one head: the inputs of its affine map, and the sums.
template <class T>
class HeadFit {
 public:
  HeadFit(const Head<T>& head, const Current& current, const ReadoutOptions& options)
      : head_(head), circuit_(*head.signal.circuit), current_(current) {
    const auto refuse = [&](const std::string& why) {
      throw UsageError("a fitted readout requires numbers or classes predicted by a linear map; the head of " +
                       head.field + " " + why + "; use readout=trained");
    };
    log_ = head.loss->name() == "log-normal";
    normal_ = log_ || head.loss->name() == "normal";
    classes_ = head.loss->name() == "softmax";
    if (classes_ || log_) current_ = {};
    if (!normal_ && !classes_ && head.loss->name() != "gaussian")
      refuse("has the loss " + std::string(head.loss->name()));
    if (classes_ && node().size > kMostClasses)
      refuse(fmt::format("has {} classes, but at most {} are supported", node().size, kMostClasses));
    if (node().kind() != Node::Kind::affine || node().affine().bias < 0) refuse("is not an affine map with a bias");
    Index inputs = 0;
    for (const auto& term : node().terms()) {
      const Node& source = circuit_.nodes()[at(term.source)];
      const bool states = source.kind() == Node::Kind::affine || source.kind() == Node::Kind::pointwise;
      if (!term.dense() || !states) refuse("has terms other than products of a matrix and a state");
      inputs += source.size;
    }
    sums_.emplace(inputs, outputs(), options.blocks);
    x_.resize(kRows * inputs), y_.resize(kRows * outputs());
    inputs_.resize(at(inputs)), counts_.resize(at(outputs()));
  }

  Index outputs() const { return normal_ ? node().size / 2 : node().size; }
  const Node& node() const { return circuit_.nodes()[at(head_.signal.id)]; }

  void add(const Batch& batch, const Unfolding<T>& u, const Positions& positions, Index washout, Team& team) {
    if (done_) return;
    const Field& target = batch.field(head_.field);
    for (Index s = 0; s < batch.structure.sequences(); ++s)
      for (Index p = 0; p < batch.structure.size(s); ++p) {
        const Index row = batch.structure.row(s, p);
        if (positions.before(batch, s) + p < washout || !is_present(target, row) || lacks_current(batch, row)) continue;
        double* to = x_.data() + filled_ * (x_.size() / kRows);
        for (const auto& term : node().terms()) {
          const Matrix<const T> states = u.value({head_.signal.circuit, term.source});
          to = std::copy_n(states.row(row), states.cols, to);
        }
        double* y = put_target(target, row);
        if (current_.place >= 0) {
          const double* current = x_.data() + filled_ * (x_.size() / kRows) + current_.place;
          for (Index k = 0; k < outputs(); ++k) y[k] -= current[k];
        }
        if (has_weights(batch)) weights_.push_back(weight_of_row(batch, row));
        if (++filled_ == kRows) flush(team);
      }
  }

  /// Ends a pass over the data. Returns whether another pass is needed.
  bool finish_pass(const ReadoutOptions& options, Team& team) {
    if (done_) return false;
    flush(team);
    if (regression_) {
      done_ = !regression_->step(team);
    } else {
      fit_ = solve(options);
      done_ = !classes_;
      if (classes_) regression_.emplace(averages(inputs_), averages(counts_), rows(), fit_.lambda);
    }
    return !done_;
  }

  /// Sets the parameters. Call after the last pass.
  const RidgeFit& finish(Parameters<T>& parameters) {
    if (regression_) {
      fit_.weights = regression_->weights();
      fit_.bias = regression_->bias();
    }
    const double* from = fit_.weights.data();
    for (const auto& term : node().terms()) {
      const Matrix<T> w = parameters[term.parameter];
      for (Index i = 0; i < w.rows; ++i) {
        std::fill_n(w.row(i), w.cols, T{0});
        for (Index k = 0; k < outputs(); ++k) w(i, k) = static_cast<T>(*from++);
      }
    }
    const Matrix<T> bias = parameters[node().affine().bias];
    for (Index k = 0; k < outputs(); ++k) {
      bias(0, k) = static_cast<T>(fit_.bias[at(k)]);
      if (normal_) bias(0, outputs() + k) = static_cast<T>(deviation_signal(fit_.squares[at(k)]));
    }
    return fit_;
  }
  Index rows() const { return sums_->rows(); }

 private:
  static constexpr Index kRows = RidgeSums::kRun, kMostClasses = 1000;

  RidgeFit solve(const ReadoutOptions& options) const {
    constexpr double kMostShrunk = 1e4;
    RidgeOptions ridge{.lambda = options.lambda};
    if (current_.place >= 0) ridge.most_lambda = kMostShrunk, ridge.standardized = true;
    RidgeFit fit = sums_->solve(ridge);
    for (Index k = 0; k < outputs() && current_.place >= 0; ++k)
      fit.weights[at((current_.place + k) * outputs() + k)] += 1;
    return fit;
  }

  bool lacks_current(const Batch& batch, Index row) const {
    return current_.place >= 0 && !std::get<ValueRows>(batch.field(current_.read)).present(row);
  }

  /// Copies a target to the next row of y: numbers, or the one-hot code of a class. Returns the row.
  double* put_target(const Field& target, Index row) {
    double* y = y_.data() + filled_ * outputs();
    if (classes_) {
      const Symbol label = std::get<SymbolRows>(target).symbols[at(row)];
      labels_[at(filled_)] = label;
      std::fill_n(y, outputs(), 0.0);
      y[label] = 1;
    } else {
      std::copy_n(std::get<ValueRows>(target).template values<double>(row, 1).data, outputs(), y);
      if (log_) vector_log(y, y, outputs());
    }
    return y;
  }

  std::vector<double> averages(std::vector<double> sums) const {
    for (double& sum : sums) sum /= static_cast<double>(rows());
    return sums;
  }

  void flush(Team& team) {
    const Index inputs = x_.size() / kRows;
    const Matrix<const double> x{x_.data(), filled_, inputs, inputs};
    const Matrix<const double> y{y_.data(), filled_, outputs(), outputs()};
    if (classes_ && !regression_) {
      accumulate_columns<double>(x, inputs_.data(), {0, x.cols}, Start::accumulate);
      accumulate_columns<double>(y, counts_.data(), {0, y.cols}, Start::accumulate);
    }
    if (!regression_)
      sums_->add(x, y, weights_);
    else if (filled_ > 0)
      regression_->add(x, std::span(labels_).first(at(filled_)), team);
    filled_ = 0;
    weights_.clear();
  }

  const Head<T>& head_;
  const Circuit& circuit_;
  Current current_;
  bool normal_ = false;  ///< its signal is means, then logarithms of deviations, which do not depend on the state
  bool log_ = false;     ///< the logarithms of the targets are fitted
  bool classes_ = false, done_ = false;
  std::optional<RidgeSums> sums_;
  std::optional<SoftmaxRegression> regression_;  ///< for classes, after the first pass
  std::vector<double> inputs_, counts_;          ///< for classes: sums of the states and of the one-hot targets
  RidgeFit fit_ = {};
  Buffer<double> x_, y_;
  std::vector<double> weights_;  ///< of the rows of x; empty: all are 1
  std::vector<Symbol> labels_ = std::vector<Symbol>(at(kRows));
  Index filled_ = 0;
};

/// Rejects pairs of sequences, whose decoder has further random parameters: the map of the summary, and attention.
void refuse_pairs(const Batch& batch) {
  if (batch.structure.parts() > kSourcePart)
    throw UsageError("a fitted readout does not support pairs of sequences; use readout=trained");
}

}  // namespace

double deviation_signal(double mean_square) {
  constexpr double kMost = 10, kFarthest = 9.9;
  double log_d = std::max(mean_square, 1e-300);
  vector_log(&log_d, &log_d, 1);
  const double x = std::clamp(log_d / 2, -kFarthest, kFarthest) / kMost;
  double both[] = {1 + x, 1 - x};
  vector_log(both, both, 2);
  return kMost / 2 * (both[0] - both[1]);
}

std::optional<ReadoutOptions> readout_of(const ModelSpec& spec) {
  if (spec.cell == &kernels_model()) return ReadoutOptions{};
  if (spec.cell == &autoregression_model()) {
    const auto& o = spec.options.as<AutoregressionOptions>();
    return ReadoutOptions{.lambda = o.ridge, .blocks = o.blocks};
  }
  if (spec.cell->name != "esn") return std::nullopt;
  const auto& o = spec.options.as<EsnOptions>();
  if (o.trained) return std::nullopt;
  return ReadoutOptions{.lambda = o.ridge, .blocks = o.blocks, .washout = o.washout};
}

Index washout_by_length(BatchReader& reader) {
  constexpr Index kMost = 100, kShare = 10;
  std::vector<Index> longer(at(kMost * kShare));  // number of sequences that have a position with this index
  Positions positions;
  for (Batch batch; reader.next(batch);) {
    positions.enter(batch.carry);
    for (Index s = 0; s < batch.structure.sequences(); ++s) {
      const Index begin = positions.before(batch, s), end = begin + batch.structure.size(s);
      for (Index p = begin; p < std::min(end, static_cast<Index>(longer.size())); ++p) ++longer[at(p)];
    }
    positions.leave(batch);
  }
  const auto median = std::ranges::find_if(longer, [&](Index count) { return 2 * count <= longer.front(); });
  return (median - longer.begin()) / kShare;
}

template <class T>
ReadoutFit fit_readout(const Network<T>& network, Parameters<T>& parameters, BatchReader& reader, Team& team,
                       const ReadoutOptions& options) {
  std::vector<HeadFit<T>> heads;
  heads.reserve(network.heads.size());
  std::vector<int> sources;
  for (const Head<T>& head : network.heads) {
    heads.emplace_back(head, current_of(network, head), options);
    for (const auto& term : heads.back().node().terms())
      if (std::find(sources.begin(), sources.end(), term.source) == sources.end()) sources.push_back(term.source);
  }
  const auto plan = std::make_shared<const Plan>(network.circuit(), sources);
  Unfolding<T> u(plan, team);
  u.set_parameters(parameters);
  ReadoutFit result;
  for (bool again = true; again;) {
    State<T> state(*plan, 1);
    Positions positions;
    result.positions = 0;
    for (Batch batch; reader.next(batch);) {
      refuse_pairs(batch);
      enter_batch(batch, *plan, state);
      positions.enter(batch.carry);
      u.lay(batch.structure, batch.carry.slots);
      upload_inputs(batch, 0, batch.structure.positions(), network, u);
      u.forward(&state);
      for (HeadFit<T>& head : heads) head.add(batch, u, positions, options.washout, team);
      positions.leave(batch);
      leave_batch(batch, state);
      result.positions += batch.structure.positions();
    }
    again = false;
    for (HeadFit<T>& head : heads) again = head.finish_pass(options, team) || again;
  }
  double squares = 0;
  Index numbers = 0;
  for (HeadFit<T>& head : heads) {
    const RidgeFit& fit = head.finish(parameters);
    result.lambda = fit.lambda;
    result.fitted += head.rows();
    squares += fit.mean_square;
    numbers += head.outputs();
  }
  result.mean_square = squares / static_cast<double>(numbers);
  return result;
}

template ReadoutFit fit_readout(const Network<float>&, Parameters<float>&, BatchReader&, Team&, const ReadoutOptions&);
template ReadoutFit fit_readout(const Network<double>&, Parameters<double>&, BatchReader&, Team&,
                                const ReadoutOptions&);

}  // namespace unfold
