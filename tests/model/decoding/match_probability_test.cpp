#include "model/decoding/match_probability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "model/decoding/expression.h"
#include "model/hmm/hmm.h"
#include "tests/base/scratch.h"
#include "tests/model/decoding/tiny_models.h"
#include "tests/model/fitted.h"

namespace unfold {
namespace {

using test::each_sequence;
using test::HistoryPredictor;
using test::MarkovPredictor;
using testing::HasSubstr;

const Alphabet kAbc = Alphabet::chars_of("abc");
const std::vector<std::string> kPatterns = {"(a|b)+c", "[^a]{2,4}", ".*b.*b", "(abc|cba|bb)+", "c{5}", "ab|a"};

/// Sequences with a matching prefix are counted once, at the shortest match.
double by_enumeration(const Predictor& predictor, const Automaton& allowed, Index length) {
  double sum = 0;
  each_sequence(predictor, length, [&](const std::vector<Symbol>& symbols, double log_p) {
    for (std::size_t n = 1; n < symbols.size(); ++n)
      if (allowed.matches(std::span(symbols).first(n))) return;
    if (allowed.matches(symbols)) sum += std::exp(log_p);
  });
  return sum;
}

HmmParameters random_hmm(Index states, Index alphabet, std::uint64_t seed) {
  HmmParameters hmm = HmmParameters::random(states, alphabet, seed, 0);
  return hmm;
}

HiddenChain chain_of(const HmmParameters& hmm) {
  return {hmm.states, hmm.alphabet, hmm.initial, hmm.transitions, hmm.emissions};
}

TEST(MatchProbability, hmm_match_probability_equals_enumeration) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const HmmParameters hmm = random_hmm(3, 3, seed);
    for (const std::string& expression : kPatterns) {
      const Automaton allowed = compile_expression(expression, kAbc);
      // p(x) of every text, computed by log_likelihood, which does not use automata.
      double sum = 0;
      each_sequence(HistoryPredictor(3, 0), 6, [&](const std::vector<Symbol>& symbols, double) {
        for (std::size_t n = 1; n < symbols.size(); ++n)
          if (allowed.matches(std::span(symbols).first(n))) return;
        if (allowed.matches(symbols)) sum += std::exp(log_likelihood(hmm, symbols));
      });
      EXPECT_NEAR(match_probability(chain_of(hmm), allowed, 6), sum, 1e-12) << expression;
    }
  }
}

TEST(MatchProbability, hmm_match_probability_depends_on_the_prefix) {
  const HmmParameters hmm = random_hmm(3, 3, 7);
  const Automaton allowed = compile_expression("(a|b)+c", kAbc);
  const std::vector<Symbol> prime = {2, 0, 1, 1};
  double sum = 0;
  each_sequence(HistoryPredictor(3, 0), 5, [&](const std::vector<Symbol>& symbols, double) {
    if (!allowed.matches(symbols)) return;  // no match of (a|b)+c has another match as its prefix
    std::vector<Symbol> all = prime;
    all.insert(all.end(), symbols.begin(), symbols.end());
    sum += std::exp(log_likelihood(hmm, all) - log_likelihood(hmm, prime));
  });
  EXPECT_NEAR(match_probability(chain_of(hmm), allowed, 5, prime), sum, 1e-12);
}

/// After the end of a sequence the next one starts from the initial distribution.
TEST(MatchProbability, MatchProbabilityRestartsAfterTheEndOfASequence) {
  const Symbol end = 2;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const HmmParameters hmm = random_hmm(3, 3, seed);
    HiddenChain chain = chain_of(hmm);
    chain.end = end;
    const auto log_likelihood_of_sequences = [&](const std::vector<Symbol>& symbols) {
      double sum = 0;
      std::vector<Symbol> sequence;
      for (const Symbol x : symbols) {
        sequence.push_back(x);
        if (x != end) continue;
        sum += log_likelihood(hmm, sequence);
        sequence.clear();
      }
      return sequence.empty() ? sum : sum + log_likelihood(hmm, sequence);
    };
    for (const std::vector<Symbol>& prime : {std::vector<Symbol>{}, {0, 1}, {0, 1, 2}, {2, 0}})
      for (const std::string& expression : kPatterns) {
        const Automaton allowed = compile_expression(expression, kAbc);
        double sum = 0;
        each_sequence(HistoryPredictor(3, 0), 5, [&](const std::vector<Symbol>& symbols, double) {
          for (std::size_t n = 1; n < symbols.size(); ++n)
            if (allowed.matches(std::span(symbols).first(n))) return;
          if (!allowed.matches(symbols)) return;
          std::vector<Symbol> all = prime;
          all.insert(all.end(), symbols.begin(), symbols.end());
          sum += std::exp(log_likelihood_of_sequences(all) - log_likelihood_of_sequences(prime));
        });
        EXPECT_NEAR(match_probability(chain, allowed, 5, prime), sum, 1e-12) << expression;
      }
  }
}

