/// Hidden Markov models of vectors: compared with sums over all paths, their own samples, and the guarantees of
/// expectation-maximization.

#include "loss/hmm/vector_hmm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Returns log N(y; m, S) by elimination, term by term.
double gaussian(const std::vector<double>& y, const double* mean, std::vector<double> s, Index n) {
  double log_det = 0, square = 0;
  std::vector<double> e(at(n));
  for (Index i = 0; i < n; ++i) e[at(i)] = y[at(i)] - mean[i];
  for (Index k = 0; k < n; ++k) {
    const double pivot = s[at(k * n + k)];
    log_det += std::log(pivot);
    square += e[at(k)] * e[at(k)] / pivot;
    for (Index i = k + 1; i < n; ++i) {
      const double factor = s[at(i * n + k)] / pivot;
      e[at(i)] -= factor * e[at(k)];
      for (Index j = 0; j < n; ++j) s[at(i * n + j)] -= factor * s[at(k * n + j)];
    }
  }
  return -0.5 * (square + log_det + static_cast<double>(n) * std::log(2 * M_PI));
}

VectorHmm random_model(const VectorHmmShape& shape, std::uint64_t seed) {
  VectorHmm hmm(shape);
  Random random(seed, "model");
  const auto shares = [&](std::vector<double>& x, Index rows) {
    const Index n = static_cast<Index>(x.size()) / rows;
    for (double& each : x) each = random.uniform(0.2, 1);
    for (Index r = 0; r < rows; ++r) {
      double sum = 0;
      for (Index i = 0; i < n; ++i) sum += x[at(r * n + i)];
      for (Index i = 0; i < n; ++i) x[at(r * n + i)] /= sum;
    }
  };
  shares(hmm.start, 1), shares(hmm.transitions, shape.states), shares(hmm.weights, shape.states);
  for (double& m : hmm.means) m = 2 * random.normal();
  const Index n = shape.numbers;
  for (Index k = 0; k < shape.mixtures(); ++k) {
    std::vector<double> a(at(n * n));
    for (double& x : a) x = random.normal();
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j) {
        if (!shape.full && i != j) continue;
        double sum = i == j ? 0.3 : 0;
        for (Index c = 0; c < n && shape.full; ++c) sum += a[at(i * n + c)] * a[at(j * n + c)];
        hmm.covariances[at(k * shape.spread() + (shape.full ? i * n + j : i))] = sum;
      }
  }
  return hmm;
}

/// Returns log p(y) by enumerating all paths.
double by_paths(const VectorHmm& hmm, Matrix<const double> run) {
  const VectorHmmShape& shape = hmm.shape;
  const Index n = shape.numbers;
  const auto emission = [&](Index t, Index state) {
    double p = 0;
    const std::vector<double> y(run.row(t), run.row(t) + n);
    for (Index c = 0; c < shape.components; ++c) {
      const Index k = state * shape.components + c;
      std::vector<double> s(at(n * n));
      for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j)
          if (shape.full)
            s[at(i * n + j)] = hmm.covariances[at(k * n * n + i * n + j)];
          else if (i == j)
            s[at(i * n + j)] = hmm.covariances[at(k * n + i)];
      p += hmm.weights[at(k)] * std::exp(gaussian(y, hmm.means.data() + k * n, s, n));
    }
    return p;
  };
  std::vector<Index> path(at(run.rows), 0);
  double sum = 0;
  while (true) {
    double p = hmm.start[at(path[0])];
    for (Index t = 0; t < run.rows; ++t)
      p *= (t > 0 ? hmm.transitions[at(path[at(t - 1)] * shape.states + path[at(t)])] : 1) * emission(t, path[at(t)]);
    sum += p;
    Index t = 0;
    while (t < run.rows && ++path[at(t)] == shape.states) path[at(t++)] = 0;
    if (t == run.rows) return std::log(sum);
  }
}

struct Drawn {
  std::vector<double> rows;
  std::vector<Index> ends, states;
  Index numbers;

  Drawn(const VectorHmm& hmm, const std::vector<Index>& lengths, std::uint64_t seed) : numbers(hmm.shape.numbers) {
    Random random(seed, "draw");
    for (const Index length : lengths) {
      const DrawnRun run = sample(hmm, length, random);
      rows.insert(rows.end(), run.rows.begin(), run.rows.end());
      states.insert(states.end(), run.states.begin(), run.states.end());
      ends.push_back(static_cast<Index>(states.size()));
    }
  }
  VectorSequences runs() const { return {{rows.data(), static_cast<Index>(states.size()), numbers, numbers}, ends}; }
};

