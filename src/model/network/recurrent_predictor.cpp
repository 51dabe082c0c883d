#include <type_traits>

#include "numerics/functions.h"
#include "unfold/model/network/language_model.h"

namespace unfold {

template <class T>
struct RecurrentPredictor<T>::Engine {
  explicit Engine(const LanguageModel<T>& model)
      : stepper(model.plan(), model.parameters(), team),
        symbols(model.symbols()),
        logits(model.logits()),
        alphabet(model.alphabet().size()) {}

  Team team{1};
  Stepper<T> stepper;
  Signal symbols, logits;
  Index alphabet;
};

template <class T>
RecurrentPredictor<T>::RecurrentPredictor(const LanguageModel<T>& model)
    : engine_(std::make_shared<Engine>(model)),
      state_(*model.plan(), 1),
      log_probabilities_(static_cast<std::size_t>(engine_->alphabet)),
      exact_(std::is_same_v<T, float> ? 0 : log_probabilities_.size()) {}

template <class T>
Index RecurrentPredictor<T>::alphabet() const {
  return engine_->alphabet;
}

template <class T>
void RecurrentPredictor<T>::reset() {
  state_.reset_all();
  pending_ = kNoSymbol;
  current_ = false;
}

/// Runs the circuit on the pending symbol. The stepper operates on the state of the calling predictor.
template <class T>
void RecurrentPredictor<T>::advance() {
  Stepper<T>& stepper = engine_->stepper;
  stepper.state().copy_slot(state_, 0, 0);
  stepper.symbols(engine_->symbols)[0] = pending_;
  stepper.step();
  state_.copy_slot(stepper.state(), 0, 0);
  // The same computation as in the softmax readout, so surprisals are bit-identical to an evaluation through the
  // unfolding.
  const T* logits = stepper.value(engine_->logits).row(0);
  const T normalizer = log_sum_exp(logits, engine_->alphabet);
  for (std::size_t x = 0; x < log_probabilities_.size(); ++x) {
    const T exact = logits[x] - normalizer;
    if (!exact_.empty()) exact_[x] = exact;
    log_probabilities_[x] = static_cast<float>(exact);
  }
  current_ = true;
}

template <class T>
std::span<const float> RecurrentPredictor<T>::log_probabilities() {
  if (!current_) advance();
  return log_probabilities_;
}

template <class T>
double RecurrentPredictor<T>::surprisal_of(Symbol symbol) {
  const std::span<const float> rounded = log_probabilities();
  const auto x = static_cast<std::size_t>(symbol);
  return -static_cast<double>(exact_.empty() ? rounded[x] : exact_[x]);
}

template <class T>
void RecurrentPredictor<T>::update(Symbol symbol) {
  if (!current_) advance();
  pending_ = symbol;
  current_ = false;
}

template <class T>
std::unique_ptr<Predictor> RecurrentPredictor<T>::clone() const {
  return std::unique_ptr<Predictor>(new RecurrentPredictor(*this));
}

template class RecurrentPredictor<float>;
template class RecurrentPredictor<double>;

}  // namespace unfold
