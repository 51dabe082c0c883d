#pragma once
/// Internal: base class of the random fields over labels (crf.cpp, segment_crf.cpp, transition_crf.cpp). It owns the
/// transition scores and the label names and implements all queries, chain by chain.
///
/// Each random field defines its chain: a class derived from FieldChain with
///
/// - `using Scores = ...;`: ChainScores or a derived class;
/// - `take(scores, structure, s, signal)`: loads chain s; the scores must stay alive while the chain is used;
/// - `double forward()`, `void backward()`: in log space, over the labels that are not excluded; forward returns
///   log_sum;
/// - `double surprise(t, log_z)`: -log p(known labels up to t) for a position t with a label, after forward over the
///   chain restricted to the known labels;
/// - `Matrix<double> label_shares()`: log p(label), [rows x cols], after forward and backward;
/// - `double best(labels)`: fills [rows]; returns -inf if no labeling is possible;
/// - `std::vector<ScoredLabeling> n_best(count)`: log_probability holds scores;
/// - `void draw(random, labels)`, after forward, and `double score(labels)`;
/// - `static std::uint64_t stream(s)`: the stream of random numbers.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "loss/crf/label_scheme.h"
#include "loss/crf/label_sequences.h"
#include "loss/own_parameters.h"
#include "loss/weighted_loss.h"
#include "numerics/functions.h"
#include "unfold/loss/rows.h"

namespace unfold {

struct FieldChain {
  static constexpr double kExcluded = -std::numeric_limits<double>::infinity();

  std::vector<double> emissions;  ///< scores of labels [rows x cols]; kExcluded: not permitted here
  std::vector<Symbol> labels;     ///< labels by position; kNoSymbol: unknown
  Index rows = 0, cols = 0;
  double log_sum = 0;  ///< result of forward

  Matrix<double> matrix(std::vector<double>& of) const { return {of.data(), rows, cols, cols}; }
  Emissions e() const { return {emissions.data(), rows, cols, cols}; }

  /// Sets `out` to the first `count` columns of the signal, at the rows of a chain.
  template <class T>
  void gather(const Structure& structure, Index s, Matrix<const T> signal, Index count, std::vector<double>& out) {
    rows = structure.size(s), cols = count;
    out.resize(at(rows * cols));
    for (Index t = 0; t < rows; ++t) std::copy_n(signal.row(structure.row(s, t)), cols, out.data() + t * cols);
  }
  /// Excludes labels that contradict the known labels.
  void know() {
    for (Index t = 0; t < rows; ++t)
      for (Index j = 0; j < cols && labels[at(t)] != kNoSymbol; ++j)
        if (j != labels[at(t)]) emissions[at(t * cols + j)] = kExcluded;
  }
};

/// A chain whose recursions store, for each position and label, the log-sum over all prefixes and over all suffixes.
struct TwoSidedChain : FieldChain {
  std::vector<double> alpha, beta, shares;

  void make_room() {
    for (auto* each : {&alpha, &beta, &shares}) each->resize(emissions.size());
  }
  /// Combines the prefixes that agree with the known labels with all suffixes.
  double surprise(Index t, double log_z) { return log_z - add_sides(t); }
  /// REQUIRES backward.
  Matrix<double> label_shares() {
    for (Index t = 0; t < rows; ++t) {
      const double total = add_sides(t);
      for (Index j = 0; j < cols; ++j) shares[at(t * cols + j)] -= total;
    }
    return matrix(shares);
  }

 private:
  double add_sides(Index t) {
    for (Index k = t * cols; k < (t + 1) * cols; ++k) shares[at(k)] = alpha[at(k)] + beta[at(k)];
    return log_sum_exp(shares.data() + t * cols, cols);
  }
};

template <class T, class Chain>
class LabelRandomField : public LabelSequences<T>, public NamedLabels<T>, public WeightedLoss<T> {
 public:
  using Scores = typename Chain::Scores;

  explicit LabelRandomField(LabelScheme scheme) : scheme_(scheme) {}

  std::string_view name() const final { return "crf"; }
  std::span<const int> parameter_indices() const final { return own_.ids(); }
  void name_labels(const std::vector<std::string>& names) override {
    ChainScores probe = ChainScores::zeros(static_cast<Index>(names.size()));
    forbid(scheme_, names, probe);  // throws here rather than during training
    names_ = names;
  }

