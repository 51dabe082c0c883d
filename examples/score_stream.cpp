/// Reads lines from a stream and prints the surprisal of each, for example to monitor a log. Accepts any model for
/// symbol sequences.
///
///   tail -f today.log | score_stream MODEL

#include <cmath>
#include <iomanip>
#include <iostream>

#include "unfold/model/registry/registry.h"

using namespace unfold;

namespace {

constexpr double kNatsPerBit = 0.69314718055994530942;

/// Returns the bits per symbol of a line, and advances the predictor past the line.
double surprise(Predictor& predictor, const std::vector<Symbol>& line) {
  double nats = 0;
  for (const Symbol symbol : line) {
    nats -= static_cast<double>(predictor.log_probability(symbol));  // before the symbol is observed
    predictor.observe(symbol);                                       // update the state with the symbol
  }
  return line.empty() ? 0 : nats / kNatsPerBit / static_cast<double>(line.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: score_stream MODEL < LINES\n";
    return 2;
  }
  try {
    // The file determines the type of the model: a network, n-grams, a hidden Markov model, ... All of them provide a
    // predictor.
    const std::unique_ptr<SymbolModel> model = load_symbol_model(argv[1]);
    const std::unique_ptr<Predictor> predictor = model->predictor();
    std::cout << std::fixed << std::setprecision(3);
    for (std::string line; std::getline(std::cin, line);) {
      // Symbols that do not occur in the training data are skipped here; UnknownPolicy::error would throw.
      const auto symbols = model->alphabet().encode(line + "\n", UnknownPolicy::skip);
      std::cout << surprise(*predictor, symbols) << "\t" << line << std::endl;
    }
  } catch (const Error& error) {
    std::cerr << "score_stream: " << error.what() << "\n";
    return static_cast<int>(error.code());
  }
}
