#pragma once
/// A chain of segments (semi-Markov, Sarawagi & Cohen 2004): positions are cut into segments of a type and a length of
/// at most `longest`, in double and by logarithms. The score of segments of types a_k and lengths d_k is
///
///   start[a_1] + sum_k (lengths[a_k][d_k] + emissions of its labels) + sum_{k>1} transitions[a_{k-1}][a_k] + stop[a_K]
///
/// A segment writes labels: `single` where it has one position, else `first`, `inside` ..., `last`. Labels say where
/// segments are, without doubt: where they do not mark a beginning (single = first = last), a segment may follow one of
/// its own type only if that has its greatest length; so a run that is longer than that is cut from its beginning on.
///
/// Cost of a position: types^2 + types x longest.

#include <string>
#include <vector>

#include "unfold/markov/chain.h"
#include "unfold/markov/label_scheme.h"

namespace unfold {

struct SegmentType {
  Symbol single, first, inside, last;  ///< labels; kNoSymbol: there is none, so that such a position cannot be
  Index longest;                       ///< positions

  /// A type may be of single positions only.
  bool marks_beginning() const { return first != last || single != first; }
};

/// Types of segments by the names of labels. any: each label is a type, of runs of this label. Throws UsageError for a
/// name that the scheme does not know.
std::vector<SegmentType> segment_types(LabelScheme scheme, const std::vector<std::string>& names, Index longest);

/// Of types, in place of labels, that follow each other, begin and end; and of their lengths.
struct SegmentScores : ChainScores {
  std::vector<SegmentType> types;
  Index longest = 0;
  std::vector<double> lengths;  ///< [types x longest]

  Index count() const { return labels; }
  static SegmentScores zeros(std::vector<SegmentType> types, Index longest);
};

/// Both recursions over one chain, to be used for chain after chain. Impossible emissions (-inf) exclude labels.
class SegmentChain {
 public:
  /// Returns log Z; -inf where nothing can be. `e` must live as long as answers are asked for.
  double forward(const SegmentScores& scores, Emissions e);
  /// REQUIRES forward.
  void backward();
  /// Adds sign times the expected counts: to those of positions [positions x labels] and to those of segments. REQUIRES
  /// both recursions and a finite log Z.
  void add_counts(double sign, Matrix<double> positions, SegmentScores& counts);
  /// The most probable labels and their score; -inf where nothing can be. In place of the recursions.
  double best(const SegmentScores& scores, Emissions e, Symbol* labels);
  /// A draw. REQUIRES forward.
  void draw(Random& random, Symbol* labels);

 private:
  void begin(const SegmentScores& scores, Emissions e);
  double emission(Index t, Symbol label) const;
  Index at_type(Index t, Index type) const { return t * n_ + type; }
  /// Scores of the segments of a type that end at place t, and that begin there, by their length: into terms_.
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
  // By place t = 0 ... T, so many positions being before it, and type.
  std::vector<double> entry_;             // all beginnings after which a segment of the type begins at t
  std::vector<double> ended_, full_;      // all beginnings that end at t with one; with one of greatest length
  std::vector<double> rest_;              // all ends that begin at t with one
  std::vector<double> exit_, exit_full_;  // all ends after one that ended at t; after one of greatest length
  std::vector<double> terms_;
};

/// The score of labels; -inf where they say no segments.
double segment_score(const SegmentScores& scores, Emissions e, const Symbol* labels);
/// The `count` best, with their scores for log_probability: over the chain of (type, position in its segment), so at
/// the cost of (types x longest)^2 a position.
std::vector<LabelledChain> segment_n_best(const SegmentScores& scores, Emissions e, Index count);

}  // namespace unfold
