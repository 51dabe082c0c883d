#pragma once
/// Metrics of a head in addition to the nats: classification metrics for labels and error metrics for numbers. Examples
/// are added one by one; partial results can be merged.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "unfold/data/text/alphabet.h"
#include "unfold/train/events.h"

namespace unfold {

/// Returns part / all; 0 if all is 0.
double part_of(Index part, Index all);

/// Returns the median of values, the mean of the middle two for an even number; NaN without values.
double median_of_values(std::vector<double> values);

/// Numbers of items (chunks, or positions of one class) in the reference, in the prediction, and in both.
struct MatchCounts {
  Index wanted = 0, found = 0, right = 0;

  double precision() const;  ///< right / found; 0 if none was predicted
  double recall() const;     ///< right / wanted; 0 if the reference has none
  double f1() const;         ///< 2 right / (found + wanted), the harmonic mean of both; 0 if there are none
  bool operator==(const MatchCounts&) const = default;
};

/// Compares reference labels with the most probable labels of a model: classes of whole examples or tags of positions.
///
/// Chunks are counted if every label is `O`, or begins with `B-`, `I-`, `E-` or `S-` followed by a type, as in IOB1,
/// IOB2, IOE1, IOE2 and IOBES. The rules are those of conlleval (Tjong Kim Sang and Buchholz, CoNLL-2000). A chunk is a
/// maximal sequence of positions of one type. It is split before B and S, after E and S, where the type changes, and at
/// the ends of an example. Hence an I after O, or after a different type, begins a chunk. A chunk is correct if the
/// reference has a chunk with the same first position, last position and type.
class LabelMetrics {
 public:
  /// `labels` are the label names, by number. `<eos>` and `<unk>`, which word alphabets contain, are not chunk labels.
  explicit LabelMetrics(std::vector<std::string> labels);
  explicit LabelMetrics(const Alphabet& alphabet);

  /// Adds the positions of one example, in order. Positions with kNoSymbol as reference are ignored, and chunks end
  /// before them. Throws UsageError for different lengths and for an invalid symbol.
  void see(std::span<const Symbol> wanted, std::span<const Symbol> best);
  /// Adds the counts of another object. Throws UsageError if its labels differ.
  void merge(const LabelMetrics& other);

  Index seen() const { return seen_; }  ///< number of counted positions
  double accuracy() const;  ///< fraction of positions at which prediction and reference agree; NaN without positions
  /// Returns the mean over labels of F1 = 2 right / (wanted + best). Labels that occur neither in the reference nor in
  /// the prediction are ignored; a label that occurs in only one of them has F1 = 0. NaN without positions.
  double macro_f1() const;
  /// Returns the number of positions with reference `wanted` and prediction `best`: an entry of the confusion matrix.
  Index confusion(Symbol wanted, Symbol best) const;
  /// Returns the counts of every label that occurs in the reference or in the prediction, most frequent in the
  /// reference first.
  std::vector<std::pair<Symbol, MatchCounts>> classes() const;
  struct Mistake {
    Symbol wanted, best;
    Index count;
    bool operator==(const Mistake&) const = default;
  };
  /// Returns the off-diagonal entries of the confusion matrix, most frequent first.
  std::vector<Mistake> mistakes() const;

  bool has_chunks() const { return has_chunks_; }
  MatchCounts chunks() const;  ///< sum over all types
  const std::map<std::string, MatchCounts>& chunks_by_type() const { return chunks_; }

  /// Returns accuracy, error_rate, macro_f1 and, for chunk labels, chunk_f1, chunk_precision and chunk_recall. Empty
  /// without positions.
  Measures measures() const;

 private:
  /// The chunk information of a label. The label O has no type.
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
  std::vector<Index> right_, wanted_, best_;             // counts by label
  std::map<std::pair<Symbol, Symbol>, Index> mistakes_;  // (wanted, best)
  std::map<std::string, MatchCounts> chunks_;            // counts of chunks by type
};

/// A model's prediction of one row of numbers, in the units of the data.
struct ValuePrediction {
  std::span<const double> mean;
  std::optional<double> crps = {};  ///< summed over the row (distribution.h)
  /// A prediction interval (closed) for each number; empty if there are no intervals.
  std::span<const double> low = {}, high = {};
};

/// Compares observed numbers with predicted numbers.
class ValueMetrics {
 public:
  /// Adds a row; all rows have the same size. Either all rows or no rows have a score, and either all rows or no rows
  /// have intervals. Throws UsageError otherwise and for different sizes.
  void see(std::span<const double> observed, const ValuePrediction& predicted);
  /// Adds the sums of another object. Rounding depends on how the data is divided into parts, so the division must not
  /// depend on the number of threads.
  void merge(const ValueMetrics& other);

  Index seen() const { return rows_ * static_cast<Index>(components_.size()); }  ///< number of values

  /// For n numbers y with predicted means m:
  ///
  ///   - mean_squared_error = sum (y - m)^2 / n, mean_absolute_error = sum |y - m| / n
  ///   - nmse = sum (y - m)^2 / sum (y - average)^2 and its root nrmse: 1 for a model that always predicts the average
  ///     of the observations. Each component of a row has a separate average. Omitted if all observations are equal.
  ///   - crps: mean score per number
  ///   - coverage: fraction of the numbers within their intervals
  ///
  /// Empty without rows.
  Measures measures() const;

 private:
  /// Average and sum of squared deviations from it, updated value by value (Welford 1962).
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
