#pragma once
/// Capabilities of losses of symbols (unfold/loss/loss.h). Models of running text use only these functions, so any loss
/// that has them can predict the next symbol.

#include <span>

#include "unfold/loss/loss.h"

namespace unfold {

template <class T>
class SymbolProbabilities : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "probabilities of symbols";

  /// Sets the natural logarithm of the probability of every symbol [target_size], given one row of the signal and all
  /// parameters of the circuit. The nats of a symbol are exactly the negative of its element.
  virtual void log_probabilities(std::span<const T> signal, std::span<const T> parameters,
                                 std::span<T> log_p) const = 0;
  /// Returns one element of `log_probabilities`. REQUIRES: a symbol of the alphabet.
  virtual T log_probability(std::span<const T> signal, std::span<const T> parameters, Symbol symbol) const = 0;
};

/// Capability of losses whose signal size does not determine the number of symbols.
template <class T>
class SymbolCount : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "a separate number of symbols";

  /// Sets the number of symbols. Call it before `declare`.
  virtual void set_symbols(Index symbols) = 0;
};

}  // namespace unfold
