#include "loss/hmm/gaussian_hmm.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "loss/hmm/hidden_states.h"
#include "loss/hmm/inhomogeneous_chain.h"
#include "loss/own_parameters.h"
#include "loss/weighted_loss.h"
#include "numerics/functions.h"
#include "unfold/loss/registry.h"
#include "unfold/loss/rows.h"

namespace unfold {
namespace {

/// Number of chains whose gradients of the own parameters are summed together.
constexpr Index kChainsTogether = 16;

/// A hidden Markov model for vectors whose probabilities may depend on the inputs of a network (input-output HMM;
/// Bengio & Frasconi 1995). The signal at t holds the transition logits A_t [K x K], then the emission parameters of
/// each state, laid out as for gaussian-mixture (full covariances) or mixture (diagonal covariances):
///
///   a_t(i, j) = softmax(A_t[i])_j,   pi = softmax(start), a parameter of the loss
///   p(y) = sum over paths s of pi(s_1) prod_{t>1} a_t(s_{t-1}, s_t) prod_t p(y_t | state s_t at t)
///
/// The nats of a row are -log p(y_t | y_1 .. y_{t-1}). Let gamma_t(j) be the posteriors of states and xi_t(i, j) the
/// posteriors of pairs. The gradients are gamma_t(j) times the gradient of -log p(y_t | j) for the emissions, a_t(i, j)
/// gamma_{t-1}(i) - xi_t(i, j) for A_t, and softmax(start) - gamma_1 for `start`. Rows without a target have no
/// emission term; the chain continues through them.
template <class T>
class GaussianHmm final : public HiddenStates<T>, public WeightedLoss<T> {
 public:
  explicit GaussianHmm(const GaussianHmmOptions& options) : options_(options) {
    const bool full = options.covariance == Covariance::full;
    auto emission = full ? gaussian_mixture_loss<T>(options.components) : mixture_loss<T>(options.components);
    emission_ = std::unique_ptr<RowLoss<T>>(dynamic_cast<RowLoss<T>*>(emission.release()));
  }

  std::string_view name() const override { return "gaussian-hmm"; }
  Index states() const override { return options_.states; }
  Index target_size(Index signal_size) const override {
    Index n = 1;
    while (gaussian_hmm_signal(options_, n) < signal_size) ++n;
    if (gaussian_hmm_signal(options_, n) != signal_size)
      throw UsageError(
          fmt::format("gaussian-hmm loss: a signal of {} numbers does not match {} states and {} components for any "
                      "number of values",
                      signal_size, options_.states, options_.components));
    return n;
  }

  void declare(Circuit& circuit, Signal signal) override {
    own_.declare(circuit, signal, {{"start", 1, options_.states}});
  }
  std::span<const int> parameter_indices() const override { return own_.ids(); }

  void negative_log_likelihood(const Observed<T>& o, Team& team, T* nats) const override {
    each_chain(o, team, nats, [](Index, Index, StateWork&) {});
  }

  void weighted_gradient(const Observed<T>& o, RowWeights<T> weights, T scale, Team& team, T* nats, Matrix<T> adjoint,
                         std::span<T> own_gradient) const override {
    require_shape<T>(name(), "the adjoint", adjoint, o.signal);
    const Index k = options_.states;
    std::vector<std::vector<double>> start(at(blocks(o.structure)), std::vector<double>(at(k)));
    each_chain(o, team, nats, [&](Index block, Index s, StateWork& work) {
      backward(work.chain(), work.matrix(work.beta));
      state_marginals(work.matrix(work.alpha), work.matrix(work.beta), work.matrix(work.marginals));
      const double weight = weights.of_chain(o.structure, s);
      for (Index j = 0; j < k; ++j) start[at(block)][at(j)] += weight * work.marginals[at(j)];
      for (Index t = 0; t < work.rows; ++t) put_slopes(o, s, t, static_cast<T>(weight) * scale, work, adjoint);
    });
    put_start(o, weights, start, scale, own_gradient);
  }

  void most_probable(const Observed<T>& o, Team& team, std::span<Index> path) const override {
    std::vector<T> nats(at(o.signal.rows));
    each_chain(o, team, nats.data(), [&](Index, Index s, StateWork& work) {
      const std::vector<Index> found = best_states(work.chain());
      for (Index t = 0; t < work.rows; ++t) path[at(o.structure.row(s, t))] = found[at(t)];
    });
  }
  void posteriors(const Observed<T>& o, Team& team, Matrix<double> p) const override {
    std::vector<T> nats(at(o.signal.rows));
    each_chain(o, team, nats.data(), [&](Index, Index s, StateWork& work) {
      backward(work.chain(), work.matrix(work.beta));
      state_marginals(work.matrix(work.alpha), work.matrix(work.beta), work.matrix(work.marginals));
      for (Index t = 0; t < work.rows; ++t)
        std::copy_n(work.marginals.data() + t * work.states, work.states, p.row(o.structure.row(s, t)));
    });
  }

 private:
  static Index blocks(const Structure& s) {
    return std::max<Index>(1, (s.sequences() + kChainsTogether - 1) / kChainsTogether);
  }
  std::vector<double> log_start(const Observed<T>& o) const {
    std::vector<double> start = own_.numbers(o.parameters, 0);
    log_softmax(start.data(), start.data(), options_.states);
    return start;
  }
  Index emission_size(const Observed<T>& o) const { return o.signal.cols / options_.states - options_.states; }
  Index emission_place(const Observed<T>& o, Index j) const {
    return options_.states * options_.states + j * emission_size(o);
  }

