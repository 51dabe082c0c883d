#include "unfold/losses/step_crf.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "unfold/losses/label_sequences.h"
#include "unfold/losses/rows.h"
#include "unfold/markov/state_steps.h"
#include "unfold/numerics/functions.h"

namespace unfold {

Index step_crf_labels(Index signal_size) {
  Index n = 1;
  while (n + n * n < signal_size) ++n;
  if (n + n * n != signal_size)
    throw UsageError(fmt::format("crf: a signal of {} numbers, which must be n + n^2 for n labels", signal_size));
  return n;
}

namespace {

constexpr double kForbidden = -std::numeric_limits<double>::infinity();
/// Chains whose counts are added up together.
constexpr Index kStepChains = 16;

/// A linear-chain conditional random field whose steps are scored by what is read, too: with the signal o_t of n scores
/// of labels and behind them n^2 of steps, w_t,
///
///   score(y) = start[y_1] + sum_t o_t[y_t] + sum_{t>1} (transitions + w_t)[y_{t-1}][y_t] + stop[y_T]
///
/// All by logarithms (state_steps.h). Labels that are missing are summed over, as in crf.cpp.
template <class T>
class StepCrf final : public LabelSequences<T>, public NamedLabels<T> {
 public:
  explicit StepCrf(LabelScheme scheme) : scheme_(scheme) {}

  std::string_view name() const override { return "crf"; }
  Index target_size(Index signal_size) const override { return step_crf_labels(signal_size); }
  void name_labels(const std::vector<std::string>& names) override {
    ChainScores probe = zeros(static_cast<Index>(names.size()));
    forbid(scheme_, names, probe);
    names_ = names;
  }

  void declare(Circuit& circuit, Signal signal) override {
    const std::string& owner = circuit.nodes()[at(signal.id)].name;
    n_ = step_crf_labels(signal.size());
    if (scheme_ != LabelScheme::any && static_cast<Index>(names_.size()) != n_)
      throw UsageError("crf: a scheme of labels needs their names");
    circuit_ = &circuit;
    own_ = {circuit.parameter(owner + "/transitions", n_, n_, Init::zero()),
            circuit.parameter(owner + "/start", 1, n_, Init::zero()),
            circuit.parameter(owner + "/stop", 1, n_, Init::zero())};
  }
  std::span<const int> own_parameters() const override { return own_; }

  void negative_log_likelihood(const Observed<T>& o, Team& team, T* nats) const override {
    judge_all(o, team, nats, [](Index, Index, StepWork&, bool) {});
  }

  void gradient(const Observed<T>& o, T scale, Team& team, T* nats, Matrix<T> adjoint,
                std::span<T> own_gradient) const override {
    std::vector<ChainScores> counts(at(blocks(o.structure)), zeros(n_));
    judge_all(o, team, nats, [&](Index block, Index s, StepWork& work, bool judged) {
      for (Index t = 0; t < work.rows; ++t) {
        T* row = adjoint.row(o.structure.row(s, t));
        std::fill_n(row, adjoint.cols, T{0});
      }
      if (!judged) return;
      add_counts(o, s, work, 1, static_cast<double>(scale), adjoint, counts[at(block)]);
      know(work);
      forward(work.chain(), work.matrix(work.alpha));
      backward(work.chain(), work.matrix(work.beta));
      add_counts(o, s, work, -1, static_cast<double>(scale), adjoint, counts[at(block)]);
    });
    ChainScores sum = zeros(n_);
    for (const ChainScores& each : counts)
      for (auto member : {&ChainScores::transitions, &ChainScores::start, &ChainScores::stop})
        for (std::size_t i = 0; i < (sum.*member).size(); ++i) (sum.*member)[i] += (each.*member)[i];
    add_own(sum, static_cast<double>(scale), own_gradient);
  }

  void best(const LabelQuestion<T>& q, Team& team, Symbol* labels) const override {
    each_question(q, team, [&](Index s, StepWork& work) {
      if (!(forward(work.chain(), work.matrix(work.alpha)) > kForbidden)) refuse(s);
      const std::vector<Index> path = best_states(work.chain());
      for (Index t = 0; t < work.rows; ++t) labels[q.structure.row(s, t)] = static_cast<Symbol>(path[at(t)]);
    });
  }

  void log_posteriors(const LabelQuestion<T>& q, Team& team, Matrix<T> log_p) const override {
    each_question(q, team, [&](Index s, StepWork& work) {
      if (!(forward(work.chain(), work.matrix(work.alpha)) > kForbidden)) refuse(s);
      backward(work.chain(), work.matrix(work.beta));
      std::vector<double> sums(at(n_));
      for (Index t = 0; t < work.rows; ++t) {
        for (Index j = 0; j < n_; ++j) sums[at(j)] = work.alpha[at(t * n_ + j)] + work.beta[at(t * n_ + j)];
        const double total = log_sum_exp(sums.data(), n_);
        for (Index j = 0; j < n_; ++j) log_p(q.structure.row(s, t), j) = static_cast<T>(sums[at(j)] - total);
      }
    });
  }