class EveryVectorHmm : public testing::TestWithParam<VectorHmmShape> {};
INSTANTIATE_TEST_SUITE_P(VectorHmm, EveryVectorHmm,
                         testing::Values(VectorHmmShape{1, 1, 1, true}, VectorHmmShape{3, 1, 2, true},
                                         VectorHmmShape{2, 2, 3, true}, VectorHmmShape{3, 2, 2, false},
                                         VectorHmmShape{2, 1, 3, false}));

TEST_P(EveryVectorHmm, likelihood_equals_the_sum_over_all_paths) {
  const VectorHmm hmm = random_model(GetParam(), 1);
  const Drawn drawn(hmm, {4, 1, 5}, 2);
  Team team(1);
  double sum = 0;
  for (Index s = 0; s < 3; ++s) sum += by_paths(hmm, drawn.runs().run(s));
  EXPECT_NEAR(log_likelihood(hmm, drawn.runs(), team), sum, 1e-9);
}

TEST_P(EveryVectorHmm, em_likelihood_never_decreases_for_any_number_of_threads) {
  const VectorHmm truth = random_model(GetParam(), 3);
  const Drawn drawn(truth, std::vector<Index>(40, 12), 4);
  VectorHmm one = random_model(GetParam(), 5), two = one;
  Team alone(1), together(2);
  double before = -1e300;
  for (int i = 0; i < 12; ++i) {
    const double now = reestimate(one, drawn.runs(), alone);
    EXPECT_EQ(now, reestimate(two, drawn.runs(), together));
    EXPECT_GE(now, before - 1e-9 * std::fabs(now));
    before = now;
  }
  EXPECT_EQ(one.means, two.means);
  EXPECT_EQ(one.covariances, two.covariances);
}

TEST_P(EveryVectorHmm, weights_of_sequences_equal_repetitions) {
  const VectorHmm truth = random_model(GetParam(), 3);
  const Drawn drawn(truth, {4, 6, 5, 3}, 4);
  const std::vector<Index> weights = {2, 1, 3, 1};
  Drawn repeated = drawn;
  repeated.rows.clear(), repeated.ends.clear(), repeated.states.clear();
  std::vector<double> of_rows;
  for (Index s = 0; s < 4; ++s) {
    const Matrix<const double> run = drawn.runs().run(s);
    of_rows.insert(of_rows.end(), at(run.rows), static_cast<double>(weights[at(s)]));
    for (Index copy = 0; copy < weights[at(s)]; ++copy) {
      repeated.rows.insert(repeated.rows.end(), run.row(0), run.row(0) + run.rows * run.cols);
      repeated.states.resize(repeated.states.size() + at(run.rows));
      repeated.ends.push_back(static_cast<Index>(repeated.states.size()));
    }
  }
  VectorSequences weighted = drawn.runs();
  weighted.weights = of_rows;
  VectorHmm a = random_model(GetParam(), 5), b = a;
  Team team(2);
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(reestimate(a, weighted, team), reestimate(b, repeated.runs(), team), 1e-8);
  for (const auto member :
       {&VectorHmm::start, &VectorHmm::transitions, &VectorHmm::weights, &VectorHmm::means, &VectorHmm::covariances})
    for (std::size_t i = 0; i < (a.*member).size(); ++i) EXPECT_NEAR((a.*member)[i], (b.*member)[i], 1e-9);
  EXPECT_NEAR(log_likelihood(a, weighted, team), log_likelihood(a, repeated.runs(), team), 1e-9);
  EXPECT_EQ(weighted.total(), repeated.runs().total());
}

/// Expected counts from the posterior of every path, then the formulas of the M-step.
TEST(VectorHmm, em_step_sets_weighted_means_and_relative_frequencies) {
  const VectorHmmShape shape{2, 1, 1, true};
  const VectorHmm before = random_model(shape, 6);
  const Drawn drawn(before, {5}, 7);
  VectorHmm after = before;
  Team team(1);
  reestimate(after, drawn.runs(), team);
  const std::vector<double> p = state_posteriors(before, drawn.runs().run(0));
  for (std::size_t j = 0; j < 2; ++j) {
    double count = 0, mean = 0, square = 0;
    for (std::size_t t = 0; t < 5; ++t) count += p[2 * t + j], mean += p[2 * t + j] * drawn.rows[t];
    mean /= count;
    for (std::size_t t = 0; t < 5; ++t) square += p[2 * t + j] * std::pow(drawn.rows[t] - mean, 2);
    EXPECT_NEAR(after.means[j], mean, 1e-12);
    EXPECT_NEAR(after.covariances[j], (square + kPriorCount * kPriorVariance) / (count + kPriorCount), 1e-12);
    EXPECT_NEAR(after.start[j], p[j], 1e-12);
    EXPECT_NEAR(after.transitions[2 * j] + after.transitions[2 * j + 1], 1, 1e-12);
  }
}

