/// Input-output hidden Markov models of vectors, compared with sums over all paths of small chains.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "loss/hmm/hidden_states.h"
#include "unfold/base/error.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

using testing::HasSubstr;

/// Chains with a signal that varies by position, and partly missing targets.
template <class T>
struct GaussianHmmCase {
  static constexpr Index kNumbers = 2, kStates = 3;
  Circuit circuit;
  ChosenLoss chosen;
  std::unique_ptr<Loss<T>> loss;
  std::unique_ptr<Loss<double>> emission;
  Structure structure = Structure::chains({4, 1, 3, 5});
  Index size, each;
  std::vector<T> signal, values, parameters;
  std::vector<char> predicted;

  GaussianHmmCase(const std::string& options, const std::string& of_state)
      : chosen(choose_loss("gaussian-hmm:3," + options)),
        loss(chosen.make<T>()),
        emission(choose_loss(of_state).make<double>()),
        size(chosen.signal_size(kNumbers)),
        each(choose_loss(of_state).signal_size(kNumbers)) {
    const Signal o = circuit.affine("o", size, {{"W", circuit.input("x", 1)}});
    circuit.output(o);
    loss->declare(circuit, o);
    Random random(2, "case");
    const auto draw = [&](std::vector<T>& x, Index n) {
      for (Index i = 0; i < n; ++i) x.push_back(static_cast<T>(0.7 * random.normal()));
    };
    draw(signal, rows() * size);
    draw(values, rows() * kNumbers);
    draw(parameters, circuit.parameter_count());
    for (Index r = 0; r < rows(); ++r) predicted.push_back(random.uniform() < 0.8 ? 1 : 0);
  }
  Index rows() const { return structure.positions(); }
  Observed<T> observed() const {
    return {structure,
            {signal.data(), rows(), size, size},
            {nullptr, {values.data(), rows(), kNumbers, kNumbers}, predicted.data()},
            parameters};
  }
  double own(Index j) const {
    return static_cast<double>(parameters[at(circuit.parameters()[at(loss->parameter_indices()[0])].offset + j)]);
  }
  /// Returns log p(y | state) from the row loss, which is tested separately.
  double log_emission(Index row, Index state) const {
    if (predicted[at(row)] == 0) return 0;
    std::vector<double> o, y;
    for (Index i = 0; i < each; ++i)
      o.push_back(static_cast<double>(signal[at(row * size + kStates * kStates + state * each + i)]));
    for (Index i = 0; i < kNumbers; ++i) y.push_back(static_cast<double>(values[at(row * kNumbers + i)]));
    double nats = 0;
    emission->need<RowLoss<double>>("test").row_losses({o.data(), 1, each, each},
                                                       {nullptr, {y.data(), 1, kNumbers, kNumbers}, nullptr}, &nats);
    return -nats;
  }
  double log_step(Index row, Index i, Index j) const {
    double sum = 0;
    const auto logit = [&](Index k) { return static_cast<double>(signal[at(row * size + i * kStates + k)]); };
    for (Index k = 0; k < kStates; ++k) sum += std::exp(logit(k));
    return logit(j) - std::log(sum);
  }
  double score(Index s, const std::vector<Index>& path) const {
    double sum = 0, all = 0;
    for (Index k = 0; k < kStates; ++k) all += std::exp(own(k));
    sum = own(path[0]) - std::log(all);
    for (std::size_t t = 0; t < path.size(); ++t) {
      const Index row = structure.row(s, static_cast<Index>(t));
      if (t > 0) sum += log_step(row, path[t - 1], path[t]);
      sum += log_emission(row, path[t]);
    }
    return sum;
  }
  template <class Use>
  void each_path(Index s, Index length, const Use& use) const {
    std::vector<Index> path(at(length), 0);
    while (true) {
      use(path, std::exp(score(s, path)));
      std::size_t t = 0;
      while (t < path.size() && ++path[t] == kStates) path[t++] = 0;
      if (t == path.size()) return;
    }
  }
};

struct GaussianHmmKind {
  const char *options, *of_state;
};

class EveryGaussianHmm : public testing::TestWithParam<GaussianHmmKind> {
 protected:
  template <class T>
  GaussianHmmCase<T> make() const {
    return {GetParam().options, GetParam().of_state};
  }
};

INSTANTIATE_TEST_SUITE_P(GaussianHmm, EveryGaussianHmm,
                         testing::Values(GaussianHmmKind{"components=1", "gaussian-mixture:1"},
                                         GaussianHmmKind{"components=2", "gaussian-mixture:2"},
                                         GaussianHmmKind{"components=2,covariance=diagonal", "mixture:2"}));

