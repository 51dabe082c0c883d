#pragma once
/// Contiguous splits of a corpus: training, validation and test.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/data/corpus.h"

namespace unfold {

/// A run of symbols within one sequence.
struct Piece {
  Index sequence = 0;
  Range range;
  friend bool operator==(const Piece& a, const Piece& b) {
    return a.sequence == b.sequence && a.range.begin == b.range.begin && a.range.end == b.range.end;
  }
};

/// Training, validation or test: pieces in the order of the corpus, none of them empty. It refers to no corpus: hold
/// both.
struct Split {
  std::string name;  ///< "training", "validation", "test"
  std::vector<Piece> pieces;

  Index symbols() const;
  Index bytes(const Corpus& corpus) const;  ///< source bytes, for bits per byte
  bool empty() const { return pieces.empty(); }
};

/// The shares of training, validation and test in millionths of a percent; they sum to 100 %.
struct SplitShares {
  std::array<Index, 3> shares{};
};

/// "90/5/5" or "90/10": percentages, which may have up to six decimals, must sum to 100, the first of them above 0.
/// Throws UsageError with an example.
SplitShares parse_split(std::string_view text);

/// The three splits. All sequences are seen as one after another; of n symbols training is [0, floor(share * n)),
/// validation follows and test is the rest, boundaries rounded down. Sequence boundaries inside a part are kept. A
/// share of 0 gives an empty part; a larger one for which nothing is left is a DataError naming the part.
std::array<Split, 3> split_corpus(const Corpus& corpus, const SplitShares& split);

/// The whole corpus as one split.
Split whole_corpus(const Corpus& corpus, std::string name);

}  // namespace unfold
