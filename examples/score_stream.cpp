/// Reads lines as they come and says how surprising each is: a watcher of logs. Any model file of symbols will do.
///
///   tail -f today.log | score_stream MODEL

#include <cmath>
#include <iomanip>
#include <iostream>

#include "unfold/models/registry.h"

using namespace unfold;

namespace {

constexpr double kNatsPerBit = 0.69314718055994530942;

/// Bits per symbol of a line, which the predictor has read afterwards.
double surprise(Predictor& predictor, const std::vector<Symbol>& line) {
  double nats = 0;
  for (const Symbol symbol : line) {
    nats -= static_cast<double>(predictor.log_probability(symbol));  // before the symbol is seen ...
    predictor.observe(symbol);                                       // ... and now it is
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
    // The file says what kind of model it is: a network, n-grams, a hidden Markov model, ... All give a predictor.
    const std::unique_ptr<SymbolModel> model = load_symbol_model(argv[1]);
    const std::unique_ptr<Predictor> predictor = model->predictor();
    std::cout << std::fixed << std::setprecision(3);
    for (std::string line; std::getline(std::cin, line);) {
      // Symbols that the model was not trained on are left out here; UnknownPolicy::error would stop at them.
      const auto symbols = model->alphabet().encode(line + "\n", UnknownPolicy::skip);
      std::cout << surprise(*predictor, symbols) << "\t" << line << std::endl;
    }
  } catch (const Error& error) {
    std::cerr << "score_stream: " << error.what() << "\n";
    return static_cast<int>(error.code());
  }
}
