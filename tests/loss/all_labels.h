#pragma once
/// Enumeration helpers for the tests of losses over whole label sequences.

#include <cmath>
#include <map>
#include <vector>

#include "unfold/base/threads/team.h"
#include "unfold/loss/loss.h"

namespace unfold::testing_support {

/// Returns the probabilities of all rows of `length` labels below n with nonzero probability; log_weight(y) may be
/// -infinity.
template <class LogWeight>
std::map<std::vector<Symbol>, double> shares_of_all_labels(Index length, Index n, const LogWeight& log_weight) {
  std::map<std::vector<Symbol>, double> found;
  double sum = 0;
  for (std::vector<Symbol> y(at(length), 0);;) {
    if (const double weight = std::exp(log_weight(y)); weight > 0) sum += found[y] = weight;
    std::size_t t = 0;
    while (t < y.size() && ++y[t] == n) y[t++] = 0;
    if (t == y.size()) break;
  }
  for (auto& [labels, p] : found) p /= sum;
  return found;
}

/// Returns the sum over all rows of a batch.
template <class T>
double nats_of_all(const Loss<T>& loss, const Observed<T>& observed, Index rows) {
  Team team(1);
  std::vector<T> each(at(rows));
  loss.negative_log_likelihood(observed, team, each.data());
  double sum = 0;
  for (const T x : each) sum += static_cast<double>(x);
  return sum;
}

}  // namespace unfold::testing_support
