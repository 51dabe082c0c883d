/// Chains of hidden states whose transitions differ by position, compared with sums over all paths.

#include "loss/hmm/inhomogeneous_chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using Path = std::vector<Index>;

struct SmallChain {
  Index states, length;
  std::vector<double> start, steps, emissions;

  SmallChain(Index k, Index t, double scale, std::uint64_t seed) : states(k), length(t) {
    Random random(seed, "steps");
    const auto draw = [&](Index n) {
      std::vector<double> x(at(n));
      for (double& each : x) each = scale * random.normal();
      return x;
    };
    start = draw(k), steps = draw(t * k * k), emissions = draw(t * k);
  }
  InhomogeneousChain chain() const {
    return {states,
            start.data(),
            {steps.data(), length, states * states, states * states},
            {emissions.data(), length, states, states}};
  }
  Matrix<double> matrix(std::vector<double>& x) const {
    x.resize(at(length * states));
    return {x.data(), length, states, states};
  }
  double score(const Path& path) const {
    double sum = start[at(path[0])];
    for (Index t = 0; t < length; ++t) {
      if (t > 0) sum += steps[at(t * states * states + path[at(t - 1)] * states + path[at(t)])];
      sum += emissions[at(t * states + path[at(t)])];
    }
    return sum;
  }
  void each(const std::function<void(const Path&)>& use) const {
    Path path(at(length), 0);
    while (true) {
      use(path);
      Index t = 0;
      while (t < length && ++path[at(t)] == states) path[at(t++)] = 0;
      if (t == length) return;
    }
  }
};

class EveryStateChain : public testing::TestWithParam<std::pair<Index, Index>> {
 protected:
  SmallChain small_{GetParam().first, GetParam().second, 1.5, 3};
};

INSTANTIATE_TEST_SUITE_P(InhomogeneousChain, EveryStateChain,
                         testing::Values(std::pair(1, 4), std::pair(3, 1), std::pair(2, 5), std::pair(4, 4)));

TEST_P(EveryStateChain, forward_sums_over_all_paths_and_posteriors_are_their_shares) {
  std::vector<double> a, b, p;
  const double found = forward(small_.chain(), small_.matrix(a));
  backward(small_.chain(), small_.matrix(b));
  state_marginals(small_.matrix(a), small_.matrix(b), small_.matrix(p));
  double sum = 0;
  std::vector<double> states(p.size()), pairs(at(small_.states * small_.states));
  const Index last = small_.length - 1;
  small_.each([&](const Path& path) {
    const double weight = std::exp(small_.score(path));
    sum += weight;
    for (Index t = 0; t < small_.length; ++t) states[at(t * small_.states + path[at(t)])] += weight;
    if (last > 0) pairs[at(path[at(last - 1)] * small_.states + path[at(last)])] += weight;
  });
  EXPECT_NEAR(found, std::log(sum), 1e-12);
  for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(p[i], states[i] / sum, 1e-12);
  if (last == 0) return;
  std::vector<double> found_pairs(pairs.size());
  pair_marginals(small_.chain(), small_.matrix(a), small_.matrix(b), last, found_pairs.data());
  for (std::size_t i = 0; i < pairs.size(); ++i) EXPECT_NEAR(found_pairs[i], pairs[i] / sum, 1e-12);
}

TEST_P(EveryStateChain, best_path_has_the_best_score) {
  double best = -1e300;
  small_.each([&](const Path& path) { best = std::max(best, small_.score(path)); });
  EXPECT_NEAR(small_.score(best_states(small_.chain())), best, 1e-12);
}

TEST_P(EveryStateChain, best_paths_are_in_order_of_score) {
  std::vector<double> scores;
  small_.each([&](const Path& path) { scores.push_back(small_.score(path)); });
  std::ranges::sort(scores, std::ranges::greater());
  const std::vector<StatePath> found = best_paths(small_.chain(), 7);
  ASSERT_EQ(found.size(), std::min<std::size_t>(7, scores.size()));
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i].score, scores[i], 1e-12);
    EXPECT_NEAR(small_.score(found[i].states), scores[i], 1e-12);
    EXPECT_NEAR(path_score(small_.chain(), found[i].states), scores[i], 1e-12);
  }
}

TEST_P(EveryStateChain, paths_are_sampled_with_their_probabilities) {
  std::vector<double> a;
  const double log_z = forward(small_.chain(), small_.matrix(a));
  constexpr int kDraws = 4000;
  std::map<Path, int> counts;
  Random random(8, "draws");
  for (int i = 0; i < kDraws; ++i) ++counts[draw_states(small_.chain(), small_.matrix(a), random)];
  double chi_square = 0, cells = 0;
  small_.each([&](const Path& path) {
    const double expected = kDraws * std::exp(small_.score(path) - log_z);
    if (expected < 5) return;
    chi_square += std::pow(counts[path] - expected, 2) / expected;
    ++cells;
  });
  EXPECT_LT(chi_square, cells + 5 * std::sqrt(2 * cells) + 5);
}

TEST(InhomogeneousChain, long_chains_of_extreme_emissions_do_not_overflow) {
  const SmallChain chain(3, 100'000, 1000, 5);
  std::vector<double> a, b, p;
  EXPECT_TRUE(std::isfinite(forward(chain.chain(), chain.matrix(a))));
  backward(chain.chain(), chain.matrix(b));
  state_marginals(chain.matrix(a), chain.matrix(b), chain.matrix(p));
  for (const double x : p) ASSERT_TRUE(x >= 0 && x <= 1);
}

}  // namespace
}  // namespace unfold
