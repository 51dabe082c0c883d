#include "model/decoding/chain_objective.h"

#include <algorithm>
#include <limits>

namespace unfold {
namespace {

constexpr double kImpossibleScore = -std::numeric_limits<double>::infinity();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

using Labels = std::vector<Symbol>;

/// Adds the counts of the first `length` labels; the final label is counted as last only if the chain ends there.
void count(const Labels& labels, Index length, Index chain, double sign, ChainCountsOf& counts) {
  ChainScores& to = counts.neighbors;
  const Index n = to.labels;
  to.start[at(labels[0])] += sign;
  for (Index t = 0; t < length; ++t) {
    counts.positions[at(t * n + labels[at(t)])] += sign;
    if (t > 0) to.transitions[at(labels[at(t - 1)] * n + labels[at(t)])] += sign;
  }
  if (length == chain) to.stop[at(labels[at(length - 1)])] += sign;
}

/// Returns the true labels; missing labels are taken from the best sequence that agrees with the known labels.
Labels true_labels(const ChainScores& scores, Emissions e, const Labels& known) {
  if (std::ranges::find(known, kNoSymbol) == known.end()) return known;
  std::vector<double> masked(e.data, e.data + e.rows * e.cols);
  for (Index t = 0; t < e.rows; ++t)
    for (Index j = 0; j < e.cols; ++j)
      if (known[at(t)] != kNoSymbol && known[at(t)] != j) masked[at(t * e.cols + j)] = kImpossibleScore;
  Labels found(known.size());
  chain_best(scores, {masked.data(), e.rows, e.cols, e.cols}, found.data());
  return found;
}

/// max_y (s(y) + C H(y, y*)) - s(y*).
double most_violating(const ChainScores& scores, Emissions e, const Labels& known, const Labels& truth, double cost,
                      ChainCountsOf& counts) {
  std::vector<double> augmented(e.data, e.data + e.rows * e.cols);
  for (Index t = 0; t < e.rows; ++t)
    for (Index j = 0; j < e.cols; ++j)
      if (known[at(t)] != kNoSymbol && known[at(t)] != j) augmented[at(t * e.cols + j)] += cost;
  Labels found(truth.size());
  const double best = chain_best(scores, {augmented.data(), e.rows, e.cols, e.cols}, found.data());
  if (found == truth) return 0;
  count(found, e.rows, e.rows, 1, counts);
  count(truth, e.rows, e.rows, -1, counts);
  return std::max(0.0, best - chain_score(scores, e, truth.data()));
}

/// sum_y p(y) H(y, y*). The derivative with respect to a score is the covariance of H with the count of that score.
double expected_cost(const ChainScores& scores, Emissions e, const Labels& known, ChainCountsOf& counts) {
  const Index n = e.cols;
  std::vector<double> alpha(at(e.rows * n)), beta(at(e.rows * n)), cost(at(e.rows * n));
  const Matrix<double> a{alpha.data(), e.rows, n, n}, b{beta.data(), e.rows, n, n};
  for (Index t = 0; t < e.rows; ++t)
    for (Index j = 0; j < n; ++j) cost[at(t * n + j)] = known[at(t)] != kNoSymbol && known[at(t)] != j ? 1 : 0;
  ChainScratch scratch;
  const double log_z = chain_forward(scores, e, a, scratch);
  chain_backward(scores, e, b, scratch);
  ChainCountsOf shares(n), none(n);
  shares.positions.resize(cost.size());
  const auto into = [&](ChainCountsOf& of) {
    return ChainCounts{{of.positions.data(), e.rows, n, n},
                       of.neighbors.transitions.data(),
                       of.neighbors.start.data(),
                       of.neighbors.stop.data()};
  };
  chain_marginals(scores, e, a, b, log_z, 1, into(shares), scratch);
  double mean = 0;
  for (std::size_t i = 0; i < cost.size(); ++i) mean += cost[i] * shares.positions[i];
  chain_covariance(scores, e, a, b, log_z, {cost.data(), e.rows, n, n}, none.neighbors, into(counts), scratch);
  return mean;
}

/// A prefix in the beam.
struct BeamPrefix {
  double score = 0;
  Labels labels = {};
  bool is_true = false;
};

/// A prefix extended by one label.
struct BeamExtension {
  double score;
  std::size_t from;
  Symbol label;
  bool is_true;
};

BeamPrefix made(const BeamExtension& longer, const std::vector<BeamPrefix>& beam) {
  BeamPrefix all{longer.score, beam[longer.from].labels, longer.is_true};
  all.labels.push_back(longer.label);
  return all;
}

std::vector<BeamPrefix> made(const std::vector<BeamExtension>& longer, const std::vector<BeamPrefix>& beam,
                             Index width) {
  std::vector<BeamPrefix> next;
  for (std::size_t k = 0; k < std::min(longer.size(), at(width)); ++k) next.push_back(made(longer[k], beam));
  return next;
}

/// Returns all extensions by one label, best first; ties are ordered by parent, then by label.
std::vector<BeamExtension> extend(const std::vector<BeamPrefix>& beam, const ChainScores& scores, Emissions e, Index t,
                                  const Labels& truth) {
  const Index n = scores.labels;
  std::vector<BeamExtension> all;
  all.reserve(beam.size() * at(n));
  for (std::size_t k = 0; k < beam.size(); ++k)
    for (Symbol j = 0; j < n; ++j) {
      double more = e(t, j) + (t == 0 ? scores.start[at(j)] : scores.transitions[at(beam[k].labels.back() * n + j)]);
      if (t + 1 == e.rows) more += scores.stop[at(j)];
      if (beam[k].score + more > kImpossibleScore)
        all.push_back({beam[k].score + more, k, j, beam[k].is_true && j == truth[at(t)]});
    }
  std::ranges::stable_sort(all, std::ranges::greater(), &BeamExtension::score);
  return all;
}

double pay(const BeamPrefix& found, const BeamPrefix& truth, Index chain, double margin, ChainCountsOf& counts) {
  const auto length = static_cast<Index>(found.labels.size());
  count(found.labels, length, chain, 1, counts);
  count(truth.labels, length, chain, -1, counts);
  return margin + found.score - truth.score;
}

double early_update(const ChainScores& scores, Emissions e, const Labels& truth, Index width, ChainCountsOf& counts) {
  std::vector<BeamPrefix> beam{{.is_true = true}};
  for (Index t = 0; t < e.rows; ++t) {
    const std::vector<BeamExtension> all = extend(beam, scores, e, t, truth);
    const auto own = std::ranges::find(all, true, &BeamExtension::is_true);
    if (own == all.end()) return kInfinite;
    const bool last = t + 1 == e.rows;
    if (own - all.begin() >= width || (last && own != all.begin()))
      return pay(made(all.front(), beam), made(*own, beam), e.rows, 0, counts);
    beam = made(all, beam, width);
  }
  return 0;
}

double beam_violations(const ChainScores& scores, Emissions e, const Labels& truth, Index width,
                       ChainCountsOf& counts) {
  constexpr double kMargin = 1;
  std::vector<BeamPrefix> beam{{.is_true = true}};
  double sum = 0;
  for (Index t = 0; t < e.rows; ++t) {
    const std::vector<BeamExtension> all = extend(beam, scores, e, t, truth);
    const auto own = std::ranges::find(all, true, &BeamExtension::is_true);
    if (own == all.end()) return kInfinite;
    auto rank = at(t + 1 == e.rows ? 0 : width - 1);  // rank among the prefixes other than the true prefix
    if (rank >= at(own - all.begin())) ++rank;
    if (rank < all.size() && kMargin - own->score + all[rank].score > 0) {
      const BeamPrefix right = made(*own, beam);
      sum += pay(made(all[rank], beam), right, e.rows, kMargin, counts);
      beam = {right};
      continue;
    }
    beam = made(all, beam, width);
  }
  return sum;
}

}  // namespace

ChainCountsOf::ChainCountsOf(Index labels)
    : neighbors{.labels = labels,
                .transitions = std::vector<double>(at(labels * labels)),
                .start = std::vector<double>(at(labels)),
                .stop = std::vector<double>(at(labels))} {}

double ChainObjective::judge(const ChainScores& scores, Emissions e, const Labels& labels,
                             ChainCountsOf& counts) const {
  const Labels truth = true_labels(scores, e, labels);
  if (!(chain_score(scores, e, truth.data()) > kImpossibleScore)) return kInfinite;
  switch (kind) {
    case Kind::perceptron: return most_violating(scores, e, labels, truth, 0, counts);
    case Kind::margin: return most_violating(scores, e, labels, truth, cost, counts);
    case Kind::risk: return expected_cost(scores, e, labels, counts);
    case Kind::early_update: return early_update(scores, e, truth, beam, counts);
    case Kind::beam_search: return beam_violations(scores, e, truth, beam, counts);
  }
  return 0;
}

}  // namespace unfold
