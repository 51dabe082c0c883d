#pragma once
/// Splits of a corpus: training, validation and test.
///
///   const std::array<Split, 3> parts = split_corpus(corpus, parse_split("90/5/5"));   // training, validation, test

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/data/text/corpus.h"

namespace unfold {

/// A range of symbols within one sequence.
struct Piece {
  Index sequence = 0;
  Range range;
  friend bool operator==(const Piece& a, const Piece& b) {
    return a.sequence == b.sequence && a.range.begin == b.range.begin && a.range.end == b.range.end;
  }
};

/// Training, validation or test part: non-empty pieces in the order of the corpus. It does not refer to the corpus,
/// which must be kept separately.
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

/// Parses "90/5/5" or "90/10": percentages with up to six decimals that sum to 100, the first above 0. Throws
/// UsageError with an example.
SplitShares parse_split(std::string_view text);

/// How a corpus is divided: `contiguous` cuts the text into consecutive parts; `shuffled` assigns independent
/// sequences, such as the lines of a list, to parts at random. Consecutive parts of a sorted list would have different
/// first letters.
enum class SplitOrder { contiguous, shuffled };

/// Minimum number of sequences for shuffling.
inline constexpr Index kFewestShuffled = 100;

/// Returns the three splits.
///   - contiguous: all sequences are concatenated; of n symbols, training is [0, floor(share * n)), followed by
///     validation, and test is the rest, with boundaries rounded down. Sequence boundaries inside a part are kept.
///   - shuffled: each sequence is in one part as a whole, drawn at random with a fixed seed. Of n sequences, training
///     has floor(share * n), and so on. More than 10,000 sequences are drawn in blocks of consecutive sequences.
/// A share of 0 gives an empty part; a positive share that gives an empty part raises DataError that names it.
std::array<Split, 3> split_corpus(const Corpus& corpus, const SplitShares& split,
                                  SplitOrder order = SplitOrder::contiguous);

/// Returns the whole corpus as one split.
Split whole_corpus(const Corpus& corpus, std::string name);

}  // namespace unfold
