#include "model/hmm/forward_backward_lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "numerics/simd.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

std::vector<Symbol> some_text(std::size_t length, Index alphabet, std::uint64_t seed) {
  Random random(seed, "hmm lanes test");
  std::vector<Symbol> x(length);
  for (std::size_t t = 0; t < length; ++t)  // some structure: every third symbol determines the next
    x[t] = t % 3 == 1 ? (x[t - 1] + 1) % static_cast<Symbol>(alphabet)
                      : static_cast<Symbol>(random.below(static_cast<std::uint64_t>(alphabet)));
  return x;
}

/// Forward and backward passes over one text as in the equations, in long double.
struct PlainPasses {
  long double log_likelihood = 0;
  std::vector<long double> gamma, steps;  // [T x N]; [N x N]

  PlainPasses(const HmmParameters& hmm, const std::vector<Symbol>& x) {
    const auto n = static_cast<std::size_t>(hmm.states), v = static_cast<std::size_t>(hmm.alphabet), length = x.size();
    const auto b = [&](std::size_t j, std::size_t t) { return hmm.emissions[j * v + static_cast<std::size_t>(x[t])]; };
    std::vector<long double> alpha(length * n), beta(length * n, 1), c(length);
    for (std::size_t t = 0; t < length; ++t) {
      for (std::size_t j = 0; j < n; ++j) {
        long double f = t == 0 ? hmm.initial[j] : 0;
        for (std::size_t i = 0; i < n && t > 0; ++i) f += alpha[(t - 1) * n + i] * hmm.transitions[i * n + j];
        c[t] += alpha[t * n + j] = f * b(j, t);
      }
      for (std::size_t j = 0; j < n; ++j) alpha[t * n + j] /= c[t];
      log_likelihood += std::log(c[t]);
    }
    steps.resize(n * n);
    for (std::size_t t = length - 1; t-- > 0;)
      for (std::size_t i = 0; i < n; ++i) {
        long double sum = 0;
        for (std::size_t j = 0; j < n; ++j) {
          const long double w = hmm.transitions[i * n + j] * b(j, t + 1) * beta[(t + 1) * n + j] / c[t + 1];
          sum += w;
          steps[i * n + j] += alpha[t * n + i] * w;
        }
        beta[t * n + i] = sum;
      }
    for (std::size_t i = 0; i < length * n; ++i) gamma.push_back(alpha[i] * beta[i]);
  }
};

Corpus corpus_of_symbols(const std::vector<std::vector<Symbol>>& texts) {
  std::vector<Input> inputs;
  for (const auto& x : texts) {
    std::string text;
    for (const Symbol s : x) text += static_cast<char>('a' + s);
    inputs.push_back(Input::from_bytes(std::to_string(inputs.size()), text));
  }
  return Corpus::load(std::move(inputs), Alphabet::chars_of("abcde"));
}

void expect_plain_step(const HmmParameters& before, const std::vector<std::vector<Symbol>>& texts, double tolerance) {
  const Corpus corpus = corpus_of_symbols(texts);
  const auto n = static_cast<std::size_t>(before.states);
  long double likelihood = 0;
  std::vector<long double> steps(n * n), symbols(n * 5);
  for (const auto& x : texts) {
    const PlainPasses plain(before, x);
    likelihood += plain.log_likelihood;
    for (std::size_t i = 0; i < n * n; ++i) steps[i] += plain.steps[i];
    for (std::size_t t = 0; t < x.size(); ++t)
      for (std::size_t j = 0; j < n; ++j) symbols[j * 5 + static_cast<std::size_t>(x[t])] += plain.gamma[t * n + j];
  }
  Team team(1);
  HmmParameters hmm = before;
  const double objective = reestimate(hmm, corpus, whole_corpus(corpus, "all"), 0, team);
  EXPECT_NEAR(objective / static_cast<double>(likelihood), 1, tolerance);
  const auto expect_rows = [&](const std::vector<long double>& sums, std::size_t columns,
                               const std::vector<double>& rows) {
    for (std::size_t i = 0; i < n; ++i) {
      long double total = 0;
      for (std::size_t j = 0; j < columns; ++j) total += sums[i * columns + j];
      for (std::size_t j = 0; j < columns; ++j)
        EXPECT_NEAR(rows[i * columns + j], static_cast<double>(sums[i * columns + j] / total), 1e-10) << i << " " << j;
    }
  };
  expect_rows(steps, n, hmm.transitions);
  expect_rows(symbols, 5, hmm.emissions);
}

