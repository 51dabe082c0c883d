#pragma once
/// How probable a head of labels holds each of them.

#include <algorithm>
#include <span>
#include <vector>

#include "unfold/numerics/functions.h"

namespace unfold {

/// Of logits, or of logarithms of posteriors: one a label; they sum to 1.
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

}  // namespace unfold
