#include "loss/crf/chain.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "loss/draw.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

/// Returns the offset subtracted from exponents: 0 if the maximum is impossible, to avoid NaN.
double shift_of(double largest) { return largest == kImpossible ? 0 : largest; }

/// out[j] = log sum_i exp(x[i] + a[i][j]) for all j; with `across`, log sum_j exp(a[i][j] + x[j]) for all i.
void log_product(const std::vector<double>& a, const double* x, Index n, bool across, double* out,
                 ChainScratch& scratch) {
  scratch.squares.resize(at(n * n));
  scratch.row.assign(at(n), kImpossible);
  double* z = scratch.squares.data();
  double* largest = scratch.row.data();
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) {
      const double value = a[at(i * n + j)] + x[across ? j : i];
      double& most = largest[across ? i : j];
      z[i * n + j] = value;
      most = value > most ? value : most;
    }
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) z[i * n + j] -= shift_of(largest[across ? i : j]);
  vector_exp(z, z, n * n);
  std::fill_n(out, n, 0.0);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) out[across ? i : j] += z[i * n + j];
  vector_log(out, out, n);
  for (Index j = 0; j < n; ++j) out[j] += shift_of(largest[j]);
}

}  // namespace

double chain_forward(const ChainScores& s, Emissions e, Matrix<double> alpha, ChainScratch& scratch) {
  const Index n = s.labels;
  for (Index j = 0; j < n; ++j) alpha(0, j) = s.start[at(j)] + e(0, j);
  for (Index t = 1; t < e.rows; ++t) {
    log_product(s.transitions, alpha.row(t - 1), n, false, alpha.row(t), scratch);
    for (Index j = 0; j < n; ++j) alpha(t, j) += e(t, j);
  }
  scratch.row.resize(at(n));
  for (Index j = 0; j < n; ++j) scratch.row[at(j)] = alpha(e.rows - 1, j) + s.stop[at(j)];
  return log_sum_exp(scratch.row.data(), n);
}

void chain_backward(const ChainScores& s, Emissions e, Matrix<double> beta, ChainScratch& scratch) {
  const Index n = s.labels;
  std::vector<double> next(at(n));
  for (Index j = 0; j < n; ++j) beta(e.rows - 1, j) = s.stop[at(j)];
  for (Index t = e.rows - 1; t > 0; --t) {
    for (Index j = 0; j < n; ++j) next[at(j)] = e(t, j) + beta(t, j);
    log_product(s.transitions, next.data(), n, true, beta.row(t - 1), scratch);
  }
}

namespace {

/// x = exp(x), normalized to a sum of 1 because alpha, beta and log Z of a long chain are rounded differently at each
/// position.
void to_shares(double* x, Index n) {
  vector_exp(x, x, n);
  double sum = 0;
  for (Index i = 0; i < n; ++i) sum += x[i];
  for (Index i = 0; i < n; ++i) x[i] /= sum;
}

/// Stores p(y_{t-1} = i, y_t = j) for all pairs in scratch.squares.
void pair_marginals(const ChainScores& s, Emissions e, Matrix<const double> alpha, Matrix<const double> beta,
                    double log_z, Index t, ChainScratch& scratch) {
  const Index n = s.labels;
  scratch.squares.resize(at(n * n));
  double* z = scratch.squares.data();
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j)
      z[i * n + j] = ((alpha(t - 1, i) + s.transitions[at(i * n + j)]) + (e(t, j) + beta(t, j))) - log_z;
  to_shares(z, n * n);
}

/// Computes p(y_t = j) for all t and j.
void position_marginals(Matrix<const double> alpha, Matrix<const double> beta, double log_z, Matrix<double> out) {
  for (Index t = 0; t < alpha.rows; ++t) {
    for (Index j = 0; j < alpha.cols; ++j) out(t, j) = (alpha(t, j) + beta(t, j)) - log_z;
    to_shares(out.row(t), alpha.cols);
  }
}

}  // namespace

