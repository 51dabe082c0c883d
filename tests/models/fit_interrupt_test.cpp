/// Fitting to a long text polls often, so that who interrupts it need not wait.

#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>

#include "unfold/base/error.h"
#include "unfold/models/registry.h"

namespace unfold {
namespace {

class FitInterrupt : public ::testing::TestWithParam<const char*> {};

TEST_P(FitInterrupt, ends_a_fit_within_its_first_pass_over_the_text) {
  const std::string text(std::size_t{5} << 19, 'a');
  const Corpus corpus = Corpus::from_text(text + "b", Alphabet::chars_of("ab"));
  const auto model = make_fitted_model(GetParam(), corpus.alphabet());
  std::atomic<bool> stop{false};
  const FitOptions options{.stop = &stop, .progress = [&](const std::string&, double) { stop = true; }};
  Team team(2);
  EXPECT_THROW(model->fit({.corpus = corpus, .training = whole_corpus(corpus, "training")}, options, team),
               InterruptedError);
}

INSTANTIATE_TEST_SUITE_P(Models, FitInterrupt,
                         ::testing::Values("frequency", "ngram:2", "hmm:2,iterations=1", "ppm:2", "ctw:4"),
                         [](const auto& given) {
                           const std::string spec = given.param;
                           return spec.substr(0, spec.find(':'));
                         });

}  // namespace
}  // namespace unfold
