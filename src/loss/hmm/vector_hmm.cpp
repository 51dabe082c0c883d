#include "loss/hmm/vector_hmm.h"

#include <algorithm>
#include <cmath>

#include "loss/hmm/vector_hmm_chain.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr double kHalfLogOfTwoPi = 0.91893853320467274178;

/// Draws an index with probability proportional to its weight.
Index draw_share(const double* shares, Index n, Random& random) {
  double left = random.uniform();
  Index chosen = 0;
  while (chosen + 1 < n && (left -= shares[chosen]) >= 0) ++chosen;
  return chosen;
}

}  // namespace

Index VectorHmmShape::parameters() const {
  const Index of_covariance = full ? numbers * (numbers + 1) / 2 : numbers;
  return (states - 1) + states * (states - 1) + states * (components - 1) + mixtures() * (numbers + of_covariance);
}

VectorHmm::VectorHmm(const VectorHmmShape& of) : shape(of) {
  const auto uniform = [](Index rows, Index n) {
    return std::vector<double>(at(rows * n), 1 / static_cast<double>(n));
  };
  start = uniform(1, of.states);
  transitions = uniform(of.states, of.states);
  weights = uniform(of.states, of.components);
  means.assign(at(of.mixtures() * of.numbers), 0.0);
  covariances.assign(at(of.mixtures() * of.spread()), 0.0);
  for (Index k = 0; k < of.mixtures(); ++k)
    for (Index i = 0; i < of.numbers; ++i) covariances[at(k * of.spread() + (of.full ? i * of.numbers + i : i))] = 1;
}

/// S = B D B', B unit lower triangular: D holds the residual variances, B^-1 the regression coefficients.
GaussianFactors::GaussianFactors(std::span<const double> covariance, Index n, bool full)
    : log_d(at(n)), inverse(at(n)) {
  std::vector<double> d(covariance.begin(), covariance.end());
  if (full) {
    std::vector<double> b(at(n * n));
    d.resize(at(n));
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j <= i; ++j) {
        double left = covariance[at(i * n + j)];
        for (Index k = 0; k < j; ++k) left -= b[at(i * n + k)] * b[at(j * n + k)] * d[at(k)];
        if (j < i)
          b[at(i * n + j)] = left / d[at(j)];
        else
          d[at(i)] = left;
      }
    }
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < i; ++j) {
        double sum = b[at(i * n + j)];
        for (Index k = j + 1; k < i; ++k) sum += b[at(i * n + k)] * l[at(k * (k - 1) / 2 + j)];
        l.push_back(-sum);
      }
  }
  for (const double x : d)
    if (!(x > 0)) throw UsageError("a covariance is not positive definite");
  vector_log(d.data(), log_d.data(), n);
  for (Index i = 0; i < n; ++i) {
    log_d[at(i)] /= 2;
    inverse[at(i)] = 1 / std::sqrt(d[at(i)]);
  }
}

double GaussianFactors::log_density(const double* y, const double* mean) const {
  const auto n = static_cast<Index>(log_d.size());
  double sum = 0;
  for (Index i = 0; i < n; ++i) {
    double u = y[i] - mean[i];
    if (!l.empty())
      for (Index j = 0; j < i; ++j) u += l[at(i * (i - 1) / 2 + j)] * (y[j] - mean[j]);
    const double z = u * inverse[at(i)];
    sum -= kHalfLogOfTwoPi + log_d[at(i)] + z * z / 2;
  }
  return sum;
}

VectorHmmTables::VectorHmmTables(const VectorHmm& of) : hmm(of), start(of.start), steps(of.transitions) {
  const VectorHmmShape& shape = of.shape;
  vector_log(start.data(), start.data(), shape.states);
  vector_log(steps.data(), steps.data(), shape.states * shape.states);
  log_weights = of.weights;
  vector_log(log_weights.data(), log_weights.data(), shape.mixtures());
  for (Index k = 0; k < shape.mixtures(); ++k)
    factors.emplace_back(std::span(of.covariances).subspan(at(k * shape.spread()), at(shape.spread())), shape.numbers,
                         shape.full);
}

void VectorHmmChain::see(const VectorHmmTables& tables, Matrix<const double> run) {
  const VectorHmmShape& shape = tables.hmm.shape;
  rows = run.rows, states = shape.states;
  emissions.resize(at(rows * states));
  alpha.resize(at(rows * states));
  beta.resize(at(rows * states));
  components.resize(at(rows * shape.mixtures()));
  for (Index t = 0; t < rows; ++t)
    for (Index j = 0; j < states; ++j) {
      double* of_state = components.data() + t * shape.mixtures() + j * shape.components;
      for (Index c = 0; c < shape.components; ++c) {
        const Index k = j * shape.components + c;
        of_state[c] = tables.log_weights[at(k)] +
                      tables.factors[at(k)].log_density(run.row(t), tables.hmm.means.data() + k * shape.numbers);
      }
      emissions[at(t * states + j)] = log_sum_exp(of_state, shape.components);
    }
  chain = {.states = states,
           .start = tables.start.data(),
           .steps = {tables.steps.data(), rows, states * states, 0},
           .emissions = {emissions.data(), rows, states, states}};
}

