/// Unfold inside a program that has no files: trained on text in memory, kept as bytes (in a database, in a message),
/// used from these bytes while others train on.
///
///   without_files

#include <algorithm>
#include <iostream>
#include <sstream>

#include "unfold/models/registry.h"
#include "unfold/models/train.h"

using namespace unfold;

namespace {

/// What the program has seen: commands, one a line.
std::string history() {
  std::ostringstream text;
  for (int day = 0; day < 60; ++day)
    text << "git status\ngit pull\nmake test\n" << (day % 3 == 0 ? "git push\n" : "git diff\n");
  return text.str();
}

/// The most probable rest of a line.
std::string complete(const SymbolModel& model, const std::string& typed) {
  const auto predictor = model.predictor();  // one for each user: it holds what was read
  const Alphabet& alphabet = model.alphabet();
  for (const Symbol symbol : alphabet.encode("\n" + typed, UnknownPolicy::skip)) predictor->observe(symbol);
  std::string rest;
  while (rest.size() < 40) {
    const auto log_probabilities = predictor->log_probabilities();
    const auto best = std::max_element(log_probabilities.begin(), log_probabilities.end());
    const auto symbol = static_cast<Symbol>(best - log_probabilities.begin());
    if (symbol == alphabet.line_end()) break;
    rest += alphabet.text(symbol);
    predictor->observe(symbol);
  }
  return rest;
}

}  // namespace

int main() try {
  const std::vector<Input> text{Input::from_bytes("history", history())};
  const Corpus corpus = Corpus::load(text, build_alphabet(text, {.kind = SymbolKind::chars}));
  const Split all = whole_corpus(corpus, "history");
  LanguageModel<float> model("gru:24", corpus.alphabet());
  model.initialise(/*seed=*/1);
  Team team(1);  // a program that does other things gives one thread
  train(model, {corpus, all},
        {.trainer = {.optimizer = "adam:rate=0.02,clip=1", .batches = {.window = 32, .batch = 4}, .steps = 400}}, team);

  const std::string bytes = model.bytes();  // a model file, in memory: checked in full when it is read again
  const std::unique_ptr<SymbolModel> loaded = symbol_model_from_bytes(bytes, "model in memory");
  std::cout << bytes.size() << " bytes\n";
  for (const char* typed : {"git st", "ma"}) std::cout << typed << "|" << complete(*loaded, typed) << "\n";
} catch (const Error& error) {
  std::cerr << "without_files: " << error.what() << "\n";
  return static_cast<int>(error.code());
}