  void best(const LabelQuery<T>& q, Team& team, Symbol* labels) const final {
    each_question(q, team, [&](Index s, Chain& chain) {
      chain.labels.resize(at(chain.rows));
      if (!(chain.best(chain.labels.data()) > Chain::kExcluded)) refuse(s);
      for (Index t = 0; t < chain.rows; ++t) labels[q.structure.row(s, t)] = chain.labels[at(t)];
    });
  }

  void log_posteriors(const LabelQuery<T>& q, Team& team, Matrix<T> log_p) const final {
    each_question(q, team, [&](Index s, Chain& chain) {
      if (!(chain.forward() > Chain::kExcluded)) refuse(s);
      chain.backward();
      scatter(q.structure, s, chain.label_shares(), 1, log_p);
    });
  }

  std::vector<ScoredLabeling> n_best(const LabelQuery<T>& q, Index s, Index count) const final {
    const Scores scores = scores_in(q.parameters);
    Chain chain;
    const double log_z = ask(q, s, scores, chain);
    std::vector<ScoredLabeling> found = chain.n_best(count);
    for (ScoredLabeling& each : found) each.log_probability -= log_z;
    return found;
  }

  std::vector<ScoredLabeling> samples(const LabelQuery<T>& q, Index s, Index count, std::uint64_t seed) const final {
    const Scores scores = scores_in(q.parameters);
    Chain chain;
    const double log_z = ask(q, s, scores, chain);
    Random random(seed, Chain::stream(s));
    std::vector<ScoredLabeling> drawn(at(count));
    for (ScoredLabeling& each : drawn) {
      each.labels.resize(at(chain.rows));
      chain.draw(random, each.labels.data());
      each.log_probability = chain.score(each.labels.data()) - log_z;
    }
    return drawn;
  }

  ChainScores neighbors(std::span<const T> parameters, Index) const override { return scores_in(parameters); }
  void add_transition_counts(const ChainScores& counts, double scale, std::span<T> own_gradient) const override {
    own_.add(counts.transitions, scale, 0, own_gradient);
    own_.add(counts.start, scale, 1, own_gradient);
    own_.add(counts.stop, scale, 2, own_gradient);
  }

 protected:
  /// Number of chains whose counts are summed as one block, which makes the order of sums independent of the number of
  /// threads.
  static constexpr Index kTogether = 16;
  static Index blocks(const Structure& s) { return (s.sequences() + kTogether - 1) / kTogether; }

  /// Returns the loss's own scores as numbers: transitions, start and stop of n types.
  ChainScores numbers_in(std::span<const T> all) const {
    return {
        .labels = n_, .transitions = own_.numbers(all, 0), .start = own_.numbers(all, 1), .stop = own_.numbers(all, 2)};
  }
  /// Returns the scores of the chains: the loss's own scores, modified by the random field.
  virtual Scores scores_in(std::span<const T> all) const = 0;

  /// Declares the scores of n types for a signal with the given number of labels.
  void declare_scores(Circuit& circuit, Signal signal, Index labels, Index n) {
    if (scheme_ != LabelScheme::any && static_cast<Index>(names_.size()) != labels)
      throw UsageError("crf: a labeling scheme needs the names of the labels");
    n_ = n;
    own_.declare(circuit, signal, {{"transitions", n, n}, {"start", 1, n}, {"stop", 1, n}});
  }

  /// Adds transition counts to the gradient of the loss's own parameters, block by block in order. Forbidden
  /// transitions have zero counts.
  void add_own(const std::vector<ChainScores>& counts, T scale, std::span<T> out) const {
    ChainScores sum = ChainScores::zeros(n_);
    for (const ChainScores& each : counts)
      for (auto table : {&ChainScores::transitions, &ChainScores::start, &ChainScores::stop})
        for (std::size_t i = 0; i < (sum.*table).size(); ++i) (sum.*table)[i] += (each.*table)[i];
    LabelRandomField::add_transition_counts(sum, static_cast<double>(scale), out);
  }