TEST(MatchProbability, match_probability_lies_within_bounds_and_is_exact_if_exhaustive) {
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    for (const std::string& expression : kPatterns) {
      SCOPED_TRACE(expression);
      HistoryPredictor predictor(3, seed);
      const Automaton allowed = compile_expression(expression, kAbc);
      const double wanted = by_enumeration(predictor, allowed, 6);
      const MatchProbability all = match_probability(predictor, allowed, {.length = 6, .expansions = 1000});
      EXPECT_TRUE(all.exact);
      EXPECT_NEAR(all.probability, wanted, 1e-6);
      EXPECT_EQ(all.standard_error, 0);
      const MatchProbability few =
          match_probability(predictor, allowed, {.length = 6, .expansions = 3, .samples = 2000});
      EXPECT_LE(few.low, wanted + 1e-6);
      EXPECT_GE(few.high, wanted - 1e-6);
      EXPECT_NEAR(few.probability, wanted, 4.5 * few.standard_error + 1e-6);
      if (few.samples > 0) continue;
      EXPECT_LT(few.high - few.low, 1e-6);
    }
}

TEST(MatchProbability, markov_match_probability_is_exact_for_long_texts) {
  MarkovPredictor predictor(3, 3, 1);
  const Automaton allowed = compile_expression(".*abcabc", kAbc);
  const MatchProbability found = match_probability(predictor, allowed, {.length = 500});
  EXPECT_TRUE(found.exact);
  // By recursion over pairs of symbol and state.
  std::vector<std::vector<double>> p(4, std::vector<double>(3));
  for (Symbol before = kNoSymbol; before < 3; ++before) {
    predictor.reset();
    if (before != kNoSymbol) predictor.observe(before);
    const auto logs = predictor.log_probabilities();
    for (std::size_t x = 0; x < 3; ++x) p[at(before + 1)][x] = std::exp(static_cast<double>(logs[x]));
  }
  std::map<std::pair<Symbol, Index>, double> mass{{{kNoSymbol, allowed.start()}, 1.0}};
  double matched = 0;
  for (int t = 0; t < 500; ++t) {
    std::map<std::pair<Symbol, Index>, double> next;
    for (const auto& [pair, share] : mass)
      for (Symbol x = 0; x < 3; ++x) {
        const Index state = allowed.next(pair.second, x);
        const double more = share * p[at(pair.first + 1)][at(x)];
        if (allowed.accepts(state))
          matched += more;
        else
          next[{x, state}] += more;
      }
    mass = std::move(next);
  }
  EXPECT_NEAR(found.probability, matched, 1e-6);
  EXPECT_GT(matched, 0.001);
}

TEST(MatchProbability, ngram_match_probability_equals_enumeration) {
  const auto model = test::fitted("ngram:3", "abcabacbcabbaccab");
  const Automaton allowed = compile_expression(".*b.*b", model->alphabet());
  const auto predictor = model->predictor();
  const double wanted = by_enumeration(*predictor, allowed, 6);
  const MatchProbability found = match_probability(*predictor, allowed, {.length = 6, .expansions = 50});
  EXPECT_TRUE(found.exact);  // of 3^6 prefixes only few are distinguished
  EXPECT_NEAR(found.probability, wanted, 1e-6);
}

TEST(MatchProbability, certain_and_impossible_matches_have_probability_one_and_zero) {
  HistoryPredictor predictor(3, 1);
  EXPECT_EQ(match_probability(predictor, compile_expression("a*", kAbc), {}).probability, 1);
  EXPECT_NEAR(match_probability(predictor, compile_expression(".{4}", kAbc), {.length = 4}).probability, 1, 1e-6);
  EXPECT_EQ(match_probability(predictor, compile_expression(".{4}", kAbc), {.length = 3}).probability, 0);
  const HmmParameters hmm = random_hmm(2, 3, 1);
  EXPECT_EQ(match_probability(chain_of(hmm), compile_expression("a*", kAbc), 3), 1);
  EXPECT_NEAR(match_probability(chain_of(hmm), compile_expression(".{3}", kAbc), 3), 1, 1e-12);
  EXPECT_EQ(match_probability(chain_of(hmm), compile_expression(".{4}", kAbc), 3), 0);
}

TEST(MatchProbability, sampled_match_probability_depends_only_on_the_seed) {
  HistoryPredictor predictor(3, 5);
  const Automaton allowed = compile_expression(".*bb", kAbc);
  const MatchOptions options{.length = 12, .expansions = 2, .samples = 50, .seed = 3};
  EXPECT_EQ(match_probability(predictor, allowed, options).probability,
            match_probability(predictor, allowed, options).probability);
}

TEST(MatchProbability, out_of_range_options_are_rejected) {
  HistoryPredictor predictor(3, 1);
  const Automaton allowed = compile_expression("a", kAbc);
  EXPECT_THAT(testing_support::message_of<UsageError>([&] { match_probability(predictor, allowed, {.length = 0}); }),
              HasSubstr("length 0"));
  EXPECT_THROW(match_probability(predictor, Automaton::of_length(2, 1), {}), UsageError);
  EXPECT_THROW(match_probability(chain_of(random_hmm(2, 2, 1)), allowed, 3), UsageError);
}

}  // namespace
}  // namespace unfold
