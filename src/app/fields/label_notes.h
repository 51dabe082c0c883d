#pragma once
/// Counts the labels of a predicted field and reports labels that are probably mistakes: spellings that differ only in
/// case or blanks, and labels with one example.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/data/examples/examples.h"

namespace unfold {

class LabelCounts {
 public:
  void add(std::string_view label);
  /// Returns one sentence for each kind of mistake; none if there are too many labels for a set of classes.
  std::vector<std::string> notes(std::string_view field) const;

 private:
  static constexpr std::size_t kMostLabels = 1000;
  std::map<std::string, Index, std::less<>> counts_;  ///< at most kMostLabels + 1 labels
};

/// Returns the notes on all predicted fields that have one label per example or, in a table, one per row.
std::vector<std::string> label_notes(const Examples& examples, const std::vector<std::string>& predicts);

}  // namespace unfold
