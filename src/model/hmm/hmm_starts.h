#pragma once
/// Initial parameters for fitting hidden Markov models (hmm.h) that cover different kinds of structure. Whatever the
/// states represent, some of the initializations are therefore near a good optimum:
///
///   HmmStarts starts(corpus, part, states);
///   HmmParameters first = starts.make(0, seed);      // 1, 2, ... are other kinds, then other draws
///
/// The kinds, in turn:
///   - windows of 4, 16 or 64 symbols are clustered by the symbols that they contain (k-means++, Arthur &
///     Vassilvitskii 2007); a state emits the symbols of a cluster and lasts as long as a window;
///   - symbols are clustered by the symbols before and after them; a state emits mainly the symbols of a cluster;
///   - emissions are the frequencies of symbols times random factors, and states stay with probability 0, 0.5 or 0.9
///   and otherwise make random transitions.
///
/// All kinds read at most kStartSymbols symbols, in segments that are spread evenly over the part. The result depends
/// only on the data and the seed.

#include <cstdint>
#include <vector>

#include "model/hmm/hmm.h"
#include "unfold/data/text/corpus.h"
#include "unfold/data/text/split.h"
#include "unfold/numerics/random.h"

namespace unfold {

inline constexpr Index kStartSymbols = 16'384;

/// Returns segments of a part with at most about `symbols` symbols in total, or the part itself if it is not longer.
Split spread_stretches(const Split& part, Index symbols);

class HmmStarts {
 public:
  HmmStarts(const Corpus& corpus, const Split& part, Index states);

  /// Returns the segments that are read.
  const Split& sample() const { return sample_; }
  HmmParameters make(Index number, std::uint64_t seed) const;

 private:
  void emit_windows(Index length, Random& random, HmmParameters& hmm) const;
  void emit_contexts(Random& random, HmmParameters& hmm) const;
  void emit_at_random(Random& random, HmmParameters& hmm) const;

  Index states_, alphabet_;
  Split sample_;
  std::vector<std::vector<Symbol>> texts_;
  std::vector<double> shares_;  ///< frequency of each symbol, all above 0
};

}  // namespace unfold
