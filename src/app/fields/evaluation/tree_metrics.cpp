#include "app/fields/evaluation/tree_metrics.h"

#include <algorithm>

#include "numerics/functions.h"

namespace unfold {
namespace {

/// Returns whether the labels above the middle have more total probability than those below it.
template <class T>
bool is_positive(std::span<const T> logits, std::size_t middle) {
  std::vector<double> p(logits.begin(), logits.end());
  const double most = *std::max_element(p.begin(), p.end());
  for (double& x : p) x -= most;
  vector_exp(p.data(), p.data(), static_cast<Index>(p.size()));
  double below = 0, above = 0;
  for (std::size_t i = 0; i < middle; ++i) below += p[i];
  for (std::size_t i = middle + 1; i < p.size(); ++i) above += p[i];
  return above > below;
}

}  // namespace

bool are_ordinal_labels(std::span<const std::string> labels) {
  if (labels.size() < 3 || labels.size() % 2 == 0) return false;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] != std::to_string(i)) return false;
  return true;
}

template <class T>
void TreeMeasures::see(bool root, Symbol wanted, Symbol best, std::span<const T> logits) {
  if (root) root_.see(wanted == best);
  const std::size_t middle = logits.size() / 2;
  if (!grades_ || wanted < 0 || at(wanted) == middle || at(wanted) >= logits.size()) return;
  const bool right = is_positive(logits, middle) == (at(wanted) > middle);
  binary_.see(right);
  if (root) root_binary_.see(right);
}

Measures TreeMeasures::measures() const {
  Measures result;
  const auto add = [&](const char* name, const Count& count) {
    if (count.seen > 0) result.emplace_back(name, static_cast<double>(count.right) / static_cast<double>(count.seen));
  };
  if (!once_) add("root_accuracy", root_);
  add("binary_accuracy", binary_);
  if (!once_) add("root_binary_accuracy", root_binary_);
  return result;
}

template void TreeMeasures::see(bool, Symbol, Symbol, std::span<const float>);
template void TreeMeasures::see(bool, Symbol, Symbol, std::span<const double>);

}  // namespace unfold