  /// Processes all chains, block by block; see `judge`.
  template <class OfAll, class OfKnown>
  void compute_all_nats(const Observed<T>& o, Team& team, T* nats, const OfAll& of_all, const OfKnown& of_known) const {
    require_chains(o.structure, o.signal.rows, name());
    const Scores scores = scores_in(o.parameters);
    team.run([&](Member& me) {
      Chain chain;
      const Range mine = me.share(blocks(o.structure), 1);
      for (Index s = mine.begin * kTogether; s < std::min(o.structure.sequences(), mine.end * kTogether); ++s)
        judge(o, scores, s, chain, nats, of_all, of_known);
    });
  }
  /// Computes the nats of a chain. of_all(s, chain) is called after forward over all labelings of a chain with at least
  /// one known label; it calls backward if needed. of_known(s, chain, judged) is called for every chain, after forward
  /// over the labelings that agree with the known labels.
  template <class OfAll, class OfKnown>
  void judge(const Observed<T>& o, const Scores& scores, Index s, Chain& chain, T* nats, const OfAll& of_all,
             const OfKnown& of_known) const {
    const bool judged = begin(o, scores, s, chain);
    for (Index t = 0; t < chain.rows; ++t) nats[o.structure.row(s, t)] = 0;
    if (judged) {
      const double log_z = chain.forward();
      of_all(s, chain);
      chain.know();
      if (chain.forward() == Chain::kExcluded && scheme_ != LabelScheme::any) refuse_labels(chain);
      double before = 0;
      for (Index t = 0; t < chain.rows; ++t) {
        if (chain.labels[at(t)] == kNoSymbol) continue;
        const double surprise = chain.surprise(t, log_z);
        // A negative difference is rounding error; NaN is kept.
        nats[o.structure.row(s, t)] = static_cast<T>(surprise < before ? 0 : surprise - before);
        before = surprise;
      }
    }
    of_known(s, chain, judged);
  }
  /// Loads a chain with its labels; returns whether at least one is known.
  bool begin(const Observed<T>& o, const Scores& scores, Index s, Chain& chain) const {
    chain.take(scores, o.structure, s, o.signal);
    const Matrix<const T> of_labels{o.signal.data, o.signal.rows, chain.cols, o.signal.stride};
    chain.labels.resize(at(chain.rows));
    for (Index t = 0; t < chain.rows; ++t)
      chain.labels[at(t)] = target_symbol(name(), of_labels, o.targets, o.structure.row(s, t));
    return std::ranges::any_of(chain.labels, [](Symbol label) { return label != kNoSymbol; });
  }
  /// out = scale * from, for the rows of a chain.
  static void scatter(const Structure& structure, Index s, Matrix<const double> from, double scale, Matrix<T> out) {
    for (Index t = 0; t < from.rows; ++t)
      for (Index j = 0; j < from.cols; ++j) out(structure.row(s, t), j) = static_cast<T>(scale * from(t, j));
  }

  LabelScheme scheme_;
  std::vector<std::string> names_;
  Index n_ = 0;
  OwnParameters own_;

 private:
  /// Returns the text of an error message: how labels can violate the scheme, and how to fix this.
  virtual std::string broken_rule() const {
    return fmt::format("; correct them or remove labels={}", scheme_ == LabelScheme::iob2 ? "iob2" : "iobes");
  }

  void take_question(const LabelQuery<T>& q, Index s, const Scores& scores, Chain& chain) const {
    chain.take(scores, q.structure, s, q.signal);
    for (Index t = 0; t < chain.rows && q.allowed.data != nullptr; ++t)
      for (Index j = 0; j < chain.cols; ++j)
        if (q.allowed(q.structure.row(s, t), j) == 0) chain.emissions[at(t * chain.cols + j)] = Chain::kExcluded;
  }
  /// Loads the chain of a query and runs forward; returns log Z.
  double ask(const LabelQuery<T>& q, Index s, const Scores& scores, Chain& chain) const {
    require_chains(q.structure, q.signal.rows, name());
    take_question(q, s, scores, chain);
    const double log_z = chain.forward();
    if (!(log_z > Chain::kExcluded)) refuse(s);
    return log_z;
  }
  template <class Use>
  void each_question(const LabelQuery<T>& q, Team& team, const Use& use) const {
    require_chains(q.structure, q.signal.rows, name());
    const Scores scores = scores_in(q.parameters);
    team.run([&](Member& me) {
      Chain chain;
      const Range mine = me.share(q.structure.sequences(), 1);
      for (Index s = mine.begin; s < mine.end; ++s) {
        take_question(q, s, scores, chain);
        use(s, chain);
      }
    });
  }

  [[noreturn]] static void refuse(Index s) {
    throw DataError(
        fmt::format("crf: no permitted labeling for example {} of a batch: its constraints are contradictory or its "
                    "scores are not finite",
                    s + 1));
  }
  [[noreturn]] void refuse_labels(const Chain& chain) const {
    std::string found;
    for (const Symbol label : chain.labels)
      if (label != kNoSymbol)
        found += (found.empty() ? "" : " ") + (at(label) < names_.size() ? names_[at(label)] : std::to_string(label));
    throw DataError(fmt::format("crf: the labels \"{}\" violate the scheme{}", found, broken_rule()));
  }
};

}  // namespace unfold
