#pragma once
/// Probabilities of symbols or labels, and selection of the most probable ones.

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "numerics/functions.h"

namespace unfold {

/// Converts logits, or logarithms of posteriors, to probabilities that sum to 1.
template <class T>
std::vector<double> label_probabilities(std::span<const T> signal) {
  std::vector<double> p(signal.begin(), signal.end());
  const double most = *std::ranges::max_element(p);
  for (double& x : p) x -= most;
  vector_exp(p.data(), p.data(), static_cast<Index>(p.size()));
  double sum = 0;
  for (const double x : p) sum += x;
  for (double& x : p) x /= sum;
  return p;
}

/// Returns the `count` most probable symbols in descending order, given their probabilities or log-probabilities. Ties
/// are resolved in favor of the smaller symbol.
template <class X>
std::vector<Symbol> most_probable(std::span<const X> of, Index count) {
  std::vector<Symbol> order(of.size());
  std::iota(order.begin(), order.end(), Symbol{0});
  const auto shown = static_cast<std::ptrdiff_t>(std::min<std::size_t>(at(count), order.size()));
  std::partial_sort(order.begin(), order.begin() + shown, order.end(),
                    [&](Symbol a, Symbol b) { return of[at(a)] != of[at(b)] ? of[at(a)] > of[at(b)] : a < b; });
  order.resize(at(shown));
  return order;
}

}  // namespace unfold
