/// Baum-Welch: expectation maximization of hidden Markov models (Baum et al. 1970). The expectations come from the
/// forward-backward algorithm.

#include "model/hmm/forward_backward_lanes.h"
#include "model/hmm/hmm.h"
#include "numerics/functions.h"

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

}  // namespace unfold
