#include "model/network/recurrent_streams.h"

#include <algorithm>
#include <type_traits>

namespace unfold {

template <class T>
RecurrentStreams<T>::RecurrentStreams(const LanguageModel<T>& model, Index count, Team& team)
    : Streams(count, model.alphabet().size(), model.sequence_end()),
      model_(model),
      team_(team),
      loss_(model.network().heads.front().loss),
      probabilities_(loss_->template need<SymbolProbabilities<T>>("prediction of the next symbol")),
      all_(Structure::chains(count, 1)),
      unfolding_(model.plan(), team),
      state_(*model.plan(), count),
      pending_(at(count), kNoSymbol),
      read_(at(count), 0),
      complete_(at(count), 0),
      signals_(count * model.logits().size()),
      exact_(std::is_same_v<T, float> ? 0 : count * alphabet()),
      log_probabilities_(count * alphabet()),
      nats_(count) {
  unfolding_.set_parameters(model.parameters());
}

/// Runs the circuit on the pending symbols of all streams that it has not read.
template <class T>
void RecurrentStreams<T>::advance() {
  waiting_.clear();
  for (Index i = 0; i < count(); ++i)
    if (read_[at(i)] == 0) waiting_.push_back(i);
  if (waiting_.empty()) return;
  const auto n = static_cast<Index>(waiting_.size());
  unfolding_.lay(n == count() ? all_ : Structure::chains(n, 1), waiting_);
  const std::span<Symbol> symbols = unfolding_.symbols(model_.symbols());
  for (std::size_t k = 0; k < waiting_.size(); ++k) symbols[k] = pending_[at(waiting_[k])];
  unfolding_.forward(&state_);
  const Matrix<const T> signal = unfolding_.value(model_.logits());
  for (Index k = 0; k < n; ++k) {
    const Index i = waiting_[at(k)];
    std::copy_n(signal.row(k), signal.cols, signals_.data() + i * signal.cols);
    read_[at(i)] = 1;
    complete_[at(i)] = 0;
  }
}

template <class T>
void RecurrentStreams<T>::complete(Index stream) {
  if (complete_[at(stream)] != 0) return;
  const Index size = model_.logits().size();
  const std::span<const T> signal(signals_.data() + stream * size, at(size));
  float* const rounded = log_probabilities_.data() + stream * alphabet();
  if constexpr (std::is_same_v<T, float>) {
    probabilities_.log_probabilities(signal, model_.parameters().flat(), {rounded, at(alphabet())});
  } else {
    const std::span<T> exact(exact_.data() + stream * alphabet(), at(alphabet()));
    probabilities_.log_probabilities(signal, model_.parameters().flat(), exact);
    std::ranges::transform(exact, rounded, [](T x) { return static_cast<float>(x); });
  }
  complete_[at(stream)] = 1;
}

template <class T>
Matrix<const float> RecurrentStreams<T>::log_probabilities() {
  advance();
  constexpr Index kLeastRows = 8;
  team_.run([&](Member& me) {
    const Range mine = me.share(count(), kLeastRows);
    for (Index i = mine.begin; i < mine.end; ++i) complete(i);
  });
  return {log_probabilities_.data(), count(), alphabet(), alphabet()};
}

/// The loss computes the same bits as `SymbolProbabilities`.
template <class T>
void RecurrentStreams<T>::surprisals_of(std::span<const Symbol> symbols, std::span<double> nats) {
  advance();
  const Index size = model_.logits().size();
  const Observed<T> observed{.structure = all_,
                             .signal = {signals_.data(), count(), size, size},
                             .targets = {.symbols = symbols.data(), .values = {}, .predicted = nullptr},
                             .parameters = model_.parameters().flat()};
  loss_->negative_log_likelihood(observed, team_, nats_.data());
  std::copy_n(nats_.data(), nats.size(), nats.begin());
}

template <class T>
void RecurrentStreams<T>::update(std::span<const Symbol> symbols) {
  const auto is_behind = [&](std::size_t i) { return symbols[i] != kNoSymbol && read_[i] == 0; };
  for (std::size_t i = 0; i < symbols.size(); ++i)
    if (is_behind(i)) {
      advance();
      break;
    }
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i] == kNoSymbol) continue;
    pending_[i] = symbols[i];
    read_[i] = 0;
  }
}

template <class T>
void RecurrentStreams<T>::restart(Index stream) {
  state_.reset(stream);
  pending_[at(stream)] = kNoSymbol;
  read_[at(stream)] = 0;
}

template class RecurrentStreams<float>;
template class RecurrentStreams<double>;

}  // namespace unfold
