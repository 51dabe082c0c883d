#include "loss/crf/label_states.h"

#include <algorithm>
#include <limits>

#include "numerics/functions.h"

namespace unfold {
namespace {

constexpr double kNoState = -std::numeric_limits<double>::infinity();

/// x = x - log sum exp x; impossible entries remain impossible.
void to_log_shares(double* x, Index n) {
  const double total = log_sum_exp(x, n);
  for (Index i = 0; i < n; ++i) x[i] -= total;
}

}  // namespace

bool LabelStates::follows(Index before, Index state) const {
  if (label(before) != label(state)) return !one_label && begins(state);
  const Index step = state - before;
  return order == StateOrder::any || step == 0 || step == 1;
}

StateLogProbabilities::StateLogProbabilities(const LabelStates& states, const StateLogits& logits)
    : transitions(logits.transitions), start(logits.start), prior(logits.prior) {
  const Index n = states.count();
  for (Index i = 0; i < n; ++i) {
    if (!states.begins(i)) start[at(i)] = kNoState;
    for (Index j = 0; j < n; ++j)
      if (!states.follows(i, j)) transitions[at(i * n + j)] = kNoState;
    to_log_shares(transitions.data() + i * n, n);
  }
  to_log_shares(start.data(), n);
  to_log_shares(prior.data(), n);
}

ChainScores StateLogProbabilities::scores(const LabelStates& states) const {
  const Index n = states.count();
  ChainScores result{.labels = n, .transitions = transitions, .start = start, .stop = std::vector<double>(at(n))};
  for (Index j = 0; j < n; ++j) {
    result.start[at(j)] -= prior[at(j)];
    for (Index i = 0; i < n; ++i) result.transitions[at(i * n + j)] -= prior[at(j)];
  }
  return result;
}

void through_shares(std::span<const double> log_shares, Index rows, std::span<double> slopes) {
  const auto n = static_cast<Index>(log_shares.size()) / rows;
  std::vector<double> shares(log_shares.begin(), log_shares.end());
  vector_exp(shares.data(), shares.data(), rows * n);
  for (Index r = 0; r < rows; ++r) {
    double total = 0;
    for (Index j = 0; j < n; ++j) total += slopes[at(r * n + j)];
    for (Index j = 0; j < n; ++j) slopes[at(r * n + j)] -= shares[at(r * n + j)] * total;
  }
}

std::vector<Symbol> even_path(const LabelStates& states, std::span<const Symbol> labels) {
  std::vector<Symbol> path(labels.size(), kNoSymbol);
  for (std::size_t begin = 0, end = 0; begin < labels.size(); begin = end) {
    while (end < labels.size() && labels[end] == labels[begin]) ++end;
    if (labels[begin] == kNoSymbol) continue;
    const auto length = static_cast<Index>(end - begin);
    Index place = 0;
    for (Index i = 0; i < length; ++i) {
      place = std::min(states.each * i / length, place + 1);  // uses the first states if there are too few positions
      path[begin + at(i)] = static_cast<Symbol>(labels[begin] * states.each + place);
    }
  }
  return path;
}

}  // namespace unfold