TEST(VectorHmm, states_and_their_number_are_recovered) {
  VectorHmm truth({3, 1, 2, true});
  truth.transitions = {0.9, 0.05, 0.05, 0.1, 0.8, 0.1, 0.05, 0.15, 0.8};
  truth.means = {-4, 0, 4, 0, 0, 5};
  truth.covariances = {1, 0.6, 0.6, 1, 1, -0.6, -0.6, 1, 0.5, 0, 0, 0.5};
  const Drawn drawn(truth, std::vector<Index>(20, 50), 8);
  Team team(1);
  const std::vector<VectorHmmFit> fits = choose_vector_hmm({5, 1, 2, true}, 1, drawn.runs(), {.restarts = 4}, team);
  ASSERT_EQ(fits.size(), 5u);
  EXPECT_EQ(fits.front().hmm.shape.states, 3);
  EXPECT_GE(fits.front().log_likelihood, log_likelihood(truth, drawn.runs(), team) - 10);
  // States have no order: the most frequent true state of each found state.
  Index right = 0;
  std::vector<std::vector<Index>> together(3, std::vector<Index>(3));
  for (Index s = 0; s < drawn.runs().count(); ++s) {
    const std::vector<Index> found = most_probable_states(fits.front().hmm, drawn.runs().run(s));
    for (std::size_t t = 0; t < found.size(); ++t)
      ++together[at(found[t])][at(drawn.states[at(drawn.runs().begin(s)) + t])];
  }
  for (const auto& row : together) right += *std::ranges::max_element(row);
  EXPECT_GE(right, 980);
}

TEST(VectorHmm, samples_and_forecasts_have_the_moments_of_the_model) {
  const VectorHmm hmm = random_model({2, 2, 2, true}, 9);
  const VectorForecast said = forecast(hmm, hmm.start, 3);  // the belief at rows 2, 3 and 4 of a sequence
  Random random(10, "runs");
  constexpr Index kRuns = 20'000;
  std::vector<double> sum(6), square(6);
  for (Index r = 0; r < kRuns; ++r) {
    const DrawnRun run = sample(hmm, 4, random);
    for (std::size_t i = 0; i < 6; ++i) sum[i] += run.rows[2 + i], square[i] += run.rows[2 + i] * run.rows[2 + i];
  }
  for (std::size_t i = 0; i < 6; ++i) {
    const double mean = sum[i] / kRuns;
    EXPECT_NEAR(mean, said.mean[i], 5 * std::sqrt(said.variance[i] / kRuns));
    EXPECT_NEAR(square[i] / kRuns - mean * mean, said.variance[i], 0.06 * said.variance[i]);
  }
}

/// Rows of a mixture of two Gaussians with one covariance.
std::vector<double> similar_components(Index rows, std::uint64_t seed) {
  Random random(seed, "rows");
  std::vector<double> values;
  for (Index r = 0; r < rows; ++r) {
    const double shared = random.normal(), mean = random.uniform() < 0.5 ? -2 : 2;
    for (Index i = 0; i < 3; ++i) values.push_back(mean + shared + 0.3 * random.normal());
  }
  return values;
}

VectorSequences single_rows(const std::vector<double>& values, Index numbers) {
  const Index rows = static_cast<Index>(values.size()) / numbers;
  std::vector<Index> ends(at(rows));
  for (Index r = 0; r < rows; ++r) ends[at(r)] = r + 1;
  return {{values.data(), rows, numbers, numbers}, ends};
}

