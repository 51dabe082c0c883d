#include <algorithm>
#include <cmath>
#include <limits>

#include "model/hmm/hmm.h"
#include "model/hmm/hmm_lanes.h"
#include "numerics/functions.h"
#include "numerics/hmm_rows.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// sum of log c.
double sum_of_logs(std::vector<double> c) {
  vector_log(c.data(), c.data(), static_cast<Index>(c.size()));
  double sum = 0;
  for (const double x : c) sum += x;
  return sum;
}

void add_to(Buffer<double>& sum, const Buffer<double>& more) {
  for (Index i = 0; i < sum.size(); ++i) sum[i] += more[i];
}

/// A reader for a single sequence.
SequenceReader reader_of(std::span<const Symbol> symbols) {
  return [symbols](Index, Range range) {
    return std::vector<Symbol>(symbols.begin() + range.begin, symbols.begin() + range.end);
  };
}

/// Normalizes `count` values, `stride` apart, to a sum of 1 and writes them to `out`; leaves `out` unchanged if all are
/// 0.
void set_distribution(const double* values, std::size_t count, std::size_t stride, double* out) {
  double total = 0;
  for (std::size_t i = 0; i < count; ++i) total += values[i * stride];
  if (!(total > 0)) return;
  for (std::size_t i = 0; i < count; ++i) out[i] = values[i * stride] / total;
}

}  // namespace

double reestimate(HmmParameters& hmm, const Corpus& corpus, const Split& part, double add, Team& team,
                  HmmMemory* memory) {
  const std::size_t n = at(hmm.states), v = at(hmm.alphabet);
  std::vector<Index> lengths;
  lengths.reserve(part.pieces.size());
  for (const Piece& piece : part.pieces) lengths.push_back(piece.range.size());
  const SequenceReader read = [&](Index text, Range range) {
    const Piece& piece = part.pieces[at(text)];
    return corpus.read(piece.sequence, {piece.range.begin + range.begin, piece.range.begin + range.end});
  };
  const HmmTables tables(hmm);
  HmmMemory own;
  HmmMemory& kept = memory != nullptr ? *memory : own;
  std::vector<HmmSums> sums = run_lanes(tables, lengths, read, {.stop = kept.stop}, team, kept);
  HmmSums& total = sums[0];
  for (std::size_t k = 1; k < sums.size(); ++k) {
    add_to(total.initial, sums[k].initial);
    add_to(total.steps, sums[k].steps);
    add_to(total.symbols, sums[k].symbols);
    total.log_likelihood += sums[k].log_likelihood;
  }

  double objective = total.log_likelihood;
  if (add > 0) objective += add * sum_of_logs(hmm.emissions);
  const std::size_t width = at(tables.width);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) total.steps[static_cast<Index>(i * width + j)] *= hmm.transitions[i * n + j];
  for (double& x : total.symbols) x += add;
  set_distribution(total.initial.data(), n, 1, hmm.initial.data());
  for (std::size_t i = 0; i < n; ++i) {
    set_distribution(total.steps.data() + i * width, n, 1, hmm.transitions.data() + i * n);
    set_distribution(total.symbols.data() + i, v, width, hmm.emissions.data() + i * v);
  }
  return objective;
}

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
