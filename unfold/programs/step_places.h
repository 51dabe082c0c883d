#pragma once
/// Where the values of a step are, for who writes the step of a plan down in another language (export_c.h,
/// export_onnx.h): views resolved, and which values outlive the program or the step that computes them. Internal to
/// programs/.

#include <map>
#include <set>
#include <vector>

#include "unfold/engine/plan.h"

namespace unfold {

/// What a step is given, as signals in their order.
struct StepInputs {
  std::vector<int> numbers = {};
  std::vector<int> texts = {};  ///< empty: the symbol of a text
};

/// Columns from `offset` of the value of node `base`, `shift` steps ago; or ones everywhere.
struct StepPlace {
  int base = -1;
  Index offset = 0, shift = 0;
  bool ones = false;
};

class StepPlaces {
 public:
  /// `reads_numbers`: the step is given them. Throws UsageError naming what a step cannot know: otherwise numbers, and
  /// links that do not look back.
  StepPlaces(const Plan& plan, int logits, bool reads_numbers = false);

  StepPlace find(int node) const;
  /// How many of the last values are kept, by node.
  const std::map<int, Index>& history() const { return history_; }
  /// Whether others than the program that computes it read a value.
  bool stored(int base) const { return stored_.contains(base); }
  bool mapped(int base) const { return item_of_.contains(base); }  ///< a map of some program computes it

 private:
  void note_reads(const Item& item, int number);
  void read(int node, int by_item);
  const Node& node(int i) const { return plan_.nodes()[static_cast<std::size_t>(i)]; }

  const Plan& plan_;
  bool reads_numbers_;
  std::map<int, Index> history_ = {};
  std::map<int, int> item_of_ = {};
  std::set<int> stored_ = {};
};

}  // namespace unfold
