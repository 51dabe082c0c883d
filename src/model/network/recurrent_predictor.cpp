#include <algorithm>
#include <type_traits>
#include <utility>

#include "loss/symbol_probabilities.h"
#include "unfold/model/network/language_model.h"

namespace unfold {

template <class T>
struct RecurrentPredictor<T>::Engine {
  explicit Engine(const LanguageModel<T>& model)
      : stepper(model.plan(), model.parameters(), team),
        parameters(model.parameters().flat()),
        head(model.network().heads.front().loss),
        loss(head->template need<SymbolProbabilities<T>>("prediction of the next symbol")),
        symbols(model.symbols()),
        signal(model.logits()),
        alphabet(model.alphabet().size()) {}

  Team team{1};
  Stepper<T> stepper;
  std::span<const T> parameters;
  std::shared_ptr<const Loss<T>> head;
  const SymbolProbabilities<T>& loss;
  Signal symbols, signal;
  Index alphabet;
};

template <class T>
RecurrentPredictor<T>::RecurrentPredictor(const LanguageModel<T>& model)
    : engine_(std::make_shared<Engine>(model)),
      state_(*model.plan(), 1),
      signal_(static_cast<std::size_t>(engine_->signal.size())),
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
  std::copy_n(stepper.value(engine_->signal).row(0), signal_.size(), signal_.begin());
  current_ = true;
  complete_ = false;
}

/// The functions of the loss compute the same bits as an evaluation through the unfolding.
template <class T>
std::span<const float> RecurrentPredictor<T>::log_probabilities() {
  if (!current_) advance();
  if (std::exchange(complete_, true)) return log_probabilities_;
  if constexpr (std::is_same_v<T, float>) {
    engine_->loss.log_probabilities(signal_, engine_->parameters, log_probabilities_);
  } else {
    engine_->loss.log_probabilities(signal_, engine_->parameters, exact_);
    for (std::size_t x = 0; x < exact_.size(); ++x) log_probabilities_[x] = static_cast<float>(exact_[x]);
  }
  return log_probabilities_;
}

template <class T>
double RecurrentPredictor<T>::surprisal_of(Symbol symbol) {
  if (!current_) advance();
  // If the signal does not contain the logits of all symbols, a single symbol takes much less time than all of them.
  if (!complete_ && signal_.size() < log_probabilities_.size())
    return -static_cast<double>(engine_->loss.log_probability(signal_, engine_->parameters, symbol));
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
