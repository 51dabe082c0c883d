#pragma once
/// A predictor answers two calls: the distribution of the next symbol, and "this was the symbol". Evaluation, scores,
/// sampling, beam search and coding are written once against it, for recurrent and classical models alike.

#include <memory>
#include <span>

#include "unfold/base/types.h"

namespace unfold {

class Predictor {
 public:
  virtual ~Predictor() = default;
  virtual Index alphabet() const = 0;
  /// Natural logarithms of the probabilities of the next symbol, [alphabet]. Valid until the next call of `observe` or
  /// `reset`.
  virtual std::span<const float> log_probabilities() = 0;
  /// That of one symbol, with the same bits: cheaper where the model need not look at all symbols for it.
  virtual float log_probability(Symbol symbol) { return log_probabilities()[static_cast<std::size_t>(symbol)]; }
  /// Minus that, with the digits that the model computes with: evaluations sum these, so that they say the same of a
  /// network in double whichever way it is read. As a float it is -log_probability(symbol).
  virtual double surprisal(Symbol symbol) { return -static_cast<double>(log_probability(symbol)); }
  virtual void observe(Symbol symbol) = 0;
  /// Switches learning of predictors that learn what they observe (ppm, ctw, mixtures, online networks). Without
  /// learning, predictions depend only on the symbols observed since the last `reset`, whatever was read before it.
  /// Without effect on models that do not learn.
  virtual void set_learning(bool) {}
  /// `set_learning(false)` as archives of trained models are coded, whose bytes may not change: ppm still initializes
  /// what it reads for the first time.
  virtual void freeze_for_archive() { set_learning(false); }
  /// Returns to the state before the first symbol of a sequence: the context is forgotten. What an adaptive predictor
  /// has learnt from the symbols it observed is kept; a new predictor has learnt nothing.
  virtual void reset() = 0;
  /// A predictor in the same state, learnt things included, for the same thread; cheap enough for beam search (shares
  /// the weights and the place where networks compute, copies on writing).
  virtual std::unique_ptr<Predictor> clone() const = 0;
  /// Whether clones copy tables of megabytes, as those of predictors that learn do: searches keep only a few of them.
  virtual bool clones_are_large() const { return false; }
};

}  // namespace unfold
