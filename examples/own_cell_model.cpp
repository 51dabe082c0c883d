/// Uses a custom cell in a model: trains and saves it; a second run of the program loads it, scores text and samples.
///
///   own_cell_model TEXT MODEL.safetensors && own_cell_model MODEL.safetensors

#include <iostream>

#include "unfold/base/threads/team.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/graph/cells/register_cell.h"
#include "unfold/model/decoding/sampling.h"
#include "unfold/model/network/train.h"
#include "unfold/model/registry/registry.h"

using namespace unfold;

/// f_t = sigmoid(x_t W_f + h_{t-1} U_f + b_f),  h_t = f_t h_{t-1} + (1 - f_t) tanh(x_t W + b)
Signal gated(Circuit& c, Signal x, Index n) {
  const Signal h = c.link(n);
  const Signal f = sigmoid(c.affine("f", n, {{"W", x}, {"U", h}})), g = tanh(c.affine("g", n, {{"W", x}}));
  const Signal next = f * h + (1 - f) * g;
  c.feed(h, next);
  return next;
}

void train_and_save(const std::string& text, const std::string& file) {
  const Corpus corpus = Corpus::load({text}, build_alphabet({text}, {.kind = SymbolKind::chars}));
  const auto parts = split_corpus(corpus, parse_split("90/10"));
  LanguageModel<float> model("gated:32,layers=2", corpus.alphabet());
  if (!check_derivatives(model.circuit(), *softmax_loss<double>(), Structure::chains({4, 1, 3})).passed())
    throw ModelError("the derivatives of the cell are wrong");
  model.initialize(1);
  Team team(available_threads());
  const TrainingResult result = train(model, {corpus, parts[0], &parts[1]},
                                      {.trainer = {.optimizer = "adam:rate=0.01,clip=1", .steps = 200}}, team);
  model.save(file);
  std::cout << result.best_nats_per_symbol << " nats per symbol\n";
}

void score_and_sample(const std::string& file) {
  const auto model = load_symbol_model(file);  // the name of a run folder is also accepted
  const auto predictor = model->predictor();
  double nats = 0;
  for (const Symbol s : model->alphabet().encode("the cat\n", UnknownPolicy::skip)) {
    nats -= static_cast<double>(predictor->log_probability(s));
    predictor->observe(s);
  }
  std::cout << model->spec_text() << ": the line costs " << nats << " nats; it writes\n"
            << model->alphabet().decode(sample(*predictor, model->alphabet(), {.length = 80})) << "\n";
}

int main(int argc, char** argv) try {
  register_cell("gated", gated);  // must precede the creation of models; their files contain the circuit
  argc > 2 ? train_and_save(argv[1], argv[2]) : score_and_sample(argc > 1 ? argv[1] : "model.safetensors");
} catch (const Error& error) {
  std::cerr << "own_cell_model: " << error.what() << "\n";
  return static_cast<int>(error.code());
}
