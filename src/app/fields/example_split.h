#pragma once
/// Splits examples into training, validation and test parts.

#include <array>
#include <span>
#include <string>
#include <vector>

#include "app/fields/field_plan.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/data/text/split.h"

namespace unfold {

/// The assignment of examples to the training, validation and test parts.
///
/// By default, the parts follow one another in file order. If the model predicts once per example, or predicts whole
/// sequences, each part is spread evenly over the file, because such files are often sorted. If a part would have no
/// example of a class although its share is at least one (for example, because labels alternate), the parts are spread
/// over the examples in the order of their classes. If a class would have no example in the training part, its first
/// example is moved there. Sources are shuffled with the seed kSplitSeed, and all examples of one source go to the same
/// part. A single example is split by position.
inline constexpr std::uint64_t kSplitSeed = 1;
class ExampleSplit {
 public:
  /// Throws DataError if there is only one example and it has a source or is a whole sequence.
  /// `predicts`: fields for which every class that occurs has an example in the training part.
  ExampleSplit(const Examples& examples, const SplitShares& shares, Problem problem,
               std::span<const std::string> predicts = {});

  /// Returns the training part, from which alphabets and normalization constants are computed.
  Examples training(const Examples& all) const;
  /// Returns the validation part.
  Examples validation(const Examples& all) const;
  /// Returns all three parts. A part that starts inside an example reads up to `warmup` preceding positions without
  /// predicting them.
  std::array<ExampleSet, 3> parts(const ExampleSet& all, Index warmup) const;
  /// Returns the training and the validation part together.
  ExampleSet training_and_validation(const ExampleSet& all) const;

 private:
  void stratify(const Examples& examples, const SplitShares& shares, std::span<const std::string> predicts);
  void keep_classes(const Examples& examples, std::span<const std::string> predicts);
  void split_by_source(const Examples& examples, const SplitShares& shares);

  std::array<std::vector<Index>, 3> examples_;
  std::array<Index, 4> bounds_{};  // position bounds, used if there is a single example
  bool single_;
};

}  // namespace unfold
