#pragma once
/// A predictor gives the distribution of the next symbol and observes the symbol that occurred. Evaluation, scores,
/// sampling, beam search and coding are written against this interface, for recurrent and classical models alike.

#include <memory>
#include <span>

#include "unfold/base/checks.h"
#include "unfold/base/types.h"

namespace unfold {

class Predictor {
 public:
  virtual ~Predictor() = default;
  virtual Index alphabet() const = 0;
  /// Natural logarithms of the probabilities of the next symbol, [alphabet]. Valid until the next call of `observe` or
  /// `reset`.
  virtual std::span<const float> log_probabilities() = 0;
  /// That of one symbol, with the same bits: cheaper where the model need not look at all symbols for it. Throws
  /// UsageError for a symbol outside the alphabet, as the next two functions do.
  float log_probability(Symbol symbol) {
    require_symbol(symbol, alphabet());
    return log_probability_of(symbol);
  }
  /// Minus that, with the digits that the model computes with: evaluations sum these, so that they say the same of a
  /// network in double whichever way it is read. As a float it is -log_probability(symbol).
  double surprisal(Symbol symbol) {
    require_symbol(symbol, alphabet());
    return surprisal_of(symbol);
  }
  /// This was the next symbol.
  void observe(Symbol symbol) {
    require_symbol(symbol, alphabet());
    update(symbol);
  }
  /// Predictors that learn what they observe (ppm, ctw, mixtures, online networks) can be told to stop: `observe` then
  /// moves the context only. Without effect on models that do not learn.
  virtual void set_learning(bool) {}
  /// `set_learning(false)` as archives of trained models are coded, whose bytes may not change: ppm still initializes
  /// what it reads for the first time.
  virtual void freeze_for_archive() { set_learning(false); }
  /// Returns to the state before the first symbol of a sequence: the context is forgotten. What an adaptive predictor
  /// has learnt from the symbols it observed is kept; a new predictor has learnt nothing.
  virtual void reset() = 0;
  /// Returns a predictor in the same state, including what it has learned, for use on the same thread. Cheap enough for
  /// beam search: it shares the weights and the workspace of networks and copies on write.
  virtual std::unique_ptr<Predictor> clone() const = 0;
  /// Whether clones copy tables of megabytes, as those of predictors that learn do. Searches then keep only a few of
  /// them.
  virtual bool clones_are_large() const { return false; }

 protected:
  Predictor() = default;
  Predictor(const Predictor&) = default;
  Predictor& operator=(const Predictor&) = default;

  // What a predictor implements. REQUIRES: a symbol of the alphabet.
  virtual float log_probability_of(Symbol symbol) { return log_probabilities()[static_cast<std::size_t>(symbol)]; }
  virtual double surprisal_of(Symbol symbol) { return -static_cast<double>(log_probability_of(symbol)); }
  virtual void update(Symbol symbol) = 0;  ///< observe it
};

}  // namespace unfold
