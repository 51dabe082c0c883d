/// Compares a small model with the entropy of its data: generates text of exactly known entropy and trains on it.
///
///   nested_alphabet [STEPS]

#include <cstdlib>
#include <iostream>

#include "unfold/base/threads/team.h"
#include "unfold/data/tasks/text_generators.h"
#include "unfold/model/network/train.h"

int main(int argc, char** argv) {
  const long steps = argc > 1 ? std::atol(argv[1]) : 500;
  constexpr double kBitsPerNat = 1.44269504088896340736;
  try {
    const auto source = unfold::nested_alphabet();
    const unfold::GeneratedText made = unfold::generate(*source, {.seed = 1, .symbols = 260000});
    const unfold::Corpus corpus = unfold::Corpus::from_text(made.text, unfold::Alphabet::chars_of(made.text));
    const auto parts = unfold::split_corpus(corpus, unfold::parse_split("90/10"));

    unfold::LanguageModel<float> model("gru:64", corpus.alphabet());
    model.initialize(1);
    unfold::Team team(unfold::available_threads());
    const auto result = unfold::train(model, {corpus, parts[0], &parts[1]},
                                      {.trainer = {.optimizer = "adam:rate=0.005,clip=1", .steps = steps}}, team);
    std::cout.precision(4);
    std::cout << "model:  " << result.best_nats_per_symbol * kBitsPerNat << " bits/symbol after " << result.steps
              << " steps\nsource: " << unfold::entropy(*source) << " bits/symbol\n";
  } catch (const unfold::Error& error) {
    std::cerr << "nested_alphabet: " << error.what() << "\n";
    return static_cast<int>(error.code());
  }
}