TEST(HmmLanes, long_text_in_many_lanes_counts_as_in_one_pass) {
  ASSERT_GT(LaneAssignment({40000}, true).cuts, 10);
  for (const Index states : {1, 3, 11}) {
    HmmParameters hmm = HmmParameters::random(states, 5, 5, 0);
    expect_plain_step(hmm, {some_text(40000, 5, 1)}, 1e-13);
  }
}

TEST(HmmLanes, texts_of_all_lengths_count_as_one_by_one) {
  std::vector<std::vector<Symbol>> texts;
  for (const std::size_t length : {9000u, 1u, 2u, 700u, 5000u, 3u, 1u, 12345u, 40u})
    texts.push_back(some_text(length, 5, length));
  expect_plain_step(HmmParameters::random(4, 5, 6, 0), texts, 1e-13);
}

/// Two disconnected halves: the first symbols determine which one the chain is in, and it never forgets.
HmmParameters long_memory() {
  HmmParameters hmm = HmmParameters::random(4, 5, 8, 0);
  for (std::size_t i = 0; i < 4; ++i) {
    double total = 0;
    for (std::size_t j = 0; j < 4; ++j) total += hmm.transitions[i * 4 + j] *= i / 2 == j / 2 ? 1 : 0;
    for (std::size_t j = 0; j < 4; ++j) hmm.transitions[i * 4 + j] /= total;
  }
  return hmm;
}

TEST(HmmLanes, non_forgetting_chains_are_processed_without_cuts) {
  HmmParameters hmm = long_memory();
  for (std::size_t i = 2; i < 4; ++i)  // identical halves, so the text never determines which one it is in
    for (std::size_t x = 0; x < 5; ++x) hmm.emissions[i * 5 + x] = hmm.emissions[(i - 2) * 5 + x];
  for (std::size_t i = 2; i < 4; ++i)
    for (std::size_t j = 2; j < 4; ++j) hmm.transitions[i * 4 + j] = hmm.transitions[(i - 2) * 4 + j - 2];
  hmm.initial = {0.6, 0.2, 0.15, 0.05};
  const auto x = some_text(30000, 5, 2);
  HmmMemory memory;
  Team team(1);
  const Corpus corpus = corpus_of_symbols({x});
  HmmParameters next = hmm;
  reestimate(next, corpus, whole_corpus(corpus, "all"), 0, team, &memory);
  EXPECT_GT(memory.warm_up, 4096);
  expect_plain_step(hmm, {x}, 1e-13);
}

TEST(HmmLanes, impossible_symbols_may_lie_at_cuts) {
  HmmParameters hmm = HmmParameters::random(3, 5, 4, 0);
  for (std::size_t i = 0; i < 3; ++i) {
    hmm.emissions[i * 5] = (hmm.emissions[i * 5] + hmm.emissions[i * 5 + 4]);
    hmm.emissions[i * 5 + 4] = 0;
  }
  auto x = some_text(20000, 4, 3);
  for (std::size_t t = 500; t < x.size(); t += 100) x.insert(x.begin() + static_cast<std::ptrdiff_t>(t), 4);
  const auto posteriors = state_posteriors(hmm, x);
  for (const double p : posteriors) ASSERT_TRUE(p >= 0 && p <= 1 + 1e-9);
  EXPECT_EQ(log_likelihood(hmm, x), -std::numeric_limits<double>::infinity());
}

TEST(HmmLanes, long_text_posteriors_equal_the_equations) {
  const HmmParameters hmm = HmmParameters::random(5, 5, 9, 0);
  const auto x = some_text(20000, 5, 4);
  const PlainPasses plain(hmm, x);
  const auto posteriors = state_posteriors(hmm, x);
  for (std::size_t i = 0; i < posteriors.size(); ++i)
    ASSERT_NEAR(posteriors[i], static_cast<double>(plain.gamma[i]), 1e-11) << i;
  EXPECT_NEAR(log_likelihood(hmm, x) / static_cast<double>(plain.log_likelihood), 1, 1e-13);
}

