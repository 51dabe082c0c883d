#include "loss/crf/transition_crf.h"

#include "loss/crf/label_random_field.h"
#include "loss/hmm/inhomogeneous_chain.h"

namespace unfold {

Index step_crf_labels(Index signal_size) {
  Index n = 1;
  while (n + n * n < signal_size) ++n;
  if (n + n * n != signal_size)
    throw UsageError(fmt::format("crf: the signal has {} numbers, but must have n + n^2 for n labels", signal_size));
  return n;
}

namespace {

/// Chains whose transition scores differ from position to position (loss/hmm/inhomogeneous_chain.h).
struct StepChain : TwoSidedChain {
  using Scores = ChainScores;
  std::vector<double> start, steps, pairs;

  template <class T>
  void take(const ChainScores& given, const Structure& structure, Index s, Matrix<const T> signal) {
    const Index n = given.labels;
    gather(structure, s, signal, n, emissions);
    make_room();
    start = given.start;
    pairs.resize(at(n * n));
    steps.resize(at(rows * n * n));
    for (Index t = 0; t < rows; ++t) {
      const T* from = signal.row(structure.row(s, t)) + n;
      for (Index k = 0; k < n * n; ++k)
        steps[at(t * n * n + k)] = given.transitions[at(k)] + static_cast<double>(from[k]);
    }
    for (Index j = 0; j < n; ++j) emissions[at((rows - 1) * n + j)] += given.stop[at(j)];
  }
  InhomogeneousChain chain() const {
    return {.states = cols,
            .start = start.data(),
            .steps = {steps.data(), rows, cols * cols, cols * cols},
            .emissions = e()};
  }
  double forward() { return log_sum = unfold::forward(chain(), matrix(alpha)); }
  void backward() { unfold::backward(chain(), matrix(beta)); }
  double best(Symbol* found) {
    std::ranges::copy(best_states(chain()), found);
    return forward();
  }
  std::vector<ScoredLabeling> n_best(Index count) const {
    std::vector<ScoredLabeling> found;
    for (const StatePath& path : best_paths(chain(), count))
      found.push_back({{path.states.begin(), path.states.end()}, path.score});
    return found;
  }
  void draw(Random& random, Symbol* drawn) { std::ranges::copy(draw_states(chain(), matrix(alpha), random), drawn); }
  double score(const Symbol* given) const { return path_score(chain(), {given, given + rows}); }
  static std::uint64_t stream(Index s) { return stream_of("labels") + static_cast<std::uint64_t>(s); }
};

/// A linear-chain conditional random field with transition scores from the signal. The signal holds n label scores o_t,
/// followed by n^2 transition scores w_t:
///
///   score(y) = start[y_1] + sum_t o_t[y_t] + sum_{t>1} (transitions + w_t)[y_{t-1}][y_t] + stop[y_T]
///
/// All computations are in log space. Missing labels are summed over, as in crf.cpp.
template <class T>
class StepCrf final : public LabelRandomField<T, StepChain> {
 public:
  using LabelRandomField<T, StepChain>::LabelRandomField;

  Index target_size(Index signal_size) const override { return step_crf_labels(signal_size); }
  void declare(Circuit& circuit, Signal signal) override {
    const Index n = step_crf_labels(signal.size());
    this->declare_scores(circuit, signal, n, n);
  }

  void negative_log_likelihood(const Observed<T>& o, Team& team, T* nats) const override {
    this->compute_all_nats(
        o, team, nats, [](Index, StepChain& chain) { chain.backward(); }, [](Index, StepChain&, bool) {});
  }

  void weighted_gradient(const Observed<T>& o, RowWeights<T> weights, T scale, Team& team, T* nats, Matrix<T> adjoint,
                         std::span<T> own_gradient) const override {
    require_shape<T>(this->name(), "the adjoint", adjoint, o.signal);
    std::vector<ChainScores> counts(at(this->blocks(o.structure)), ChainScores::zeros(this->n_));
    const auto clear = [&](Index s, Index length) {
      for (Index t = 0; t < length; ++t) set_row(adjoint.row(o.structure.row(s, t)), adjoint.cols, T{0});
    };
    const auto count = [&](Index s, StepChain& chain, double sign) {
      chain.backward();
      add_counts(o.structure, s, chain, sign * weights.of_chain(o.structure, s), static_cast<double>(scale), adjoint,
                 counts[at(s / this->kTogether)]);
    };
    this->compute_all_nats(
        o, team, nats,
        [&](Index s, StepChain& chain) {
          clear(s, chain.rows);
          count(s, chain, 1);
        },
        [&](Index s, StepChain& chain, bool judged) { judged ? count(s, chain, -1) : clear(s, chain.rows); });
    this->add_own(counts, scale, own_gradient);
  }

  ChainScores neighbors(std::span<const T>, Index) const override { refuse_neighbors(); }
  void add_transition_counts(const ChainScores&, double, std::span<T>) const override { refuse_neighbors(); }

 private:
  ChainScores scores_in(std::span<const T> all) const override {
    ChainScores scores = this->numbers_in(all);
    forbid(this->scheme_, this->names_, scores);
    return scores;
  }

  /// Adds `factor` times the expected counts to `counts` and, multiplied by `scale`, to the adjoint.
  static void add_counts(const Structure& structure, Index s, StepChain& chain, double factor, double scale,
                         Matrix<T> adjoint, ChainScores& counts) {
    const Index n = chain.cols;
    state_marginals(chain.matrix(chain.alpha), chain.matrix(chain.beta), chain.matrix(chain.shares));
    for (Index t = 0; t < chain.rows; ++t) {
      T* row = adjoint.row(structure.row(s, t));
      const double* p = chain.shares.data() + t * n;
      for (Index j = 0; j < n; ++j) row[j] += static_cast<T>(scale * factor * p[j]);
      for (Index j = 0; j < n && t == 0; ++j) counts.start[at(j)] += factor * p[j];
      for (Index j = 0; j < n && t + 1 == chain.rows; ++j) counts.stop[at(j)] += factor * p[j];
      if (t == 0) continue;
      pair_marginals(chain.chain(), chain.matrix(chain.alpha), chain.matrix(chain.beta), t, chain.pairs.data());
      for (Index k = 0; k < n * n; ++k) {
        row[n + k] += static_cast<T>(scale * factor * chain.pairs[at(k)]);
        counts.transitions[at(k)] += factor * chain.pairs[at(k)];
      }
    }
  }

  [[noreturn]] static void refuse_neighbors() {
    throw UsageError(
        "crf:steps=read does not support --constraint, or an --objective other than likelihood; use steps=fixed");
  }
};

}  // namespace

template <class T>
std::unique_ptr<Loss<T>> step_crf_loss(LabelScheme scheme) {
  return std::make_unique<StepCrf<T>>(scheme);
}

template std::unique_ptr<Loss<float>> step_crf_loss<float>(LabelScheme);
template std::unique_ptr<Loss<double>> step_crf_loss<double>(LabelScheme);

}  // namespace unfold
