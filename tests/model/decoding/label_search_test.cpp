#include "model/decoding/label_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "model/decoding/expression.h"
#include "tests/base/scratch.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using Labels = std::vector<Symbol>;
constexpr double kCannotBe = -std::numeric_limits<double>::infinity();

/// A chain with random scores.
struct RandomChain {
  ChainScores scores;
  std::vector<double> emissions;
  Index length;

  RandomChain(Index n, Index positions, double scale, std::uint64_t seed) : length(positions) {
    Random random(seed, "chain");
    const auto fill = [&](Index count) {
      std::vector<double> x(at(count));
      for (double& each : x) each = scale * random.normal();
      return x;
    };
    scores = {.labels = n, .transitions = fill(n * n), .start = fill(n), .stop = fill(n)};
    emissions = fill(n * positions);
  }
  Emissions e() const { return {emissions.data(), length, scores.labels, scores.labels}; }

  void each(const Automaton& allowed, const std::function<void(const Labels&, double)>& use) const {
    for (Labels y(at(length), 0);;) {
      if (allowed.matches(y)) use(y, chain_score(scores, e(), y.data()));
      Index t = 0;
      while (t < length && ++y[at(t)] == scores.labels) y[at(t++)] = 0;
      if (t == length) break;
    }
  }
};

const Alphabet kLabels(SymbolKind::entries, {"A", "B", "C"});
const std::vector<std::string> kLabelExpressions = {".*",           "A* B C*", "(A B|C)+",
                                                    ".* B .* B .*", "A+|B+",   "[A B] .{3,}"};

TEST(LabelSearch, label_search_equals_filtering_all_labels) {
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    for (const std::string& expression : kLabelExpressions)
      for (const double scale : {1.0, 300.0}) {
        SCOPED_TRACE(expression);
        RandomChain chain(3, 5, scale, seed);
        if (seed % 2 == 1) {  // some transitions and labels are impossible
          chain.scores.transitions[1] = chain.scores.start[2] = chain.scores.stop[0] = kCannotBe;
          chain.emissions[4] = kCannotBe;
        }
        const Automaton allowed = compile_expression(expression, kLabels);
        std::vector<std::pair<double, Labels>> all;
        double largest = kCannotBe;
        chain.each(allowed, [&](const Labels& y, double score) {
          if (score > kCannotBe) all.emplace_back(score, y);
          largest = std::max(largest, score);
        });
        const LabelSearch search(chain.scores, chain.e(), allowed);
        std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.first > b.first; });
        const auto found = search.best(6);
        ASSERT_EQ(found.size(), std::min<std::size_t>(all.size(), 6));
        for (std::size_t k = 0; k < found.size(); ++k) {
          EXPECT_EQ(found[k].labels, all[k].second);
          EXPECT_NEAR(found[k].log_probability, all[k].first, 1e-9 * scale);
        }
        if (all.empty()) {
          EXPECT_EQ(search.log_sum(), kCannotBe);
          continue;
        }
        double total = 0;
        std::vector<double> share(15), log_p(15);
        for (const auto& [score, y] : all) {
          const double p = std::exp(score - largest);
          total += p;
          for (std::size_t t = 0; t < 5; ++t) share[3 * t + at(y[t])] += p;
        }
        EXPECT_NEAR(search.log_sum(), largest + std::log(total), 1e-9 * scale);
        EXPECT_NEAR(search.log_posteriors({log_p.data(), 5, 3, 3}), search.log_sum(), 1e-9 * scale);
        for (std::size_t i = 0; i < 15; ++i) EXPECT_NEAR(std::exp(log_p[i]), share[i] / total, 1e-9);
      }
}

TEST(LabelSearch, unconstrained_label_search_equals_the_chain) {
  const RandomChain chain(3, 40, 2, 5);
  const Automaton any = compile_expression(".*", kLabels);
  const LabelSearch search(chain.scores, chain.e(), any);
  Labels best(40);
  EXPECT_NEAR(search.best(1).front().log_probability, chain_best(chain.scores, chain.e(), best.data()), 1e-9);
  EXPECT_EQ(search.best(1).front().labels, best);
  std::vector<double> alpha(120);
  ChainScratch scratch;
  EXPECT_NEAR(search.log_sum(), chain_forward(chain.scores, chain.e(), {alpha.data(), 40, 3, 3}, scratch), 1e-9);
}

TEST(LabelSearch, no_allowed_labels_of_this_length_are_reported) {
  const RandomChain chain(3, 4, 1, 1);
  const Automaton five = compile_expression(".{5}", kLabels);
  const LabelSearch search(chain.scores, chain.e(), five);
  EXPECT_TRUE(search.best(2).empty());
  EXPECT_EQ(search.log_sum(), kCannotBe);
}

TEST(LabelSearch, chunks_begin_before_they_continue) {
  const std::vector<std::string> iob = {"O", "B-X", "I-X", "B-Y", "I-Y"}, iobes = {"O", "B-X", "I-X", "E-X", "S-X"};
  const Automaton loose = chunk_automaton(iob), strict = chunk_automaton(iobes);
  EXPECT_TRUE(loose.matches(Labels{0, 1, 2, 2, 3, 4, 0, 1}));
  EXPECT_FALSE(loose.matches(Labels{2}));
  EXPECT_FALSE(loose.matches(Labels{1, 4}));
  EXPECT_EQ(loose.states(), 3);  // outside, in X, in Y
  EXPECT_TRUE(strict.matches(Labels{4, 1, 2, 3, 0}));
  EXPECT_FALSE(strict.matches(Labels{1, 2}));
  EXPECT_FALSE(strict.matches(Labels{1, 4}));
  EXPECT_THROW(chunk_automaton({"O", "noun"}), UsageError);
}

}  // namespace
}  // namespace unfold