void chain_marginals(const ChainScores& s, Emissions e, Matrix<const double> alpha, Matrix<const double> beta,
                     double log_z, double sign, const ChainCounts& counts, ChainScratch& scratch) {
  const Index n = s.labels, last = e.rows - 1;
  position_marginals(alpha, beta, log_z, counts.positions);
  for (Index j = 0; j < n; ++j) {
    counts.first[j] += sign * counts.positions(0, j);
    counts.last[j] += sign * counts.positions(last, j);
  }
  for (Index t = 1; t < e.rows; ++t) {
    pair_marginals(s, e, alpha, beta, log_z, t, scratch);
    for (Index k = 0; k < n * n; ++k) counts.pairs[k] += sign * scratch.squares[at(k)];
  }
}

/// Let S be the score along the direction. One pass computes a_t(j), the mean of S over prefixes that end in j at t;
/// another computes b_t(i), the mean of S over suffixes that follow i. The covariance of a count with S is p
/// (conditional mean of S - mean of S).
void chain_covariance(const ChainScores& s, Emissions e, Matrix<const double> alpha, Matrix<const double> beta,
                      double log_z, Emissions direction, const ChainScores& along, const ChainCounts& result,
                      ChainScratch& scratch) {
  const Index n = s.labels, last = e.rows - 1;
  std::vector<double> ahead(at(e.rows * n)), behind(at(e.rows * n));
  const Matrix<double> a{ahead.data(), e.rows, n, n}, b{behind.data(), e.rows, n, n};
  const Matrix<double> p = result.positions;
  position_marginals(alpha, beta, log_z, p);
  const auto share = [](double part, double whole) { return whole > 0 ? part / whole : 0; };
  for (Index j = 0; j < n; ++j) a(0, j) = along.start[at(j)] + direction(0, j);
  for (Index t = 1; t < e.rows; ++t) {
    pair_marginals(s, e, alpha, beta, log_z, t, scratch);
    for (Index j = 0; j < n; ++j) {
      double mean = 0, mass = 0;
      for (Index i = 0; i < n; ++i) {
        const double q = scratch.squares[at(i * n + j)];
        mass += q;
        mean += q * (a(t - 1, i) + along.transitions[at(i * n + j)]);
      }
      a(t, j) = direction(t, j) + share(mean, mass);
    }
  }
  for (Index j = 0; j < n; ++j) b(last, j) = along.stop[at(j)];
  double mean_score = 0;
  for (Index j = 0; j < n; ++j) mean_score += p(last, j) * (a(last, j) + b(last, j));
  for (Index t = last; t > 0; --t) {
    pair_marginals(s, e, alpha, beta, log_z, t, scratch);
    for (Index i = 0; i < n; ++i) {
      double mean = 0, mass = 0;
      for (Index j = 0; j < n; ++j) {
        const double q = scratch.squares[at(i * n + j)];
        const double rest = along.transitions[at(i * n + j)] + (direction(t, j) + b(t, j));
        mass += q;
        mean += q * rest;
        result.pairs[i * n + j] += q * ((a(t - 1, i) + rest) - mean_score);
      }
      b(t - 1, i) = share(mean, mass);
    }
  }
  for (Index t = 0; t < e.rows; ++t)
    for (Index j = 0; j < n; ++j) p(t, j) *= (a(t, j) + b(t, j)) - mean_score;
  for (Index j = 0; j < n; ++j) {
    result.first[j] += p(0, j);
    result.last[j] += p(last, j);
  }
}

double chain_score(const ChainScores& s, Emissions e, const Symbol* labels) {
  double sum = s.start[at(labels[0])];
  for (Index t = 0; t < e.rows; ++t) {
    if (t > 0) sum += s.transitions[at(labels[t - 1] * s.labels + labels[t])];
    sum += e(t, labels[t]);
  }
  return sum + s.stop[at(labels[e.rows - 1])];
}

