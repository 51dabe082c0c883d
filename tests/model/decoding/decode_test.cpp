#include "model/decoding/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "model/decoding/expression.h"
#include "tests/base/scratch.h"
#include "tests/model/decoding/tiny_models.h"
#include "unfold/base/error.h"
#include "unfold/model/decoding/completion.h"

namespace unfold {
namespace {

using test::each_sequence;
using test::HistoryPredictor;
using test::MarkovPredictor;
using testing::HasSubstr;
using testing_support::message_of;

const Alphabet kThree = Alphabet::chars_of("abc");
const std::vector<std::string> kExpressions = {"(a|b)+c", "[^a]{2,4}", ".*b.*b.*", "a?b?c?(ab|ba)*", "(abc|cba|bb)+"};

struct Wanted {
  std::vector<Symbol> symbols;
  double log_probability, score;
};

/// Filters all sequences.
std::vector<Wanted> filtered(const Predictor& predictor, const Automaton& allowed, Index length, double normalization) {
  std::vector<Wanted> all;
  each_sequence(predictor, length, [&](const std::vector<Symbol>& symbols, double log_p) {
    if (allowed.matches(symbols))
      all.push_back({symbols, log_p, log_p / std::pow(static_cast<double>(symbols.size()), normalization)});
  });
  std::ranges::stable_sort(all, std::ranges::greater(), &Wanted::score);
  return all;
}

void expect_equal(const std::vector<FoundSequence>& found, const std::vector<Wanted>& wanted, std::size_t count) {
  ASSERT_EQ(found.size(), std::min(count, wanted.size()));
  for (std::size_t k = 0; k < found.size(); ++k) {
    EXPECT_NEAR(found[k].score, wanted[k].score, 1e-5) << k;
    EXPECT_EQ(found[k].symbols, wanted[k].symbols) << k;
    EXPECT_NEAR(found[k].log_probability, wanted[k].log_probability, 1e-5) << k;
    double sum = 0;
    for (const float p : found[k].log_probabilities) sum += static_cast<double>(p);
    EXPECT_NEAR(sum, found[k].log_probability, 1e-5);
    EXPECT_TRUE(found[k].proved) << k;
  }
}

TEST(Decode, wide_beams_and_proofs_equal_filtering_all_sequences) {
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    for (const std::string& expression : kExpressions)
      for (const double normalization : {0.0, 0.7, 1.0}) {
        SCOPED_TRACE(expression + " " + std::to_string(seed) + " " + std::to_string(normalization));
        HistoryPredictor predictor(3, seed);
        const Automaton allowed = compile_expression(expression, kThree);
        const auto wanted = filtered(predictor, allowed, 6, normalization);
        DecodeOptions options{.length = 6, .beam = 10'000, .count = 7, .normalization = normalization};
        expect_equal(decode(predictor, allowed, options).found, wanted, 7);
        options.beam = 1;
        options.prove = true;
        expect_equal(decode(predictor, allowed, options).found, wanted, 7);
      }
}

TEST(Decode, proved_results_are_optimal_for_any_beam) {
  int proved = 0, unproved = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const std::string& expression : kExpressions)
      for (const Index beam : {1, 2, 4, 8, 16})
        for (const Index groups : {1, 2}) {
          if (groups > beam) continue;
          HistoryPredictor predictor(3, seed);
          const Automaton allowed = compile_expression(expression, kThree);
          const auto wanted = filtered(predictor, allowed, 5, 1);
          const auto found =
              decode(predictor, allowed, {.length = 5, .beam = beam, .count = 3, .groups = groups}).found;
          for (std::size_t k = 0; k < found.size(); ++k) {
            EXPECT_TRUE(allowed.matches(found[k].symbols));
            EXPECT_LE(found[k].score, found[k > 0 ? k - 1 : 0].score);
            (found[k].proved ? proved : unproved) += 1;
            if (!found[k].proved) continue;
            EXPECT_EQ(found[k].symbols, wanted[k].symbols) << expression << seed << beam;
          }
        }
  EXPECT_GT(proved, 100);
  EXPECT_GT(unproved, 100);
}

TEST(Decode, wider_beams_approach_the_optimum) {
  std::map<Index, double> missing;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    HistoryPredictor predictor(3, seed);
    const Automaton allowed = Automaton::of_length(3, 7, 7);
    const double best = filtered(predictor, allowed, 7, 0).front().score;
    for (const Index beam : {1, 2, 4, 16, 729}) {
      const auto found = decode(predictor, allowed, {.length = 7, .beam = beam, .count = 1}).found;
      missing[beam] += best - found.front().log_probability;
    }
  }
  EXPECT_GT(missing[1], missing[2]);
  EXPECT_GT(missing[2], missing[4]);
  EXPECT_GE(missing[4], missing[16]);
  EXPECT_NEAR(missing[729], 0, 1e-4);  // 3^6 prefixes: none is dropped before the last symbol
}

TEST(Decode, proof_search_finds_the_viterbi_path) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    MarkovPredictor predictor(4, seed, 1);
    constexpr Index kLength = 30;
    const Automaton allowed = intersection(compile_expression("(a|b)*(cd|c)+.*a", Alphabet::chars_of("abcd")),
                                           Automaton::of_length(4, 30, 30));
    // Viterbi over pairs of the previous symbol and the state of the automaton.
    std::map<std::pair<Symbol, Index>, double> best{{{kNoSymbol, allowed.start()}, 0.0}};
    for (Index t = 0; t < kLength; ++t) {
      std::map<std::pair<Symbol, Index>, double> next;
      for (const auto& [pair, score] : best) {
        predictor.reset();
        if (pair.first != kNoSymbol) predictor.observe(pair.first);
        const auto logs = predictor.log_probabilities();
        for (Symbol x = 0; x < 4; ++x) {
          const Index state = allowed.next(pair.second, x);
          if (state == Automaton::kDead) continue;
          const double more = score + static_cast<double>(logs[at(x)]);
          const auto [place, fresh] = next.try_emplace({x, state}, more);
          place->second = std::max(place->second, more);
        }
      }
      best = std::move(next);
    }
    double viterbi = -1e300;
    for (const auto& [pair, score] : best)
      if (allowed.accepts(pair.second)) viterbi = std::max(viterbi, score);
    const Decoded decoded = decode(predictor, allowed, {.length = kLength, .beam = 1, .count = 1, .prove = true});
    ASSERT_EQ(decoded.found.size(), 1U);
    EXPECT_TRUE(decoded.found[0].proved);
    EXPECT_NEAR(decoded.found[0].log_probability, viterbi, 1e-9);
    EXPECT_LT(decoded.expanded, 4 * allowed.states() * 2 * kLength);  // pairs at positions, not 4^30
  }
}

