#pragma once
/// What the evaluation of a head reports beside the nats: how often labels are right, how far numbers are off. The
/// classes are fed example by example; counts and sums of parts can be merged.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "unfold/data/alphabet.h"
#include "unfold/training/events.h"

namespace unfold {

/// part / all; 0 where there is nothing.
double part_of(Index part, Index all);

/// Chunks that were wanted, that were found, and that are both.
struct ChunkCounts {
  Index wanted = 0, found = 0, right = 0;

  double precision() const;  ///< right / found; 0 where none was found
  double recall() const;     ///< right / wanted; 0 where none was wanted
  double f1() const;         ///< 2 right / (found + wanted), their harmonic mean; 0 where there is none
  bool operator==(const ChunkCounts&) const = default;
};

/// Labels that were wanted against the best ones of a model: classes of whole examples, or tags of positions.
///
/// Chunks are counted where every label is `O` or begins with `B-`, `I-`, `E-` or `S-` and then names a type, as in
/// IOB1, IOB2, IOE1, IOE2 and IOBES. The rules are those of conlleval (Tjong Kim Sang and Buchholz, CoNLL-2000). A
/// chunk is a longest run of positions of one type that nothing cuts: it is cut before B and S, after E and S, where
/// the type changes, and at the ends of an example. So an I after O, or after another type, begins a chunk. A chunk is
/// right when it was wanted with the same first position, last position and type.
class LabelMeasures {
 public:
  /// The texts of labels, by number. `<eos>` and `<unk>`, which alphabets of words have, are no labels of chunks.
  explicit LabelMeasures(std::vector<std::string> labels);
  explicit LabelMeasures(const Alphabet& alphabet);

  /// The positions of one example, in order. Where kNoSymbol is wanted, nothing counts, and chunks end before. Throws
  /// UsageError for lengths that differ and for a symbol that is no label.
  void see(std::span<const Symbol> wanted, std::span<const Symbol> best);
  /// Adds what another one has seen. Throws UsageError when its labels are others.
  void merge(const LabelMeasures& other);

  Index seen() const { return seen_; }  ///< positions that count
  double accuracy() const;              ///< share of positions where the best is the wanted one; NaN when none was seen
  /// Mean over labels of F1 = 2 right / (wanted + best). Labels that were neither wanted nor best anywhere do not
  /// count; one that was wanted and never best, or the other way round, counts as 0. NaN when no position was seen.
  double macro_f1() const;
  /// How often `best` stood where `wanted` was wanted: an entry of the confusion matrix.
  Index confusion(Symbol wanted, Symbol best) const;
  struct Mistake {
    Symbol wanted, best;
    Index count;
    bool operator==(const Mistake&) const = default;
  };
  /// What is off the diagonal of the matrix, most frequent first.
  std::vector<Mistake> mistakes() const;

  bool has_chunks() const { return has_chunks_; }
  ChunkCounts chunks() const;  ///< of all types
  const std::map<std::string, ChunkCounts>& chunks_by_type() const { return chunks_; }

  /// accuracy, error_rate, macro_f1 and, where labels are of chunks, chunk_f1, chunk_precision, chunk_recall. Nothing
  /// when no position was seen.
  Measures measures() const;

 private:
  /// What a label says of chunks. O: no type.
  struct Tag {
    char place = 'O';
    std::string type;
  };
  void see_chunks(std::span<const Symbol> wanted, std::span<const Symbol> best);
  struct Chunk;
  std::vector<Chunk> chunks_of(std::span<const Symbol> labels) const;

  std::vector<std::string> labels_;
  std::vector<Tag> tags_;
  bool has_chunks_ = false;
  Index seen_ = 0;
  std::vector<Index> right_, wanted_, best_;             // by label
  std::map<std::pair<Symbol, Symbol>, Index> mistakes_;  // (wanted, best)
  std::map<std::string, ChunkCounts> chunks_;            // by type
};

/// What a model says of one row of numbers, in the units of the data.
struct ValuePrediction {
  std::span<const double> mean;
  std::optional<double> crps = {};              ///< summed over the row (distribution.h)
  std::span<const double> low = {}, high = {};  ///< a band for each number, its ends included; empty: none
};

/// Numbers that were observed against predicted ones.
class ValueMeasures {
 public:
  /// A row, of the same size each time. Either all rows have a score, or none; the same for bands. Throws UsageError
  /// otherwise, and for sizes that differ.
  void see(std::span<const double> observed, const ValuePrediction& predicted);
  /// Adds what another one has seen. Sums are rounded as the parts are divided, so parts must be what they are for
  /// other reasons than the number of threads.
  void merge(const ValueMeasures& other);

  Index seen() const { return rows_ * static_cast<Index>(components_.size()); }  ///< numbers

  /// With n numbers y seen and their means m:
  ///
  ///   - mean_squared_error = sum (y - m)^2 / n, mean_absolute_error = sum |y - m| / n
  ///   - nmse = sum (y - m)^2 / sum (y - average)^2 and nrmse, its root: 1 for who always says the average of what was
  ///     observed. Each component of a row has an average of its own. Left out where all that was observed is equal.
  ///   - crps: mean score of a number
  ///   - coverage: share of the numbers within their bands
  ///
  /// Nothing when no row was seen.
  Measures measures() const;

 private:
  /// Average and sum of squared differences from it, updated value by value (Welford 1962).
  struct Spread {
    double average = 0, squares = 0;
  };
  void check_same_kind(Index components, bool scored, bool banded);

  Index rows_ = 0, within_ = 0;
  bool scored_ = false, banded_ = false;
  std::vector<Spread> components_;
  double squared_ = 0, absolute_ = 0, score_ = 0;
};

}  // namespace unfold