double chain_best(const ChainScores& s, Emissions e, Symbol* labels) {
  const Index n = s.labels, length = e.rows;
  std::vector<double> now(at(n)), next(at(n));
  std::vector<Symbol> from(at(length * n));
  for (Index j = 0; j < n; ++j) now[at(j)] = s.start[at(j)] + e(0, j);
  for (Index t = 1; t < length; ++t) {
    Symbol* came = from.data() + t * n;
    std::fill(next.begin(), next.end(), kImpossible);
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j) {
        const double score = now[at(i)] + s.transitions[at(i * n + j)];
        came[j] = score > next[at(j)] ? static_cast<Symbol>(i) : came[j];
        next[at(j)] = score > next[at(j)] ? score : next[at(j)];
      }
    for (Index j = 0; j < n; ++j) now[at(j)] = next[at(j)] + e(t, j);
  }
  for (Index j = 0; j < n; ++j) now[at(j)] += s.stop[at(j)];
  const auto best = std::max_element(now.begin(), now.end());
  labels[length - 1] = static_cast<Symbol>(best - now.begin());
  for (Index t = length - 1; t > 0; --t) labels[t - 1] = from[at(t * n + labels[t])];
  return *best;
}

namespace {

/// The k-th best prefix that ends in a label.
struct Beginning {
  double score = kImpossible;
  Symbol label = 0;  // the previous label
  Index rank = 0;    // rank of the prefix of the previous label
};

void keep_best(std::vector<Beginning>& all, Index count) {
  std::ranges::stable_sort(all, std::ranges::greater(), &Beginning::score);
  if (static_cast<Index>(all.size()) > count) all.resize(at(count));
}

}  // namespace

std::vector<ScoredLabeling> chain_n_best(const ChainScores& s, Emissions e, Index count) {
  const Index n = s.labels, length = e.rows;
  std::vector<std::vector<Beginning>> table(at(length * n));
  const auto cell = [&](Index t, Index j) -> std::vector<Beginning>& { return table[at(t * n + j)]; };
  const auto extend = [&](std::vector<Beginning>& into, Index t, Index i, double more) {
    const std::vector<Beginning>& before = cell(t, i);
    for (std::size_t k = 0; k < before.size(); ++k)
      if (const double score = before[k].score + more; score > kImpossible)
        into.push_back({score, static_cast<Symbol>(i), static_cast<Index>(k)});
  };
  for (Index j = 0; j < n; ++j)
    if (const double score = s.start[at(j)] + e(0, j); score > kImpossible) cell(0, j).push_back({.score = score});
  for (Index t = 1; t < length; ++t)
    for (Index j = 0; j < n; ++j) {
      for (Index i = 0; i < n; ++i) extend(cell(t, j), t - 1, i, s.transitions[at(i * n + j)] + e(t, j));
      keep_best(cell(t, j), count);
    }
  std::vector<Beginning> ends;
  for (Index j = 0; j < n; ++j) extend(ends, length - 1, j, s.stop[at(j)]);
  keep_best(ends, count);
  std::vector<ScoredLabeling> found;
  found.reserve(ends.size());
  for (const Beginning& end : ends) {
    ScoredLabeling chain{.labels = std::vector<Symbol>(at(length)), .log_probability = end.score};
    Beginning at_end = end;
    for (Index t = length - 1; t >= 0; --t) {
      chain.labels[at(t)] = at_end.label;
      at_end = cell(t, at_end.label)[at(at_end.rank)];
    }
    found.push_back(std::move(chain));
  }
  return found;
}

void chain_sample(const ChainScores& s, Matrix<const double> alpha, Random& random, Symbol* labels,
                  ChainScratch& scratch) {
  const Index n = s.labels;
  std::vector<double>& weights = scratch.row;
  weights.resize(at(n));
  for (Index t = alpha.rows - 1; t >= 0; --t) {
    for (Index i = 0; i < n; ++i) {
      const double next = t == alpha.rows - 1 ? s.stop[at(i)] : s.transitions[at(i * n + labels[t + 1])];
      weights[at(i)] = alpha(t, i) + next;
    }
    const double largest = *std::max_element(weights.begin(), weights.end());
    for (double& w : weights) w -= largest;
    const Index drawn = draw_by_logs<double>(weights, random);
    if (drawn < 0)
      throw UsageError("chain_sample: no label has a positive probability; check that the scores are finite");
    labels[t] = static_cast<Symbol>(drawn);
  }
}

}  // namespace unfold
