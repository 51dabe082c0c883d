#include "unfold/model/decoding/completion.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/model/fitted.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using test::fitted;

/// Enumerates all texts up to a length, either of full length or ended by the stop symbol, with their probabilities.
void enumerate(const Predictor& predictor, Index left, Symbol stop, Completion so_far, std::vector<Completion>& all) {
  for (Symbol x = 0; x < predictor.alphabet(); ++x) {
    const auto next = predictor.clone();
    Completion longer = so_far;
    longer.symbols.push_back(x);
    longer.log_probability += static_cast<double>(next->log_probability(x));
    next->observe(x);
    if (left == 1 || x == stop)
      all.push_back(longer);
    else
      enumerate(*next, left - 1, stop, longer, all);
  }
}

TEST(Beam, beam_equals_enumeration) {
  const auto model = fitted("ngram:3", "abcab\nabdabc\nabb\ncab\n");
  const auto predictor = model->predictor();
  BeamOptions options{.length = 4, .beam = 10000, .count = 50, .stop = "\n", .prime = model->alphabet().encode("ab")};
  for (const double normalization : {0.0, 1.0, 0.6}) {
    options.normalization = normalization;
    auto fresh = model->predictor();
    for (const Symbol x : options.prime) fresh->observe(x);
    std::vector<Completion> all;
    enumerate(*fresh, options.length, model->alphabet().line_end(), {}, all);
    for (Completion& c : all)
      c.score = c.log_probability / std::pow(static_cast<double>(c.symbols.size()), normalization);
    std::sort(all.begin(), all.end(), [](const Completion& a, const Completion& b) { return a.score > b.score; });
    double total = 0;
    for (const Completion& c : all) total += std::exp(c.log_probability);
    EXPECT_NEAR(total, 1, 1e-5);
    const auto found = complete(*predictor, model->alphabet(), options);
    ASSERT_EQ(found.size(), 50u);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i].score, all[i].score, 1e-6) << i;
      EXPECT_EQ(found[i].stopped, found[i].symbols.back() == model->alphabet().line_end());
      double sum = 0;
      for (const float p : found[i].log_probabilities) sum += static_cast<double>(p);
      EXPECT_NEAR(sum, found[i].log_probability, 1e-9);
    }
  }
}

TEST(Beam, exception_at_a_length_ends_the_search) {
  const auto model = fitted("ngram:3", "abcabdabcabcab");
  Index lengths = 0;
  BeamOptions options{.length = 1000, .before_length = [&] {
                        if (++lengths == 3) throw InterruptedError("it was interrupted");
                      }};
  EXPECT_THROW((void)complete(*model->predictor(), model->alphabet(), options), InterruptedError);
  EXPECT_EQ(lengths, 3);
}

TEST(Beam, beam_of_one_is_greedy) {
  const auto model = fitted("ngram:3", "abcabdabcabcab");
  const auto found = complete(*model->predictor(), model->alphabet(), {.length = 6, .beam = 1});
  ASSERT_EQ(found.size(), 1u);
  const auto predictor = model->predictor();
  for (const Symbol x : found[0].symbols) {
    const auto logs = predictor->log_probabilities();
    EXPECT_EQ(x, std::max_element(logs.begin(), logs.end()) - logs.begin());
    predictor->observe(x);
  }
}

TEST(Beam, out_of_range_options_are_rejected) {
  const auto model = fitted("uniform", "ab");
  for (const BeamOptions& options :
       {BeamOptions{.length = 0}, BeamOptions{.beam = 0}, BeamOptions{.count = 0}, BeamOptions{.normalization = -1}})
    EXPECT_THROW(complete(*model->predictor(), model->alphabet(), options), UsageError);
}

}  // namespace
}  // namespace unfold