TEST(HmmLanes, hmm_bits_do_not_depend_on_threads_or_instruction_set) {
  const Corpus corpus = corpus_of_symbols({some_text(200000, 5, 5), some_text(50000, 5, 6)});
  const HmmParameters before = HmmParameters::random(7, 5, 1, 0);
  std::vector<double> expected;
  for (const std::string& simd : simd_available())
    for (const int threads : {1, 2, 3}) {
      if (simd == "sse2" && threads > 1) continue;  // slow: no fused multiply-add
      simd_limit(simd);
      Team team(threads);
      HmmParameters hmm = before;
      std::vector<double> found = {reestimate(hmm, corpus, whole_corpus(corpus, "all"), 0.1, team)};
      found.insert(found.end(), hmm.transitions.begin(), hmm.transitions.end());
      found.insert(found.end(), hmm.emissions.begin(), hmm.emissions.end());
      if (expected.empty()) expected = found;
      EXPECT_EQ(found, expected) << simd << ", threads " << threads;
    }
  simd_limit(simd_available().front());
}

TEST(HmmLanes, lanes_are_balanced_and_cover_every_symbol_once) {
  Random random(3, "deal");
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<Index> lengths(1 + random.below(30));
    Index total = 0;
    for (Index& length : lengths) total += length = static_cast<Index>(random.below(trial % 2 == 0 ? 100 : 60000));
    if (total == 0) continue;
    const LaneAssignment deal(lengths, true);
    std::vector<Index> reached(lengths.size(), 0);
    Index cuts = 0, longest = 0;
    for (const auto& lane : deal.lanes) {
      Index size = 0;
      for (const Stretch& s : lane) {
        EXPECT_EQ(s.range.begin, reached[at(s.text)]);
        EXPECT_EQ(s.range.begin > 0, s.cut_before >= 0);
        EXPECT_EQ(s.range.end < lengths[at(s.text)], s.cut_after >= 0);
        EXPECT_TRUE(s.cut_before < 0 || &s == &lane.front());
        EXPECT_TRUE(s.cut_after < 0 || &s == &lane.back());
        EXPECT_TRUE(s.cut_after < 0 || s.cut_after == cuts++);
        reached[at(s.text)] = s.range.end;
        size += s.range.size();
      }
      longest = std::max(longest, size);
    }
    EXPECT_EQ(reached, lengths);
    EXPECT_EQ(cuts, deal.cuts);
    EXPECT_LE(longest, total / static_cast<Index>(deal.lanes.size()) + 1200) << trial;
  }
}

TEST(HmmLanes, best_path_equals_the_plain_recursion) {
  for (const Index states : {1, 2, 9, 20}) {
    const HmmParameters hmm = HmmParameters::random(states, 5, 12, 0);
    const auto n = static_cast<std::size_t>(states);
    const auto x = some_text(300, 5, 7);
    std::vector<std::vector<double>> best(x.size(), std::vector<double>(n));
    const auto b = [&](std::size_t j, std::size_t t) {
      return std::log(hmm.emissions[j * 5 + static_cast<std::size_t>(x[t])]);
    };
    for (std::size_t t = 0; t < x.size(); ++t)
      for (std::size_t j = 0; j < n; ++j) {
        double most = t == 0 ? std::log(hmm.initial[j]) : -1e300;
        for (std::size_t i = 0; i < n && t > 0; ++i)
          most = std::max(most, best[t - 1][i] + std::log(hmm.transitions[i * n + j]));
        best[t][j] = most + b(j, t);
      }
    const auto path = most_probable_states(hmm, x);
    double value = std::log(hmm.initial[at(path[0])]) + b(at(path[0]), 0);
    for (std::size_t t = 1; t < x.size(); ++t)
      value += std::log(hmm.transitions[at(path[t - 1]) * n + at(path[t])]) + b(at(path[t]), t);
    EXPECT_NEAR(value, *std::ranges::max_element(best.back()), 1e-9);
  }
}

}  // namespace
}  // namespace unfold
