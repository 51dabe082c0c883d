#include <algorithm>
#include <cmath>
#include <limits>

#include "model/hmm/forward_backward_lanes.h"
#include "model/hmm/hmm.h"
#include "numerics/functions.h"
#include "numerics/hmm/hmm_rows.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Returns a reader for a single sequence.
SequenceReader reader_of(std::span<const Symbol> symbols) {
  return [symbols](Index, Range range) {
    return std::vector<Symbol>(symbols.begin() + range.begin, symbols.begin() + range.end);
  };
}

}  // namespace

double log_likelihood(const HmmParameters& hmm, std::span<const Symbol> symbols) {
  if (symbols.empty()) return 0;
  Team team(1);
  HmmMemory memory;
  double sum = 0;
  for (const HmmSums& group : run_lanes(HmmTables(hmm), {static_cast<Index>(symbols.size())}, reader_of(symbols),
                                        {.backward = false}, team, memory))
    sum += group.log_likelihood;
  return sum;
}

std::vector<double> state_posteriors(const HmmParameters& hmm, std::span<const Symbol> symbols) {
  const std::size_t n = at(hmm.states);
  std::vector<double> result(symbols.size() * n);
  if (symbols.empty()) return result;
  const auto keep = [&](Index, Index position, const double* g, const double* beta) {
    for (std::size_t j = 0; j < n; ++j) result[at(position) * n + j] = g[j] * beta[j];
  };
  Team team(1);
  HmmMemory memory;
  run_lanes(HmmTables(hmm), {static_cast<Index>(symbols.size())}, reader_of(symbols), {.posterior = keep}, team,
            memory);
  return result;
}

std::vector<Index> most_probable_states(const HmmParameters& hmm, std::span<const Symbol> symbols) {
  const std::size_t n = at(hmm.states), v = at(hmm.alphabet), length = symbols.size();
  if (length == 0) return {};
  std::vector<double> best(hmm.initial), a(hmm.transitions), b(hmm.emissions), next(n), origin(n);
  for (std::vector<double>* x : {&best, &a, &b}) vector_log(x->data(), x->data(), static_cast<Index>(x->size()));
  std::vector<std::uint16_t> from(length * n);
  for (std::size_t t = 0; t < length; ++t) {
    if (t > 0) {
      viterbi_step(best.data(), {a.data(), hmm.states, hmm.states, hmm.states}, next.data(), origin.data());
      for (std::size_t j = 0; j < n; ++j) from[t * n + j] = static_cast<std::uint16_t>(origin[j]);
      best.swap(next);
    }
    bool possible = false;
    for (std::size_t j = 0; j < n; ++j) {
      next[j] = best[j] + b[j * v + static_cast<std::size_t>(symbols[t])];
      possible = possible || next[j] > -std::numeric_limits<double>::infinity();
    }
    if (possible) best = next;  // a symbol that no state can emit is skipped
  }
  std::vector<Index> states(length);
  auto state = static_cast<std::size_t>(std::max_element(best.begin(), best.end()) - best.begin());
  for (std::size_t t = length; t-- > 0;) {
    states[t] = static_cast<Index>(state);
    state = from[t * n + state];
  }
  return states;
}

}  // namespace unfold