TEST(Decode, n_best_of_a_markov_model_equal_filtering) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    MarkovPredictor predictor(3, seed, 1);
    const Automaton allowed = compile_expression(".*b.*b.*", kThree);
    const auto wanted = filtered(predictor, allowed, 6, 1);
    expect_equal(decode(predictor, allowed, {.length = 6, .beam = 1, .count = 20, .prove = true}).found, wanted, 20);
  }
}

TEST(Decode, symbol_bounds_save_work_without_changing_results) {
  Index with = 0, without = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    MarkovPredictor predictor(3, seed, 1);
    std::vector<double> bounds(3, -1e300);
    for (Symbol before = kNoSymbol; before < 3; ++before) {
      predictor.reset();
      if (before != kNoSymbol) predictor.observe(before);
      const auto logs = predictor.log_probabilities();
      for (std::size_t x = 0; x < 3; ++x) bounds[x] = std::max(bounds[x], static_cast<double>(logs[x]));
    }
    HistoryPredictor same(3, seed, 1);  // does not report dropped sequences
    const Automaton allowed = compile_expression(".*b.*b.*", kThree);
    DecodeOptions options{.length = 7, .beam = 1, .count = 3, .prove = true};
    const Decoded plain = decode(same, allowed, options);
    options.symbol_bounds = bounds;
    const Decoded bounded = decode(same, allowed, options);
    for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(plain.found[k].symbols, bounded.found[k].symbols);
    with += bounded.expanded;
    without += plain.expanded;
  }
  EXPECT_LT(with, without);
}

