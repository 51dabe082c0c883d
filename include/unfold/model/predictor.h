#pragma once
/// A predictor gives the distribution of the next symbol and observes the symbol that occurred. Evaluation, scores,
/// sampling, beam search and coding are written against this interface, for recurrent and classical models alike.
///
///   double bits = 0;
///   for (Symbol s : symbols) {
///     bits += predictor.surprisal(s) / std::log(2.0);   // before the symbol is observed
///     predictor.observe(s);
///   }

#include <memory>
#include <span>

#include "unfold/base/checks.h"
#include "unfold/base/types.h"

namespace unfold {

class Predictor {
 public:
  virtual ~Predictor() = default;
  virtual Index alphabet() const = 0;
  /// Returns the natural logarithms of the probabilities of the next symbol, [alphabet]. Valid until the next call of
  /// `observe` or `reset`.
  virtual std::span<const float> log_probabilities() = 0;
  /// Returns the log probability of one symbol, bit-identical to the element of log_probabilities(). This is cheaper if
  /// the model does not have to evaluate all symbols. Like the next two functions, it throws UsageError for a symbol
  /// outside the alphabet.
  float log_probability(Symbol symbol) {
    require_symbol(symbol, alphabet());
    return log_probability_of(symbol);
  }
  /// Returns -log_probability(symbol) in the precision that the model computes with. Evaluations sum these values, so a
  /// network in double precision gives the same result in every kind of evaluation. Converted to float, it equals
  /// -log_probability(symbol).
  double surprisal(Symbol symbol) {
    require_symbol(symbol, alphabet());
    return surprisal_of(symbol);
  }
  /// Advances by the symbol that occurred.
  void observe(Symbol symbol) {
    require_symbol(symbol, alphabet());
    update(symbol);
  }
  /// Enables or disables learning, for predictors that learn from the symbols they observe (ppm, ctw, mixtures, online
  /// networks). Without learning, predictions depend only on the symbols observed since the last `reset`. Has no effect
  /// on models that do not learn.
  virtual void set_learning(bool) {}
  /// Variant of `set_learning(false)` for archives written with trained models, whose bytes must not change: ppm still
  /// initializes cells that it reads for the first time.
  virtual void freeze_for_archive() { set_learning(false); }
  /// Returns to the state before the first symbol of a sequence: the context is forgotten. An adaptive predictor keeps
  /// what it has learned from the observed symbols; only a new predictor has not learned anything.
  virtual void reset() = 0;
  /// Returns a predictor in the same state, including what it has learned, for use on the same thread. Cheap enough for
  /// beam search: it shares the weights and the workspace of networks and copies on write.
  virtual std::unique_ptr<Predictor> clone() const = 0;
  /// Returns whether clones copy megabytes of tables, as clones of learning predictors do. Searches then keep only a
  /// few of them.
  virtual bool clones_are_large() const { return false; }

 protected:
  Predictor() = default;
  Predictor(const Predictor&) = default;
  Predictor& operator=(const Predictor&) = default;

  // Implemented by predictors. REQUIRES: a symbol of the alphabet.
  virtual float log_probability_of(Symbol symbol) { return log_probabilities()[static_cast<std::size_t>(symbol)]; }
  virtual double surprisal_of(Symbol symbol) { return -static_cast<double>(log_probability_of(symbol)); }
  virtual void update(Symbol symbol) = 0;  ///< implements observe
};

}  // namespace unfold
