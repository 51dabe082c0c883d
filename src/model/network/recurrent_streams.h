#pragma once
/// Streams of a language model (unfold/model/streams.h): one pass over one position of all streams whose next symbol
/// has not been read.

#include <memory>
#include <span>
#include <vector>

#include "loss/symbol_probabilities.h"
#include "unfold/model/network/language_model.h"
#include "unfold/model/streams.h"

namespace unfold {

template <class T>
class RecurrentStreams final : public Streams {
 public:
  RecurrentStreams(const LanguageModel<T>& model, Index count, Team& team);

  Matrix<const float> log_probabilities() override;

 private:
  void surprisals_of(std::span<const Symbol> symbols, std::span<double> nats) override;
  void update(std::span<const Symbol> symbols) override;
  void restart(Index stream) override;
  void advance();
  void complete(Index stream);

  const LanguageModel<T>& model_;
  Team& team_;
  std::shared_ptr<const Loss<T>> loss_;
  const SymbolProbabilities<T>& probabilities_;
  Structure all_;  // one position of every stream
  Unfolding<T> unfolding_;
  State<T> state_;               // after all symbols except the pending ones
  std::vector<Symbol> pending_;  // observed, but not read by the circuit before `advance`
  std::vector<char> read_;       // whether the signal of a stream takes the pending symbol into account
  std::vector<char> complete_;   // whether the log probabilities were computed from the current signal
  std::vector<Index> waiting_;   // streams that are not read
  Buffer<T> signals_;            // of the loss, [count x size]
  Buffer<T> exact_;              // log probabilities before rounding; empty if no rounding is needed
  Buffer<float> log_probabilities_;
  Buffer<T> nats_;
};

}  // namespace unfold