  std::vector<LabelledChain> n_best(const LabelQuestion<T>& q, Index chain, Index count) const override {
    StepWork work;
    const double log_z = ask(q, chain, work);
    std::vector<LabelledChain> found;
    for (const StatePath& path : best_paths(work.chain(), count))
      found.push_back({{path.states.begin(), path.states.end()}, path.score - log_z});
    return found;
  }

  std::vector<LabelledChain> samples(const LabelQuestion<T>& q, Index chain, Index count,
                                     std::uint64_t seed) const override {
    StepWork work;
    const double log_z = ask(q, chain, work);
    Random random(seed, stream_of("labels") + static_cast<std::uint64_t>(chain));
    std::vector<LabelledChain> drawn(at(count));
    for (LabelledChain& each : drawn) {
      const std::vector<Index> path = draw_states(work.chain(), work.matrix(work.alpha), random);
      each.labels.assign(path.begin(), path.end());
      each.log_probability = path_score(work.chain(), path) - log_z;
    }
    return drawn;
  }

  ChainScores neighbours(std::span<const T>, Index) const override { refuse_neighbours(); }
  void add_neighbours(const ChainScores&, double, std::span<T>) const override { refuse_neighbours(); }

 private:
  struct StepWork : StateWork {
    std::vector<Symbol> labels;
  };

  static Index blocks(const Structure& s) {
    return std::max<Index>(1, (s.sequences() + kStepChains - 1) / kStepChains);
  }
  static ChainScores zeros(Index n) {
    return {.labels = n,
            .transitions = std::vector<double>(at(n * n)),
            .start = std::vector<double>(at(n)),
            .stop = std::vector<double>(at(n))};
  }
  ChainScores scores_in(std::span<const T> all) const {
    ChainScores scores = zeros(n_);
    std::vector<double>* into[] = {&scores.transitions, &scores.start, &scores.stop};  // NOLINT: three of them
    for (std::size_t i = 0; i < own_.size(); ++i) {
      const auto from = all.begin() + circuit_->parameters()[at(own_[i])].offset;
      std::copy(from, from + static_cast<Index>(into[i]->size()), into[i]->begin());
    }
    forbid(scheme_, names_, scores);
    return scores;
  }
  void add_own(const ChainScores& counts, double scale, std::span<T> out) const {
    const std::vector<double>* from[] = {&counts.transitions, &counts.start, &counts.stop};  // NOLINT: three of them
    for (std::size_t k = 0; k < own_.size(); ++k) {
      const auto offset = at(circuit_->parameters()[at(own_[k])].offset);
      for (std::size_t i = 0; i < from[k]->size(); ++i) out[offset + i] += static_cast<T>(scale * (*from[k])[i]);
    }
  }

  void lay_out(const Structure& structure, Index s, Matrix<const T> signal, const ChainScores& scores,
               StepWork& work) const {
    work.make_room(structure.size(s), n_);
    work.start = scores.start;
    for (Index t = 0; t < work.rows; ++t) {
      const T* row = signal.row(structure.row(s, t));
      std::copy_n(row, n_, work.emissions.data() + t * n_);
      double* steps = work.steps.data() + t * n_ * n_;
      for (Index k = 0; k < n_ * n_; ++k) steps[k] = scores.transitions[at(k)] + static_cast<double>(row[n_ + k]);
    }
    for (Index j = 0; j < n_; ++j) work.emissions[at((work.rows - 1) * n_ + j)] += scores.stop[at(j)];
  }

  /// Nats of all chains, alpha and beta of all paths in `work`; use(block, chain, work, judged).
  template <class Use>
  void judge_all(const Observed<T>& o, Team& team, T* nats, const Use& use) const {
    require_chains(o.structure, "crf");
    const ChainScores scores = scores_in(o.parameters);
    std::vector<char> impossible(at(o.structure.sequences()));
    team.run([&](Member& me) {
      StepWork work;
      const Range mine = me.share(blocks(o.structure), 1);
      for (Index b = mine.begin; b < mine.end; ++b)
        for (Index s = b * kStepChains; s < std::min(o.structure.sequences(), (b + 1) * kStepChains); ++s) {
          lay_out(o.structure, s, o.signal, scores, work);
          const bool any = take_labels(o, s, nats, work);
          const double last = any ? judge(o, s, nats, work) : 0;
          impossible[at(s)] = last == -kForbidden ? 1 : 0;
          use(b, s, work, any && impossible[at(s)] == 0);
        }
    });
    for (Index s = 0; s < o.structure.sequences(); ++s)
      if (impossible[at(s)] != 0)
        throw DataError(fmt::format("crf: the labels of example {} of a batch break the scheme of labels", s + 1));
  }

  bool take_labels(const Observed<T>& o, Index s, T* nats, StepWork& work) const {
    bool any = false;
    work.labels.assign(at(work.rows), kNoSymbol);
    for (Index t = 0; t < work.rows; ++t) {
      const Index row = o.structure.row(s, t);
      nats[row] = 0;
      const Symbol label = o.targets.symbols[row];
      if (label != kNoSymbol && (label < 0 || label >= n_))
        throw UsageError(fmt::format("crf loss: target symbol {} of {} labels", label, n_));
      work.labels[at(t)] = label;
      any = any || label != kNoSymbol;
    }
    return any;
  }

