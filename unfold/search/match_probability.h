#pragma once
/// How probable it is that a text goes on with something that an automaton allows.
///
///   P = p(some beginning of what follows, of at most `length` symbols, is allowed)
///
/// so that it is one for what is always true, and "[a-z]{5}" asks about the next five symbols, "(the|a) " about the
/// next word, ".*\\n" for the end of a line in time. It is the sum over what is allowed and has no shorter beginning
/// that is allowed.
///
/// *Hidden Markov models*: exactly, by the forward recursion over pairs of a hidden state and a state of the automaton.
/// *Other models*: the mass of all beginnings is followed length by length, those joined that a Markov model cannot
/// tell apart (capabilities/markov.h). Of each length the `expansions` heaviest go on; what they leave behind is the
/// distance of two bounds, which are proved: what was accepted, and that with all that was left behind. If nothing was,
/// they are equal: n-grams over few contexts are exact. Otherwise draws estimate it: each symbol by the model among
/// those that can still lead to something allowed, weighted by the probability of these, so that a draw has the mean P.

#include <span>
#include <vector>

#include "unfold/capabilities/predictor.h"
#include "unfold/search/automaton.h"

namespace unfold {

struct MatchOptions {
  Index length = 32;
  Index expansions = 1000;  ///< beginnings followed at each length
  Index samples = 1000;     ///< draws, where bounds lie apart
  /// Draws are left out where the bounds are closer than this part of the upper one.
  double close = 1e-6;
  std::uint64_t seed = 1;
  std::vector<Symbol> prime = {};
};

struct MatchProbability {
  double probability = 0;
  double low = 0, high = 1;   ///< bounds, but for the rounding of the model's own numbers
  double standard_error = 0;  ///< of draws; 0 where there were none
  bool exact = false;         ///< nothing was left behind
  Index samples = 0, expanded = 0;
};

/// Resets the predictor and reads the prime. Throws UsageError for options out of range and for an automaton over
/// another alphabet.
MatchProbability match_probability(Predictor& predictor, const Automaton& allowed, const MatchOptions& options);

/// A hidden Markov model as classical/hmm.h has it, row by row.
struct HiddenChain {
  Index states = 0, alphabet = 0;
  std::span<const double> initial, transitions, emissions;
  Symbol end = kNoSymbol;  ///< after it the next sequence begins, from `initial`
};
/// REQUIRES a prime that is possible. Throws UsageError where it is not.
double match_probability(const HiddenChain& chain, const Automaton& allowed, Index length,
                         std::span<const Symbol> prime = {});

}  // namespace unfold
