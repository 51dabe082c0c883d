#pragma once
/// The most probable sequences that an automaton allows, of any model that is stepped symbol by symbol.
///
///   const Decoded d = decode(*model.predictor(), compile_expression("[0-9]+\\n", alphabet), {.beam = 32});
///   d.found[0].proved      // nothing that is allowed has a better score; otherwise it is the best that was found
///
/// A sequence has 1 to `length` symbols and counts where the automaton accepts it: its probability is that of the text
/// going on with these symbols, whatever comes behind them. What cannot become such a sequence in time is never
/// followed. Sequences are ranked by log p / symbols^normalisation, as by `complete` (models/beam.h).
///
/// *Beam search* keeps the most probable beginnings of each length. It remembers the best that anything it dropped
/// could have become, log p / (most symbols)^normalisation, since log p only falls: answers above are proved.
/// *Diverse* (Vijayakumar et al. 2018): the beam in groups, which choose one after another at every length, each by log
/// p less `diversity` for each time that the groups before it chose the same symbol.
/// *Proving* goes on from the beam's answers by best-first search (A*, Hart, Nilsson & Raphael 1968) over all
/// beginnings, those first that could still become best, until nothing open could beat the answers or `expansions` are
/// spent. What can still come is bounded by `symbol_bounds`, of which the best path through the automaton is taken.
/// Beginnings that a Markov model cannot tell apart (capabilities/markov.h) are followed once, so that the search is
/// that of Viterbi with a choice of order.

#include <vector>

#include "unfold/capabilities/predictor.h"
#include "unfold/search/automaton.h"

namespace unfold {

struct DecodeOptions {
  Index length = 32;  ///< symbols at most
  Index beam = 8;     ///< beginnings kept at every length, in all groups together
  Index count = 5;    ///< sequences wanted
  double normalisation = 1;
  Index groups = 1;
  double diversity = 0.5;  ///< nats
  bool prove = false;
  Index expansions = 20'000;               ///< of proving: beginnings that the model is asked about
  std::vector<Symbol> prime = {};          ///< read first; not part of the result
  std::vector<double> symbol_bounds = {};  ///< log of at least p(symbol | anything), at most 0; empty: 0
};

struct FoundSequence {
  std::vector<Symbol> symbols = {};
  std::vector<float> log_probabilities = {};  ///< of each symbol, given all before it
  double log_probability = 0;                 ///< their sum
  double score = 0;
  bool proved = false;  ///< nothing allowed that is not among the answers before it scores higher
};
struct Decoded {
  std::vector<FoundSequence> found = {};  ///< best first; of equals, the one whose symbols come first
  Index expanded = 0;                     ///< beginnings that the model was asked about
};

/// Resets the predictor and reads the prime. Throws UsageError naming an option that is out of range, and where nothing
/// of 1 to `length` symbols is allowed.
Decoded decode(Predictor& predictor, const Automaton& allowed, const DecodeOptions& options);

}  // namespace unfold
