#include <fmt/format.h>

#include "unfold/models/language_model.h"
#include "unfold/numerics/error.h"
#include "unfold/numerics/functions.h"

namespace unfold {

struct RecurrentPredictor::Engine {
  explicit Engine(const LanguageModel<float>& model)
      : stepper(model.plan(), model.parameters(), team),
        symbols(model.symbols()),
        logits(model.logits()),
        alphabet(model.alphabet().size()) {}

  Team team{1};
  Stepper<float> stepper;
  Signal symbols, logits;
  Index alphabet;
};

RecurrentPredictor::RecurrentPredictor(const LanguageModel<float>& model)
    : engine_(std::make_shared<Engine>(model)),
      state_(*model.plan(), 1),
      log_probabilities_(static_cast<std::size_t>(engine_->alphabet)) {}

Index RecurrentPredictor::alphabet() const { return engine_->alphabet; }

void RecurrentPredictor::reset() {
  state_.reset_all();
  pending_ = kNoSymbol;
  current_ = false;
}

/// Lets the circuit read the pending symbol. The stepper works on the state of whoever uses it.
void RecurrentPredictor::advance() {
  Stepper<float>& stepper = engine_->stepper;
  stepper.state().copy_slot(state_, 0, 0);
  stepper.symbols(engine_->symbols)[0] = pending_;
  stepper.step();
  state_.copy_slot(stepper.state(), 0, 0);
  // As in the softmax readout, so that surprisals have the bits of an evaluation through the unfolding.
  const float* logits = stepper.value(engine_->logits).row(0);
  const float normaliser = log_sum_exp(logits, engine_->alphabet);
  for (std::size_t x = 0; x < log_probabilities_.size(); ++x) log_probabilities_[x] = logits[x] - normaliser;
  current_ = true;
}

std::span<const float> RecurrentPredictor::log_probabilities() {
  if (!current_) advance();
  return log_probabilities_;
}

void RecurrentPredictor::observe(Symbol symbol) {
  if (symbol < 0 || symbol >= alphabet())
    throw UsageError(fmt::format("symbol {} is not in an alphabet of {}", symbol, alphabet()));
  if (!current_) advance();
  pending_ = symbol;
  current_ = false;
}

std::unique_ptr<Predictor> RecurrentPredictor::clone() const {
  return std::unique_ptr<Predictor>(new RecurrentPredictor(*this));
}

}  // namespace unfold