  /// Loads every chain, runs forward and writes its nats, then calls use(block, chain, work).
  template <class Use>
  void each_chain(const Observed<T>& o, Team& team, T* nats, const Use& use) const {
    if (o.structure.kind() != Structure::Kind::chains)
      throw UsageError("gaussian-hmm: supports only chains, not grids or trees");
    require_same_rows(name(), o.signal.rows, o.structure);
    require_values<T>(*this, o.signal, o.targets);
    const std::vector<double> start = log_start(o);
    team.run([&](Member& me) {
      StateWork work;
      work.start = start;
      const Range mine = me.share(blocks(o.structure), 1);
      for (Index b = mine.begin; b < mine.end; ++b)
        for (Index s = b * kChainsTogether; s < std::min(o.structure.sequences(), (b + 1) * kChainsTogether); ++s) {
          lay_out(o, s, work);
          forward(work.chain(), work.matrix(work.alpha));
          put_nats(o, s, work, nats);
          use(b, s, work);
        }
    });
  }

  void lay_out(const Observed<T>& o, Index s, StateWork& work) const {
    const Index k = options_.states;
    work.make_room(o.structure.size(s), k);
    for (Index t = 0; t < work.rows; ++t) {
      const Index row = o.structure.row(s, t);
      double* steps = work.steps.data() + t * k * k;
      std::copy_n(o.signal.row(row), k * k, steps);
      for (Index i = 0; i < k; ++i) log_softmax(steps + i * k, steps + i * k, k);
      for (Index j = 0; j < k; ++j) {
        T nats = 0;
        emission_->row_losses(emission(o, row, j), o.targets.from_row(row, 1), &nats);
        work.emissions[at(t * k + j)] = -static_cast<double>(nats);
      }
    }
  }
  Matrix<const T> emission(const Observed<T>& o, Index row, Index j) const {
    return o.signal.rows_from(row, 1).cols_from(emission_place(o, j), emission_size(o));
  }

  void put_nats(const Observed<T>& o, Index s, StateWork& work, T* nats) const {
    double before = 0;
    for (Index t = 0; t < work.rows; ++t) {
      const Index row = o.structure.row(s, t);
      const double log_p = log_sum_exp(work.alpha.data() + t * work.states, work.states);
      nats[row] = is_predicted(o.targets, row) ? static_cast<T>(before - log_p) : T{0};
      before = log_p;
    }
  }

  void put_slopes(const Observed<T>& o, Index s, Index t, T scale, StateWork& work, Matrix<T> adjoint) const {
    const Index k = options_.states, row = o.structure.row(s, t);
    const Matrix<T> out = adjoint.rows_from(row, 1);
    for (Index j = 0; j < k; ++j) {
      T nats = 0;
      const auto share = static_cast<T>(static_cast<double>(scale) * work.marginals[at(t * k + j)]);
      emission_->row_gradients(emission(o, row, j), o.targets.from_row(row, 1), share, &nats,
                               out.cols_from(emission_place(o, j), emission_size(o)));
    }
    std::fill_n(out.data, k * k, T{0});
    if (t == 0) return;
    pair_marginals(work.chain(), work.matrix(work.alpha), work.matrix(work.beta), t, work.pairs.data());
    double* shares = work.steps.data() + t * k * k;
    std::vector<double> a(shares, shares + k * k);
    vector_exp(a.data(), a.data(), k * k);
    for (Index i = 0; i < k; ++i) {
      double left = 0;
      for (Index j = 0; j < k; ++j) left += work.pairs[at(i * k + j)];
      for (Index j = 0; j < k; ++j)
        out.data[i * k + j] =
            static_cast<T>(static_cast<double>(scale) * (a[at(i * k + j)] * left - work.pairs[at(i * k + j)]));
    }
  }

  void put_start(const Observed<T>& o, RowWeights<T> weights, const std::vector<std::vector<double>>& found, T scale,
                 std::span<T> out) const {
    std::vector<double> slopes = log_start(o);
    vector_exp(slopes.data(), slopes.data(), options_.states);
    double total = 0;
    for (Index s = 0; s < o.structure.sequences(); ++s) total += weights.of_chain(o.structure, s);
    for (std::size_t j = 0; j < slopes.size(); ++j) {
      slopes[j] *= total;
      for (const std::vector<double>& block : found) slopes[j] -= block[j];
    }
    own_.add(slopes, static_cast<double>(scale), 0, out);
  }

  GaussianHmmOptions options_;
  std::unique_ptr<RowLoss<T>> emission_;
  OwnParameters own_;
};

}  // namespace

LossEntry gaussian_hmm_entry() {
  return {.name = "gaussian-hmm",
          .help = "sequences of real vectors: a hidden Markov model whose states emit mixtures of Gaussians",
          .of_symbols = false,
          .make_float = [](const AnyOptions& options) -> std::unique_ptr<Loss<float>> {
            return std::make_unique<GaussianHmm<float>>(options.as<GaussianHmmOptions>());
          },
          .make_double = [](const AnyOptions& options) -> std::unique_ptr<Loss<double>> {
            return std::make_unique<GaussianHmm<double>>(options.as<GaussianHmmOptions>());
          },
          .options = GaussianHmmOptions(),
          .main_option = "states",
          .size_of_signal =
              [](Index numbers, const AnyOptions& options) {
                return gaussian_hmm_signal(options.as<GaussianHmmOptions>(), numbers);
              },
          .density = Density::sequences};
}

}  // namespace unfold
