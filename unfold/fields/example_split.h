#pragma once
/// Examples in three parts: training, validation and test.

#include <array>
#include <vector>

#include "unfold/data/example_set.h"
#include "unfold/data/split.h"
#include "unfold/fields/field_data.h"

namespace unfold {

/// How examples are split into training, validation and test: one after another in the order of the file, or, where
/// one thing is predicted for each, each part spread over all of it, because such files are often sorted. Sources are
/// drawn at random, with the seed kSplitSeed, and all examples of one source are of one part. Whole sequences are
/// spread as what is predicted once is. A single example is cut by positions.
inline constexpr std::uint64_t kSplitSeed = 1;
class ExampleSplit {
 public:
  /// Throws DataError: one example alone, which has a source or is a whole sequence.
  ExampleSplit(const Examples& examples, const SplitShares& shares, Problem problem);

  /// What alphabets and constants are made of.
  Examples training(const Examples& all) const;
  /// All three. A part that starts inside an example reads up to `warmup` positions before its first without predicting
  /// them.
  std::array<ExampleSet, 3> parts(const ExampleSet& all, Index warmup) const;

 private:
  void split_by_source(const Examples& examples, const SplitShares& shares);

  std::array<std::vector<Index>, 3> examples_;
  std::array<Index, 4> bounds_{};  // of positions, where there is one example
  bool single_;
};

}  // namespace unfold