  /// Of each known label given the known ones before it; returns their sum.
  double judge(const Observed<T>& o, Index s, T* nats, StepWork& work) const {
    const double log_z = forward(work.chain(), work.matrix(work.alpha));
    backward(work.chain(), work.matrix(work.beta));
    StepWork known = work;
    know(known);
    forward(known.chain(), known.matrix(known.alpha));
    double before = 0;
    std::vector<double> sums(at(n_));
    for (Index t = 0; t < work.rows; ++t) {
      if (work.labels[at(t)] == kNoSymbol) continue;
      for (Index j = 0; j < n_; ++j) sums[at(j)] = known.alpha[at(t * n_ + j)] + work.beta[at(t * n_ + j)];
      const double so_far = log_z - log_sum_exp(sums.data(), n_);
      nats[o.structure.row(s, t)] = static_cast<T>(so_far < before ? 0 : so_far - before);
      before = so_far;
    }
    return before;
  }
  /// Leaves the known labels alone.
  void know(StepWork& work) const {
    for (Index t = 0; t < work.rows; ++t)
      for (Index j = 0; j < n_ && work.labels[at(t)] != kNoSymbol; ++j)
        if (j != work.labels[at(t)]) work.emissions[at(t * n_ + j)] = kForbidden;
  }

  /// Adds sign times the expected counts: to the adjoint times scale, to `counts` as they are.
  void add_counts(const Observed<T>& o, Index s, StepWork& work, double sign, double scale, Matrix<T> adjoint,
                  ChainScores& counts) const {
    state_marginals(work.matrix(work.alpha), work.matrix(work.beta), work.matrix(work.marginals));
    for (Index t = 0; t < work.rows; ++t) {
      T* row = adjoint.row(o.structure.row(s, t));
      const double* p = work.marginals.data() + t * n_;
      for (Index j = 0; j < n_; ++j) row[j] += static_cast<T>(scale * sign * p[j]);
      for (Index j = 0; j < n_ && t == 0; ++j) counts.start[at(j)] += sign * p[j];
      for (Index j = 0; j < n_ && t + 1 == work.rows; ++j) counts.stop[at(j)] += sign * p[j];
      if (t == 0) continue;
      pair_marginals(work.chain(), work.matrix(work.alpha), work.matrix(work.beta), t, work.pairs.data());
      for (Index k = 0; k < n_ * n_; ++k) {
        row[n_ + k] += static_cast<T>(scale * sign * work.pairs[at(k)]);
        counts.transitions[at(k)] += sign * work.pairs[at(k)];
      }
    }
  }

  void lay_out_question(const LabelQuestion<T>& q, Index s, const ChainScores& scores, StepWork& work) const {
    lay_out(q.structure, s, q.signal, scores, work);
    for (Index t = 0; t < work.rows && q.allowed.data != nullptr; ++t)
      for (Index j = 0; j < n_; ++j)
        if (q.allowed(q.structure.row(s, t), j) == 0) work.emissions[at(t * n_ + j)] = kForbidden;
  }
  double ask(const LabelQuestion<T>& q, Index s, StepWork& work) const {
    require_chains(q.structure, "crf");
    lay_out_question(q, s, scores_in(q.parameters), work);
    const double log_z = forward(work.chain(), work.matrix(work.alpha));
    if (!(log_z > kForbidden)) refuse(s);
    return log_z;
  }
  template <class Use>
  void each_question(const LabelQuestion<T>& q, Team& team, const Use& use) const {
    require_chains(q.structure, "crf");
    const ChainScores scores = scores_in(q.parameters);
    team.run([&](Member& me) {
      StepWork work;
      const Range mine = me.share(q.structure.sequences(), 1);
      for (Index s = mine.begin; s < mine.end; ++s) {
        lay_out_question(q, s, scores, work);
        use(s, work);
      }
    });
  }
  [[noreturn]] static void refuse(Index s) {
    throw DataError(fmt::format("crf: nothing that is allowed fits example {} of a batch", s + 1));
  }
  [[noreturn]] static void refuse_neighbours() {
    throw UsageError(
        "crf:steps=read scores steps at every position anew: --constraint, and --objective but for likelihood, are for "
        "steps=fixed");
  }

  LabelScheme scheme_;
  std::vector<std::string> names_;
  Index n_ = 0;
  const Circuit* circuit_ = nullptr;
  std::vector<int> own_;
};

}  // namespace

template <class T>
std::unique_ptr<Loss<T>> step_crf_loss(LabelScheme scheme) {
  return std::make_unique<StepCrf<T>>(scheme);
}
template std::unique_ptr<Loss<float>> step_crf_loss<float>(LabelScheme);
template std::unique_ptr<Loss<double>> step_crf_loss<double>(LabelScheme);

}  // namespace unfold