TEST(Decode, exhausted_expansions_prove_nothing) {
  HistoryPredictor predictor(3, 1);
  const Automaton allowed = Automaton::of_length(3, 12, 12);
  const auto found =
      decode(predictor, allowed, {.length = 12, .beam = 1, .count = 2, .prove = true, .expansions = 3}).found;
  ASSERT_FALSE(found.empty());
  EXPECT_FALSE(found[0].proved);
}

TEST(Decode, groups_choose_different_symbols) {
  HistoryPredictor predictor(3, 4);
  const Automaton allowed = Automaton::of_length(3, 6, 6);
  const auto first_symbols = [&](double diversity) {
    std::set<Symbol> firsts;
    for (const FoundSequence& each :
         decode(predictor, allowed, {.length = 6, .beam = 3, .count = 3, .groups = 3, .diversity = diversity}).found)
      firsts.insert(each.symbols.front());
    return firsts.size();
  };
  EXPECT_EQ(first_symbols(0), 1U);
  EXPECT_EQ(first_symbols(100), 3U);
}

TEST(Decode, unconstrained_decoding_equals_continuation_search) {
  HistoryPredictor predictor(3, 2);
  const auto there = complete(predictor, kThree, {.length = 8, .beam = 4, .count = 4, .prime = {0, 2}});
  const auto here =
      decode(predictor, Automaton::of_length(3, 8, 8), {.length = 8, .beam = 4, .count = 4, .prime = {0, 2}}).found;
  ASSERT_EQ(here.size(), there.size());
  for (std::size_t k = 0; k < here.size(); ++k) {
    EXPECT_EQ(here[k].symbols, there[k].symbols);
    EXPECT_EQ(here[k].score, there[k].score);
  }
}

TEST(Decode, invalid_options_and_impossible_requests_are_rejected) {
  HistoryPredictor predictor(3, 1);
  const Automaton any = Automaton::of_length(3, 1);
  const auto error = [&](const Automaton& allowed, const DecodeOptions& options) {
    return message_of<UsageError>([&] { decode(predictor, allowed, options); });
  };
  EXPECT_THAT(error(any, {.length = 0}), HasSubstr("length"));
  EXPECT_THAT(error(any, {.length = 20'000}), HasSubstr("1 to 10000"));
  EXPECT_THAT(error(any, {.count = 0}), HasSubstr("count"));
  EXPECT_THAT(error(any, {.beam = 2, .groups = 3}), HasSubstr("at least 1 for each of 3 groups"));
  EXPECT_THAT(error(any, {.normalization = -1}), HasSubstr("normalization"));
  EXPECT_THAT(error(any, {.symbol_bounds = {0}}), HasSubstr("bounds"));
  EXPECT_THAT(error(Automaton::of_length(4, 1), {}), HasSubstr("the automaton has 4 symbols, but the model has 3"));
  EXPECT_THAT(error(compile_expression("abcabc", kThree), {.length = 5}), HasSubstr("the shortest allowed one has 6"));
  EXPECT_THAT(error(compile_expression("", kThree), {}), HasSubstr("no sequence of 1 to 32"));
  EXPECT_THAT(error(intersection(compile_expression("a", kThree), compile_expression("b", kThree)), {}),
              HasSubstr("no sequence of 1 to 32"));
}

}  // namespace
}  // namespace unfold