TEST_P(EveryGaussianHmm, row_nats_are_conditional_on_previous_vectors) {
  const auto c = make<double>();
  Team team(1);
  std::vector<double> nats(at(c.rows()));
  c.loss->negative_log_likelihood(c.observed(), team, nats.data());
  for (Index s = 0; s < c.structure.sequences(); ++s) {
    double before = 0;
    for (Index t = 0; t < c.structure.size(s); ++t) {
      double p = 0;
      c.each_path(s, t + 1, [&](const std::vector<Index>&, double weight) { p += weight; });
      EXPECT_NEAR(nats[at(c.structure.row(s, t))], before - std::log(p), 1e-9);
      before = std::log(p);
    }
  }
}

TEST_P(EveryGaussianHmm, gradient_equals_finite_differences) {
  auto c = make<double>();
  Team team(1);
  std::vector<double> nats(at(c.rows())), adjoint(c.signal.size()), own(c.parameters.size());
  c.loss->gradient(c.observed(), 1, team, nats.data(), {adjoint.data(), c.rows(), c.size, c.size}, own);
  const auto difference = [&](double& x) {
    constexpr double kStep = 1e-6;
    const double before = x;
    const auto total = [&] {
      c.loss->negative_log_likelihood(c.observed(), team, nats.data());
      double sum = 0;
      for (const double each : nats) sum += each;
      return sum;
    };
    x = before + kStep;
    const double up = total();
    x = before - kStep;
    const double down = total();
    x = before;
    return (up - down) / (2 * kStep);
  };
  for (std::size_t i = 0; i < c.signal.size(); ++i) EXPECT_NEAR(adjoint[i], difference(c.signal[i]), 2e-7);
  for (Index j = 0; j < 3; ++j) {
    const auto place = at(c.circuit.parameters()[at(c.loss->parameter_indices()[0])].offset + j);
    EXPECT_NEAR(own[place], difference(c.parameters[place]), 2e-7);
  }
}

TEST_P(EveryGaussianHmm, states_equal_path_enumeration) {
  const auto c = make<double>();
  Team team(1);
  const auto& hidden = c.loss->template need<HiddenStates<double>>("test");
  std::vector<Index> path(at(c.rows()));
  std::vector<double> p(at(c.rows() * 3));
  hidden.most_probable(c.observed(), team, path);
  hidden.posteriors(c.observed(), team, {p.data(), c.rows(), 3, 3});
  for (Index s = 0; s < c.structure.sequences(); ++s) {
    std::vector<Index> found;
    for (Index t = 0; t < c.structure.size(s); ++t) found.push_back(path[at(c.structure.row(s, t))]);
    double best = 0, sum = 0;
    std::vector<double> shares(at(c.structure.size(s) * 3));
    c.each_path(s, c.structure.size(s), [&](const std::vector<Index>& each, double weight) {
      best = std::max(best, weight);
      sum += weight;
      for (std::size_t t = 0; t < each.size(); ++t) shares[3 * t + at(each[t])] += weight;
    });
    EXPECT_NEAR(std::exp(c.score(s, found)), best, 1e-12);
    for (std::size_t i = 0; i < shares.size(); ++i)
      EXPECT_NEAR(p[at(c.structure.row(s, static_cast<Index>(i / 3))) * 3 + i % 3], shares[i] / sum, 1e-9);
  }
}

TEST_P(EveryGaussianHmm, bits_do_not_depend_on_threads_and_floats_stay_close) {
  const auto c = make<double>();
  const auto single = make<float>();
  const auto judge = [&](int threads) {
    Team team(threads);
    std::vector<double> nats(at(c.rows())), adjoint(c.signal.size()), own(c.parameters.size());
    c.loss->gradient(c.observed(), 0.5, team, nats.data(), {adjoint.data(), c.rows(), c.size, c.size}, own);
    nats.insert(nats.end(), adjoint.begin(), adjoint.end());
    nats.insert(nats.end(), own.begin(), own.end());
    return nats;
  };
  const std::vector<double> one = judge(1);
  EXPECT_EQ(one, judge(2));
  Team team(1);
  std::vector<float> nats(at(single.rows()));
  single.loss->negative_log_likelihood(single.observed(), team, nats.data());
  for (std::size_t r = 0; r < nats.size(); ++r) EXPECT_NEAR(static_cast<double>(nats[r]), one[r], 1e-4);
}

TEST(GaussianHmm, gaussian_hmm_reports_the_size_of_its_signal) {
  EXPECT_EQ(choose_loss("gaussian-hmm:3").signal_size(2), 9 + 3 * (1 + 4 + 1));
  EXPECT_EQ(choose_loss("gaussian-hmm:3,components=2,covariance=diagonal").signal_size(2), 9 + 3 * 2 * 5);
  try {
    (void)choose_loss("gaussian-hmm:3").make<float>()->target_size(20);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("for any number of values"));
  }
}

}  // namespace
}  // namespace unfold
