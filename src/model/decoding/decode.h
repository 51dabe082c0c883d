#pragma once
/// Finds the most probable sequences that an automaton allows, for any model that predicts symbol by symbol.
///
///   const Decoded d = decode(*model.predictor(), compile_expression("[0-9]+\\n", alphabet), {.beam = 32});
///   d.found[0].proved      // no allowed sequence has a higher score; otherwise it is the best one found
///
/// A sequence has 1 to `length` symbols and is a result if the automaton accepts it; its probability is the probability
/// that the text continues with these symbols, regardless of what follows. Prefixes that cannot be completed within the
/// limit are pruned. Sequences are ranked by `log p / symbols^normalization`, as in `complete`
/// (model/decoding/completion.h).
///
/// *Beam search* keeps the most probable prefixes of each length. It records an upper bound on the score of all dropped
/// prefixes, `log p / (most symbols)^normalization`, which is valid because log p never increases; results above this
/// bound are proved. *Diverse beam search* (Vijayakumar et al. 2018) divides the beam into groups that select prefixes
/// one after another at every length, by log p minus `diversity` for each time that a preceding group selected the same
/// symbol. *Proving* continues from the results of the beam search with best-first search (A*, Hart, Nilsson & Raphael
/// 1968) over all prefixes, in the order of their upper bounds, until no open prefix can beat the results or
/// `expansions` are used up. The remaining log probability is bounded by `symbol_bounds`, maximized over the paths of
/// the automaton. Prefixes that a Markov model cannot distinguish (model/markov.h) are extended only once, which makes
/// the search equivalent to the Viterbi algorithm with a flexible order.

#include <vector>

#include "model/decoding/automaton.h"
#include "unfold/model/predictor.h"

namespace unfold {

struct DecodeOptions {
  Index length = 32;  ///< maximum number of symbols
  Index beam = 8;     ///< prefixes kept at every length, in all groups together
  Index count = 5;    ///< number of sequences to return
  double normalization = 1;
  Index groups = 1;
  double diversity = 0.5;  ///< nats
  bool prove = false;
  Index expansions = 20'000;               ///< when proving: maximum number of prefixes that the model evaluates
  std::vector<Symbol> prime = {};          ///< read first; not part of the result
  std::vector<double> symbol_bounds = {};  ///< upper bound of log p(symbol | any context), at most 0; empty: 0
};

struct FoundSequence {
  std::vector<Symbol> symbols = {};
  std::vector<float> log_probabilities = {};  ///< log probability of each symbol, given all before it
  double log_probability = 0;                 ///< their sum
  double score = 0;
  bool proved = false;  ///< whether it is proved that only the preceding results have higher scores
};
struct Decoded {
  std::vector<FoundSequence> found = {};  ///< best first; ties in lexicographic order of symbols
  Index expanded = 0;                     ///< number of prefixes that the model evaluated
};

/// Resets the predictor and reads the prime. Throws a UsageError that names an option that is out of range, and a
/// UsageError if no sequence of 1 to `length` symbols is allowed.
Decoded decode(Predictor& predictor, const Automaton& allowed, const DecodeOptions& options);

}  // namespace unfold
