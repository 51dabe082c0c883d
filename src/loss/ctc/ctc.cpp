#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "loss/ctc/ctc_lattice.h"
#include "loss/ctc/unaligned_labels.h"
#include "numerics/functions.h"
#include "unfold/loss/registry.h"
#include "unfold/loss/rows.h"

namespace unfold {
namespace {

/// The data that a thread needs for one chain.
struct CtcWork {
  std::vector<double> log_p = {}, shares = {};
  std::vector<Symbol> labels = {};
  Index rows = 0, cols = 0;

  Matrix<double> matrix(std::vector<double>& of) const { return {of.data(), rows, cols, cols}; }
};

/// Connectionist temporal classification: there are fewer labels than positions, and they have no alignment
/// (ctc_lattice.h). The labels of a chain are the labels of its labeled rows, in order; which rows are labeled does not
/// matter. A chain without labels has zero loss. The nats of a chain are stored at the last labeled row.
template <class T>
class CtcLoss final : public Unsegmented<T> {
 public:
  std::string_view name() const override { return "ctc"; }
  Index target_size(Index signal_size) const override {
    if (signal_size < 2) throw UsageError("ctc: the signal must have at least two numbers: one label and the blank");
    return signal_size - 1;
  }

  void negative_log_likelihood(const Observed<T>& o, Team& team, T* nats) const override {
    each_chain(
        o, team, nats, [](Index, CtcWork&, CtcLattice&) {}, [](Index) {});
  }

  /// The gradient is the probability of a symbol minus its posterior.
  void gradient(const Observed<T>& o, T scale, Team& team, T* nats, Matrix<T> adjoint, std::span<T>) const override {
    require_shape<T>(name(), "the adjoint", adjoint, o.signal);
    const auto slope = [&](Index s, CtcWork& work, CtcLattice& lattice) {
      const Matrix<double> log_p = work.matrix(work.log_p), shares = work.matrix(work.shares);
      lattice.posteriors(shares);
      vector_exp(log_p.data, log_p.data, work.rows * work.cols);
      for (Index t = 0; t < work.rows; ++t)
        for (Index k = 0; k < work.cols; ++k)
          adjoint(o.structure.row(s, t), k) = static_cast<T>(static_cast<double>(scale) * (log_p(t, k) - shares(t, k)));
    };
    const auto nothing = [&](Index s) {
      for (Index t = 0; t < o.structure.size(s); ++t) set_row(adjoint.row(o.structure.row(s, t)), adjoint.cols, T{0});
    };
    each_chain(o, team, nats, slope, nothing);
  }

  std::vector<ScoredLabeling> decode(const LabelQuery<T>& q, Index chain,
                                     const UnsegmentedSearch& search) const override {
    if (search.beam < 1 || search.best < 1 || search.best > search.beam)
      throw UsageError(
          fmt::format("ctc: a beam of {} does not allow {} results; it must be at least 1 and at least their "
                      "number",
                      search.beam, search.best));
    CtcWork work;
    take(q.structure, chain, q.signal, work);
    if (search.beam == 1) return {ctc_best_path(work.matrix(work.log_p))};
    return ctc_prefix_search(work.matrix(work.log_p), search);
  }

  double log_probability(const LabelQuery<T>& q, Index chain, std::span<const Symbol> labels) const override {
    CtcWork work;
    take(q.structure, chain, q.signal, work);
    return CtcLattice(work.matrix(work.log_p), labels).forward();
  }

  std::vector<Index> places(const LabelQuery<T>& q, Index chain, std::span<const Symbol> labels) const override {
    CtcWork work;
    take(q.structure, chain, q.signal, work);
    return CtcLattice(work.matrix(work.log_p), labels).places();
  }

 private:
  /// Computes the nats of all chains; calls use(chain, work, lattice) for chains with labels and none(chain) for the
  /// others.
  template <class Use, class None>
  void each_chain(const Observed<T>& o, Team& team, T* nats, const Use& use, const None& none) const {
    require_chains(o.structure, o.signal.rows, "ctc");
    std::vector<Index> short_of(at(o.structure.sequences()));
    team.run([&](Member& me) {
      CtcWork work;
      const Range mine = me.share(o.structure.sequences(), 1);
      for (Index s = mine.begin; s < mine.end; ++s) {
        const Index last = take_labels(o, s, nats, work);
        if (work.labels.empty()) {
          none(s);
          continue;
        }
        short_of[at(s)] = ctc_positions_needed(work.labels) - o.structure.size(s);
        if (short_of[at(s)] > 0) continue;
        take(o.structure, s, o.signal, work);
        CtcLattice lattice(work.matrix(work.log_p), work.labels);
        const double surprise = -lattice.forward();
        nats[last] = static_cast<T>(surprise < 0 ? 0 : surprise);  // negative values are rounding errors; NaN is kept
        use(s, work, lattice);
      }
    });
    for (Index s = 0; s < o.structure.sequences(); ++s)
      if (short_of[at(s)] > 0)
        throw DataError(
            fmt::format("ctc: example {} of a batch has {} positions, but its labels need {} more (one each, and one "
                        "between equal labels); use more positions or remove the example",
                        s + 1, o.structure.size(s), short_of[at(s)]));
  }

  /// Collects the labels of a chain; returns the row of the last label.
  Index take_labels(const Observed<T>& o, Index s, T* nats, CtcWork& work) const {
    Index last = -1;
    work.labels.clear();
    for (Index t = 0; t < o.structure.size(s); ++t) {
      const Index row = o.structure.row(s, t);
      nats[row] = 0;
      const Symbol label = target_symbol(name(), o.signal, o.targets, row);
      if (label == kNoSymbol) continue;
      if (label == o.signal.cols - 1)
        throw UsageError(fmt::format("ctc loss: target symbol {} is the blank, which cannot be a target", label));
      work.labels.push_back(label);
      last = row;
    }
    return last;
  }

  /// Converts the signal to log-probabilities.
  void take(const Structure& structure, Index s, Matrix<const T> signal, CtcWork& work) const {
    require_chains(structure, signal.rows, "ctc");
    work.rows = structure.size(s), work.cols = signal.cols;
    for (auto* each : {&work.log_p, &work.shares}) each->resize(at(work.rows * work.cols));
    const Matrix<double> log_p = work.matrix(work.log_p);
    for (Index t = 0; t < work.rows; ++t) {
      std::copy_n(signal.row(structure.row(s, t)), work.cols, log_p.row(t));
      const double total = log_sum_exp(log_p.row(t), work.cols);
      for (Index k = 0; k < work.cols; ++k) log_p(t, k) -= total;
    }
  }
};

}  // namespace

LossEntry ctc_entry() {
  return {.name = "ctc",
          .help = "label sequences without an alignment, shorter than the input (CTC)",
          .of_symbols = true,
          .make_float = [] { return std::unique_ptr<Loss<float>>(std::make_unique<CtcLoss<float>>()); },
          .make_double = [] { return std::unique_ptr<Loss<double>>(std::make_unique<CtcLoss<double>>()); },
          .size_of_signal = [](Index field_size, const AnyOptions&) { return field_size + 1; }};
}

}  // namespace unfold
