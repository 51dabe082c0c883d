#pragma once
/// A chain of segments (semi-Markov CRF, Sarawagi & Cohen 2004), in double precision and log space. The positions are
/// divided into segments, each with a type and a length of at most `longest`. The score of segments with types a_k and
/// lengths d_k is
///
///   start[a_1] + sum_k (lengths[a_k][d_k] + emissions of its labels) + sum_{k>1} transitions[a_{k-1}][a_k] + stop[a_K]
///
/// A segment produces the labels `single` if it has one position, otherwise `first`, `inside` ..., `last`. Labels
/// determine the segments uniquely. If labels do not mark where a segment begins (single = first = last), a segment may
/// follow a segment of the same type only if the earlier one has the maximum length; a longer sequence of equal labels
/// is therefore divided from its beginning.
///
/// The time per position is proportional to types^2 + types x longest.

#include <string>
#include <vector>

#include "loss/crf/chain.h"
#include "loss/crf/label_scheme.h"

namespace unfold {

struct SegmentType {
  Symbol single, first, inside,
      last;       ///< labels; kNoSymbol if the type has no such label; such a position is then impossible
  Index longest;  ///< maximum length in positions

  /// Returns whether the labels mark where a segment begins. A type may consist of single positions only.
  bool marks_beginning() const { return first != last || single != first; }
};

/// Derives the segment types from the label names. For `any`, each label is a type whose segments repeat this label.
/// Throws UsageError for a name that is not valid in the scheme.
std::vector<SegmentType> segment_types(LabelScheme scheme, const std::vector<std::string>& names, Index longest);

/// Scores for transitions, start and stop of types (instead of labels), and scores of segment lengths.
struct SegmentScores : ChainScores {
  std::vector<SegmentType> types;
  Index longest = 0;
  std::vector<double> lengths;  ///< [types x longest]

  Index count() const { return labels; }
  static SegmentScores zeros(std::vector<SegmentType> types, Index longest);
};

/// Both recursions over one chain; can be reused for further chains. Impossible emissions (-inf) exclude labels.
class SegmentChain {
 public:
  /// Returns log Z; -inf if no segmentation is possible. `e` must stay alive while results are requested.
  double forward(const SegmentScores& scores, Emissions e);
  /// REQUIRES forward.
  void backward();
  /// Adds sign times the expected counts to the counts of the positions [positions x labels] and of the segments.
  /// REQUIRES both recursions and a finite log Z.
  void add_counts(double sign, Matrix<double> positions, SegmentScores& counts);
  /// Returns the most probable labels and their score; -inf if no segmentation is possible. Overwrites the recursions.
  double best(const SegmentScores& scores, Emissions e, Symbol* labels);
  /// Draws a segmentation. REQUIRES forward.
  void draw(Random& random, Symbol* labels);

 private:
  void begin(const SegmentScores& scores, Emissions e);
  double emission(Index t, Symbol label) const;
  Index at_type(Index t, Index type) const { return t * n_ + type; }
  /// Write the scores of the segments of a type that end (or begin) at t to terms_, indexed by length.
  Index segments_to(Index t, Index type);
  Index segments_from(Index t, Index type);
  void add_entries(Index t, Index type);
  double ended_before(Index t, Index before, Index type) const;
  double after(Index t, Index type, Index length) const;
  void reach(double (*together)(const std::vector<double>&));
  template <class Choose>
  void trace(const Choose& choose, Symbol* labels);

  const SegmentScores* scores_ = nullptr;
  Emissions e_ = {};
  Index n_ = 0, steps_ = 0;
  double log_z_ = 0;
  // Indexed by boundary t = 0 ... T (after t positions) and type.
  std::vector<double> entry_;  // log-sum over all prefixes after which a segment of the type begins at t
  std::vector<double> ended_,
      full_;  // log-sums over all prefixes that end at t with a segment of the type, and with such a segment of maximum
              // length
  std::vector<double> rest_;  // log-sum over all suffixes that begin at t with a segment of the type
  std::vector<double> exit_,
      exit_full_;  // log-sums over all suffixes after a segment of the type that ended at t, and after such a segment
                   // of maximum length
  std::vector<double> terms_;
};

/// Returns the score of labels; -inf if they do not form valid segments.
double segment_score(const SegmentScores& scores, Emissions e, const Symbol* labels);
/// Returns the `count` best labelings; log_probability holds their scores. Uses the chain of (type, position in the
/// segment), so the cost per position is (types x longest)^2.
std::vector<ScoredLabeling> segment_n_best(const SegmentScores& scores, Emissions e, Index count);

}  // namespace unfold