double VectorHmmChain::weighted_forward(const VectorSequences& runs, Index s) {
  const double log_p = forward(chain, matrix(alpha));
  const Index first = runs.begin(s);
  if (states > 1 || runs.weights.empty()) return runs.weight(first) * log_p;
  double sum = 0;
  for (Index t = 0; t < rows; ++t) sum += runs.weight(first + t) * emissions[at(t)];
  return sum;
}

double log_likelihood(const VectorHmm& hmm, const VectorSequences& runs, Team& team) {
  const VectorHmmTables tables(hmm);
  std::vector<double> each(at(runs.count()));
  team.run([&](Member& me) {
    VectorHmmChain chain;
    const Range mine = me.share(runs.count(), 1);
    for (Index s = mine.begin; s < mine.end; ++s) {
      chain.see(tables, runs.run(s));
      each[at(s)] = chain.weighted_forward(runs, s);
    }
  });
  double sum = 0;
  for (const double x : each) sum += x;
  return sum;
}

std::vector<Index> most_probable_states(const VectorHmm& hmm, Matrix<const double> run) {
  const VectorHmmTables tables(hmm);
  VectorHmmChain chain;
  chain.see(tables, run);
  return best_states(chain.chain);
}

std::vector<double> state_posteriors(const VectorHmm& hmm, Matrix<const double> run) {
  const VectorHmmTables tables(hmm);
  VectorHmmChain chain;
  chain.see(tables, run);
  forward(chain.chain, chain.matrix(chain.alpha));
  backward(chain.chain, chain.matrix(chain.beta));
  std::vector<double> p(chain.alpha.size());
  state_marginals(chain.matrix(chain.alpha), chain.matrix(chain.beta), chain.matrix(p));
  return p;
}

DrawnRun sample(const VectorHmm& hmm, Index length, Random& random) {
  const VectorHmmTables tables(hmm);
  const VectorHmmShape& shape = hmm.shape;
  const Index n = shape.numbers;
  DrawnRun drawn{std::vector<double>(at(length * n)), std::vector<Index>(at(length))};
  Index state = 0;
  for (Index t = 0; t < length; ++t) {
    state = draw_share(t == 0 ? hmm.start.data() : hmm.transitions.data() + state * shape.states, shape.states, random);
    drawn.states[at(t)] = state;
    const Index k =
        state * shape.components + draw_share(hmm.weights.data() + state * shape.components, shape.components, random);
    const GaussianFactors& of = tables.factors[at(k)];
    double* y = drawn.rows.data() + t * n;
    for (Index i = 0; i < n; ++i) {  // e_i = d_i z - sum_j l_ij e_j; y initially holds e
      double e = random.normal() / of.inverse[at(i)];
      for (Index j = 0; j < i && shape.full; ++j) e -= of.l[at(i * (i - 1) / 2 + j)] * y[j];
      y[i] = e;
    }
    for (Index i = 0; i < n; ++i) y[i] += hmm.means[at(k * n + i)];
  }
  return drawn;
}

VectorForecast forecast(const VectorHmm& hmm, std::span<const double> belief, Index steps) {
  const VectorHmmShape& shape = hmm.shape;
  const Index n = shape.numbers;
  VectorForecast result;
  std::vector<double> now(belief.begin(), belief.end()), next(at(shape.states));
  for (Index h = 0; h < steps; ++h) {
    std::ranges::fill(next, 0.0);
    for (Index i = 0; i < shape.states; ++i)
      for (Index j = 0; j < shape.states; ++j) next[at(j)] += now[at(i)] * hmm.transitions[at(i * shape.states + j)];
    now = next;
    for (Index i = 0; i < n; ++i) {
      double mean = 0, square = 0;
      for (Index k = 0; k < shape.mixtures(); ++k) {
        const double share = now[at(k / shape.components)] * hmm.weights[at(k)], m = hmm.means[at(k * n + i)];
        const double variance = hmm.covariances[at(k * shape.spread() + (shape.full ? i * n + i : i))];
        mean += share * m;
        square += share * (variance + m * m);
      }
      result.mean.push_back(mean);
      result.variance.push_back(square - mean * mean);
    }
  }
  return result;
}

}  // namespace unfold
