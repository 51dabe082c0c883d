#pragma once
/// The probability that a text continues with a sequence that an automaton allows:
///
///   P = p(some prefix of the continuation, of at most `length` symbols, is allowed)
///
/// For example, "[a-z]{5}" gives the probability that the next five symbols are letters, "(the|a) " the probability of
/// the next word, and ".*\\n" the probability of a newline within the limit; an expression that always matches has
/// probability 1. P is the sum over all allowed sequences without a shorter allowed prefix.
///
/// *Hidden Markov models*: exact, by the forward recursion over pairs of a hidden state and an automaton state. *Other
/// models*: the probability mass of all prefixes is propagated length by length; prefixes that a Markov model cannot
/// distinguish (model/markov.h) are merged. At each length the `expansions` prefixes with the largest mass are
/// extended; the accepted mass without and with the dropped mass are two proved bounds. If nothing was dropped, for
/// example for n-grams with few contexts, the bounds are equal and the result is exact. Otherwise P is estimated by
/// importance sampling: each symbol is drawn from the model among the symbols that can still lead to an allowed
/// sequence, and the sample is weighted by the total probability of these symbols, so its expectation is P.

#include <span>
#include <vector>

#include "model/decoding/automaton.h"
#include "unfold/model/predictor.h"

namespace unfold {

struct MatchOptions {
  Index length = 32;
  Index expansions = 1000;  ///< prefixes extended at each length
  Index samples = 1000;     ///< number of samples if the bounds differ
  /// No samples are drawn if the difference of the bounds is below this fraction of the upper bound.
  double close = 1e-6;
  std::uint64_t seed = 1;
  std::vector<Symbol> prime = {};
};

struct MatchProbability {
  double probability = 0;
  double low = 0, high = 1;   ///< bounds, valid up to rounding in the model
  double standard_error = 0;  ///< standard error of the samples; 0 if there are none
  bool exact = false;         ///< whether no prefix was dropped
  Index samples = 0, expanded = 0;
};

/// Resets the predictor and reads the prime. Throws UsageError for options out of range and for an automaton over a
/// different alphabet.
MatchProbability match_probability(Predictor& predictor, const Automaton& allowed, const MatchOptions& options);

/// A hidden Markov model with the layout of model/hmm/hmm.h, row by row.
struct HiddenChain {
  Index states = 0, alphabet = 0;
  std::span<const double> initial, transitions, emissions;
  Symbol end = kNoSymbol;  ///< after it the next sequence begins, from `initial`
};
/// Throws UsageError if the prime has probability 0.
double match_probability(const HiddenChain& chain, const Automaton& allowed, Index length,
                         std::span<const Symbol> prime = {});

}  // namespace unfold
