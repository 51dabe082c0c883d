/// Uses Unfold without files: trains on text in memory, serializes the model to bytes (for a database or a message),
/// and uses a model restored from these bytes while another one is trained.
///
///   without_files

#include <algorithm>
#include <iostream>
#include <sstream>

#include "unfold/model/network/train.h"
#include "unfold/model/registry/registry.h"

using namespace unfold;

namespace {

/// Training text: commands, one per line.
std::string history() {
  std::ostringstream text;
  for (int day = 0; day < 60; ++day)
    text << "git status\ngit pull\nmake test\n" << (day % 3 == 0 ? "git push\n" : "git diff\n");
  return text.str();
}

/// Returns the most probable completion of a line.
std::string complete(const SymbolModel& model, const std::string& typed) {
  const auto predictor = model.predictor();  // one per user: it holds the text that the user has typed
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
  model.initialize(/*seed=*/1);
  Team team(1);  // uses one thread, to leave the other processors to the rest of the program
  train(model, {corpus, all},
        {.trainer = {.optimizer = "adam:rate=0.02,clip=1", .batches = {.window = 32, .batch = 4}, .steps = 400}}, team);

  const std::string bytes = model.bytes();  // a model file in memory; it is validated completely when it is loaded
  const std::unique_ptr<SymbolModel> loaded = symbol_model_from_bytes(bytes, "model in memory");
  std::cout << bytes.size() << " bytes\n";
  for (const char* typed : {"git st", "ma"}) std::cout << typed << "|" << complete(*loaded, typed) << "\n";
} catch (const Error& error) {
  std::cerr << "without_files: " << error.what() << "\n";
  return static_cast<int>(error.code());
}
