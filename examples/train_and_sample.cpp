/// Trains a small network on a text file, saves it and samples from it. A good first example.
///
///   train_and_sample TEXT MODEL.safetensors [STEPS]

#include <cstdlib>
#include <iostream>

#include "unfold/base/threads/team.h"
#include "unfold/model/decoding/sampling.h"
#include "unfold/model/network/train.h"

using namespace unfold;

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: train_and_sample TEXT MODEL.safetensors [STEPS]\n";
    return 2;
  }
  const Index steps = argc > 3 ? std::atol(argv[3]) : 1000;
  try {
    // A corpus consists of sequences of symbols from one alphabet. Here it is one sequence, the characters of the file.
    // With the options {.lines = true}, each line is a sequence; training records this in the model.
    const std::vector<std::string> files = {argv[1]};
    const Corpus corpus = Corpus::load(files, build_alphabet(files, {.kind = SymbolKind::chars}));
    const auto parts = split_corpus(corpus, parse_split("90/10"));  // training, validation and (empty) test part

    // A model is created from a SPEC, as on the command line, and an alphabet. Equal seeds give equal models on every
    // machine.
    LanguageModel<float> model("gru:64", corpus.alphabet());
    model.initialize(/*seed=*/1);

    // The number of threads affects only the running time, not the result.
    Team team(available_threads());
    const TrainOptions options{
        .trainer = {.optimizer = "adam:rate=0.005,clip=1", .batches = {.window = 32, .batch = 8}, .steps = steps}};
    const TrainingResult result = train(model, {corpus, parts[0], &parts[1]}, options, team);
    std::cout << result.best_nats_per_symbol << " nats per symbol of the validation part, at step " << result.best_step
              << "\n";

    // The model now has the parameters with the best validation loss. The file contains everything needed to use it
    // again.
    model.save(argv[2]);

    // A predictor gives the distribution of the next symbol. Sampling, scoring and compression are based on it.
    const auto predictor = model.predictor();
    const std::vector<Symbol> drawn =
        sample(*predictor, model.alphabet(), {.length = 200, .temperature = 0.8, .seed = 7});
    std::cout << model.alphabet().decode(drawn) << "\n";
  } catch (const Error& error) {  // every library error says what is wrong, where, and what to do about it
    std::cerr << "train_and_sample: " << error.what() << "\n";
    return static_cast<int>(error.code());
  }
}
