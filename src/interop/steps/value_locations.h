#pragma once
/// Locations of the values in one step of a plan, for export to other languages (export_c.h, export_onnx.h): resolves
/// views, and determines which values outlive the program or the step that computes them. Internal to interop/.

#include <map>
#include <set>
#include <vector>

#include "unfold/graph/plan/plan.h"

namespace unfold {

/// The input signals of a step, in order.
struct StepInputs {
  std::vector<int> numbers = {};
  std::vector<int> texts = {};  ///< empty: a language model's symbol
};

/// Columns from `offset` of the value of node `base`, `shift` steps ago; or all ones.
struct ValueLocation {
  int base = -1;
  Index offset = 0, shift = 0;
  bool ones = false;
};

class ValueLocations {
 public:
  /// `reads_numbers`: numbers are inputs of the step. Throws a UsageError that names an input that a step does not
  /// have: numbers if `reads_numbers` is false, and links to later positions.
  ValueLocations(const Plan& plan, int logits, bool reads_numbers = false);

  ValueLocation find(int node) const;
  /// For each node that is read in later steps, the number of past values kept.
  const std::map<int, Index>& history() const { return history_; }
  /// Returns whether a value is read outside the program that computes it.
  bool stored(int base) const { return stored_.contains(base); }
  bool mapped(int base) const { return item_of_.contains(base); }  ///< computed by an element-wise program

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
