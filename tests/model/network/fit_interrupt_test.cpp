/// Fitting to a long text polls often, so that it can be interrupted quickly, and a text of many short sequences takes
/// no longer than one long sequence.

#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>

#include "unfold/base/error.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

class FitInterrupt : public ::testing::TestWithParam<const char*> {};

TEST_P(FitInterrupt, interrupt_ends_a_fit_within_its_first_pass) {
  const std::string text(std::size_t{5} << 19, 'a');
  const Corpus corpus = Corpus::from_text(text + "b", Alphabet::chars_of("ab"));
  const auto model = make_fitted_model(GetParam(), corpus.alphabet());
  std::atomic<bool> stop{false};
  const FitOptions options{.stop = &stop, .progress = [&](const std::string&, double) { stop = true; }};
  Team team(2);
  EXPECT_THROW(model->fit({.corpus = corpus, .training = whole_corpus(corpus, "training")}, options, team),
               InterruptedError);
}

TEST_P(FitInterrupt, polling_cost_does_not_grow_with_the_number_of_sequences) {
  const Index symbols = 1'000'000;  // examining every sequence for every symbol would take 15 minutes
  const Corpus corpus = Corpus::from_text(std::string(symbols, 'a') + "b", Alphabet::chars_of("ab"));
  Split sequences{.name = "training", .pieces = {}};
  for (Index i = 0; i < symbols; ++i) sequences.pieces.push_back({.sequence = 0, .range = {i, i + 1}});
  const auto model = make_fitted_model(GetParam(), corpus.alphabet());
  Team team(2);
  Index last = 0;
  const FitOptions options{.progress = [&](const std::string&, double) { ++last; }};
  model->fit({.corpus = corpus, .training = sequences}, options, team);
  EXPECT_GT(last, 0);
}

INSTANTIATE_TEST_SUITE_P(Models, FitInterrupt,
                         ::testing::Values("frequency", "ngram:2", "hmm:2,iterations=1", "ppm:2", "ctw:4"),
                         [](const auto& given) {
                           const std::string spec = given.param;
                           return spec.substr(0, spec.find(':'));
                         });

}  // namespace
}  // namespace unfold