TEST(VectorHmm, pooled_prior_is_observations_with_the_mean_covariance) {
  constexpr double kPooled = 1.5, kPrior = 0.1;
  VectorHmm hmm = random_model({.components = 2, .numbers = 2, .prior = kPrior, .pooled = kPooled}, 5);
  const VectorHmm before = hmm;
  std::vector<double> values(40);
  Random random(6, "rows");
  for (double& x : values) x = 2 * random.normal();
  Team team(2);
  double likelihood = 0;
  const double posterior = reestimate(hmm, single_rows(values, 2), team, &likelihood);

  const auto covariance = [&](Index k) {
    return std::vector<double>(before.covariances.begin() + 4 * k, before.covariances.begin() + 4 * k + 4);
  };
  std::vector<double> pooled = {kPrior, 0, 0, kPrior};
  for (Index k = 0; k < 2; ++k)
    for (Index i = 0; i < 4; ++i) pooled[at(i)] += before.weights[at(k)] * covariance(k)[at(i)];
  double divergence = 0;
  for (Index k = 0; k < 2; ++k) {
    const std::vector<double> s = covariance(k);
    const double det = s[0] * s[3] - s[1] * s[2], of_pooled = pooled[0] * pooled[3] - pooled[1] * pooled[2];
    const double trace = (s[3] * pooled[0] - s[1] * pooled[2] - s[2] * pooled[1] + s[0] * pooled[3]) / det;
    divergence += (trace - 2 + std::log(det / of_pooled)) / 2;
  }
  EXPECT_NEAR(posterior, likelihood - 2 * kPooled * divergence, 1e-9);

  std::vector<double> counts(2), means(4), scatters(8);
  std::vector<double> shares;
  for (Index r = 0; r < 20; ++r) {
    const std::vector<double> y = {values[at(2 * r)], values[at(2 * r + 1)]};
    std::vector<double> p(2);
    for (Index k = 0; k < 2; ++k)
      p[at(k)] = before.weights[at(k)] * std::exp(gaussian(y, before.means.data() + 2 * k, covariance(k), 2));
    for (Index k = 0; k < 2; ++k) {
      shares.push_back(p[at(k)] / (p[0] + p[1]));
      counts[at(k)] += shares.back();
      for (Index i = 0; i < 2; ++i) means[at(2 * k + i)] += shares.back() * y[at(i)];
    }
  }
  for (Index i = 0; i < 4; ++i) means[at(i)] /= counts[at(i / 2)];
  for (Index r = 0; r < 20; ++r)
    for (Index k = 0; k < 2; ++k)
      for (Index i = 0; i < 2; ++i)
        for (Index j = 0; j < 2; ++j)
          scatters[at(4 * k + 2 * i + j)] += shares[at(2 * r + k)] * (values[at(2 * r + i)] - means[at(2 * k + i)]) *
                                             (values[at(2 * r + j)] - means[at(2 * k + j)]);
  for (Index k = 0; k < 2; ++k)
    for (Index i = 0; i < 4; ++i)
      EXPECT_NEAR(hmm.covariances[at(4 * k + i)],
                  (scatters[at(4 * k + i)] + 2 * kPooled * pooled[at(i)]) / (counts[at(k)] + 2 * kPooled), 1e-9);
}

TEST(VectorHmm, strong_pooling_makes_covariances_equal) {
  const std::vector<double> values = similar_components(60, 1);
  Team team(2);
  for (const bool full : {true, false}) {
    const VectorHmmShape shape{.components = 2, .numbers = 3, .full = full, .pooled = 1e5};
    const VectorHmm hmm = fit_vector_hmm(shape, single_rows(values, 3), {.seed = 1}, team).hmm;
    for (Index i = 0; i < shape.spread(); ++i)
      EXPECT_NEAR(hmm.covariances[at(i)], hmm.covariances[at(shape.spread() + i)], 1e-3);
  }
}

TEST(VectorHmm, pooling_describes_few_vectors_of_similar_components_better) {
  Team team(2);
  double gain = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const std::vector<double> few = similar_components(24, seed), more = similar_components(400, 100 + seed);
    const auto nats = [&](double pooled) {
      const VectorHmmShape shape{.components = 2, .numbers = 3, .prior = 1e-6, .pooled = pooled};
      return log_likelihood(fit_vector_hmm(shape, single_rows(few, 3), {.seed = seed}, team).hmm, single_rows(more, 3),
                            team) /
             400;
    };
    gain += nats(1) - nats(0);
  }
  EXPECT_GT(gain, 0);
}

TEST(VectorHmm, free_parameters_are_counted) {
  EXPECT_EQ((VectorHmmShape{3, 2, 4, true}.parameters()), 2 + 6 + 3 + 6 * (4 + 10));
  EXPECT_EQ((VectorHmmShape{3, 2, 4, false}.parameters()), 2 + 6 + 3 + 6 * (4 + 4));
}

TEST(VectorHmm, at_least_as_many_vectors_as_components_are_required) {
  const Drawn drawn(random_model({1, 1, 1, true}, 1), {3}, 1);
  Team team(1);
  EXPECT_THROW(fit_vector_hmm({2, 2, 1, true}, drawn.runs(), {}, team), UsageError);
}

}  // namespace
}  // namespace unfold
