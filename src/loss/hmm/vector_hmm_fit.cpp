#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "loss/hmm/vector_hmm_chain.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Number of sequences that are summed as one block, which makes the order of sums independent of the number of
/// threads.
constexpr Index kRunsOfBlock = 16;
/// A state or component with an expected count below this number keeps its parameters.
constexpr double kEmpty = 1e-9;

/// The sums of the expectation step: moments about the current means.
struct HmmMoments {
  double log_likelihood = 0;
  std::vector<double> start, steps, shares, first, second;

  explicit HmmMoments(const VectorHmmShape& s)
      : start(at(s.states)),
        steps(at(s.states * s.states)),
        shares(at(s.mixtures())),
        first(at(s.mixtures() * s.numbers)),
        second(at(s.mixtures() * s.spread())) {}
  void add(const HmmMoments& other) {
    log_likelihood += other.log_likelihood;
    for (auto member :
         {&HmmMoments::start, &HmmMoments::steps, &HmmMoments::shares, &HmmMoments::first, &HmmMoments::second})
      for (std::size_t i = 0; i < (this->*member).size(); ++i) (this->*member)[i] += (other.*member)[i];
  }
};

void add_vector(const VectorHmm& hmm, Index k, const double* y, double share, HmmMoments& sums) {
  const Index n = hmm.shape.numbers;
  const double* mean = hmm.means.data() + k * n;
  double *first = sums.first.data() + k * n, *second = sums.second.data() + k * hmm.shape.spread();
  sums.shares[at(k)] += share;
  for (Index i = 0; i < n; ++i) {
    const double e = share * (y[i] - mean[i]);
    first[i] += e;
    if (!hmm.shape.full) {
      second[i] += e * (y[i] - mean[i]);
      continue;
    }
    for (Index j = 0; j <= i; ++j) second[i * n + j] += e * (y[j] - mean[j]);
  }
}

void add_run(const VectorHmmTables& tables, const VectorSequences& runs, Index s, VectorHmmChain& chain,
             HmmMoments& sums) {
  const VectorHmmShape& shape = tables.hmm.shape;
  const Index n = shape.states, first = runs.begin(s);
  const Matrix<const double> run = runs.run(s);
  chain.see(tables, run);
  const Matrix<double> alpha = chain.matrix(chain.alpha), beta = chain.matrix(chain.beta);
  sums.log_likelihood += chain.weighted_forward(runs, s);
  backward(chain.chain, beta);
  std::vector<double> pairs(at(n * n)), marginals(at(run.rows * n));
  for (Index t = 1; t < run.rows; ++t) {
    pair_marginals(chain.chain, alpha, beta, t, pairs.data());
    for (std::size_t i = 0; i < pairs.size(); ++i) sums.steps[i] += runs.weight(first + t) * pairs[i];
  }
  const Matrix<double> p = chain.matrix(marginals);
  state_marginals(alpha, beta, p);
  for (Index j = 0; j < n; ++j) sums.start[at(j)] += runs.weight(first) * p(0, j);
  std::vector<double> within(at(shape.components));
  for (Index t = 0; t < run.rows; ++t)
    for (Index j = 0; j < n; ++j) {
      const double* of_state = chain.components.data() + t * shape.mixtures() + j * shape.components;
      softmax(of_state, within.data(), shape.components);
      for (Index c = 0; c < shape.components; ++c)
        add_vector(tables.hmm, j * shape.components + c, run.row(t), runs.weight(first + t) * p(t, j) * within[at(c)],
                   sums);
    }
}

/// Returns the mean covariance of all components plus the variance of the prior.
std::vector<double> pooled_covariance(const VectorHmm& hmm) {
  const VectorHmmShape& shape = hmm.shape;
  std::vector<double> pooled(at(shape.spread()));
  for (Index k = 0; k < shape.mixtures(); ++k)
    for (Index i = 0; i < shape.spread(); ++i)
      pooled[at(i)] +=
          hmm.weights[at(k)] * hmm.covariances[at(k * shape.spread() + i)] / static_cast<double>(shape.states);
  for (Index i = 0; i < shape.numbers; ++i) pooled[at(shape.full ? i * shape.numbers + i : i)] += shape.prior;
  return pooled;
}

/// Returns the trace of S^-1 P: the sum of m_i P m_i' / D_i, where m_i is row i of the regressions.
double trace_of_ratio(const GaussianFactors& of, const std::vector<double>& pooled) {
  const auto n = static_cast<Index>(of.log_d.size());
  double trace = 0;
  for (Index i = 0; i < n; ++i) {
    const double weight = of.inverse[at(i)] * of.inverse[at(i)];
    if (of.l.empty()) {
      trace += weight * pooled[at(i)];
      continue;
    }
    const auto m = [&](Index j) { return j == i ? 1 : of.l[at(i * (i - 1) / 2 + j)]; };
    for (Index j = 0; j <= i; ++j)
      for (Index k = 0; k <= i; ++k) trace += weight * m(j) * pooled[at(j * n + k)] * m(k);
  }
  return trace;
}

/// Returns the divergence of each component from a Gaussian with the pooled covariance, summed over all components.
double pooled_divergence(const VectorHmmTables& tables) {
  const VectorHmmShape& shape = tables.hmm.shape;
  const std::vector<double> pooled = pooled_covariance(tables.hmm);
  const GaussianFactors of_pooled(pooled, shape.numbers, shape.full);
  double sum = 0;
  for (const GaussianFactors& of : tables.factors) {
    sum += (trace_of_ratio(of, pooled) - static_cast<double>(shape.numbers)) / 2;
    for (Index i = 0; i < shape.numbers; ++i) sum += of.log_d[at(i)] - of_pooled.log_d[at(i)];
  }
  return sum;
}

/// Returns the log prior of one covariance; the trace of S^-1 is the sum of |row i of the regressions|^2 / D_i.
double log_prior(const GaussianFactors& of, double variance) {
  const auto n = static_cast<Index>(of.log_d.size());
  double log_det = 0, trace = 0;
  for (Index i = 0; i < n; ++i) {
    double squares = 1;
    for (Index j = 0; j < i && !of.l.empty(); ++j) {
      const double l = of.l[at(i * (i - 1) / 2 + j)];
      squares += l * l;
    }
    log_det += 2 * of.log_d[at(i)];
    trace += squares * of.inverse[at(i)] * of.inverse[at(i)];
  }
  return -kPriorCount / 2 * (log_det + variance * trace);
}

void to_shares(std::vector<double>& counts, Index rows, std::vector<double>& result) {
  const Index n = static_cast<Index>(counts.size()) / rows;
  for (Index r = 0; r < rows; ++r) {
    double total = 0;
    for (Index j = 0; j < n; ++j) total += counts[at(r * n + j)];
    for (Index j = 0; j < n && total > kEmpty; ++j) result[at(r * n + j)] = counts[at(r * n + j)] / total;
  }
}

void set_components(const HmmMoments& sums, VectorHmm& hmm) {
  const VectorHmmShape& shape = hmm.shape;
  const Index n = shape.numbers;
  const bool pools = shape.pooled > 0;
  const std::vector<double> pooled = pools ? pooled_covariance(hmm) : std::vector<double>();
  const double prior_count = pools ? shape.pooled * static_cast<double>(n) : kPriorCount;
  for (Index k = 0; k < shape.mixtures(); ++k) {
    const double count = sums.shares[at(k)];
    if (count <= kEmpty) continue;
    double *mean = hmm.means.data() + k * n, *out = hmm.covariances.data() + k * shape.spread();
    const double *first = sums.first.data() + k * n, *second = sums.second.data() + k * shape.spread();
    const auto covariance = [&](Index i, Index j, double sum) {
      double prior = i == j ? prior_count * shape.prior : 0;
      if (pools) prior = prior_count * pooled[at(shape.full ? i * n + j : i)];
      return (sum - first[i] * first[j] / count + prior) / (count + prior_count);
    };
    for (Index i = 0; i < n; ++i) {
      if (!shape.full) out[i] = covariance(i, i, second[i]);
      for (Index j = 0; j <= i && shape.full; ++j)
        out[i * n + j] = out[j * n + i] = covariance(i, j, second[i * n + j]);
    }
    for (Index i = 0; i < n; ++i) mean[i] += first[i] / count;
  }
}

void maximize(HmmMoments& sums, VectorHmm& hmm) {
  set_components(sums, hmm);
  to_shares(sums.start, 1, hmm.start);
  to_shares(sums.steps, hmm.shape.states, hmm.transitions);
  to_shares(sums.shares, hmm.shape.states, hmm.weights);
}

double squared_distance(const double* a, const double* b, Index n) {
  double sum = 0;
  for (Index i = 0; i < n; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

/// Draws a row with probability proportional to its weight.
Index draw_row(const VectorSequences& runs, Random& random) {
  if (runs.weights.empty()) return static_cast<Index>(random.below(static_cast<std::uint64_t>(runs.rows.rows)));
  double left = random.uniform() * runs.total();
  Index chosen = 0;
  while (chosen + 1 < runs.rows.rows && (left -= runs.weight(chosen)) >= 0) ++chosen;
  return chosen;
}

/// Initializes the means as k-means++ does: with data vectors, each drawn with probability proportional to its weight
/// times its squared distance from the nearest earlier mean.
void scatter_means(VectorHmm& hmm, const VectorSequences& runs, Random& random) {
  const Matrix<const double> rows = runs.rows;
  const Index n = hmm.shape.numbers;
  std::vector<double> nearest(at(rows.rows), std::numeric_limits<double>::infinity());
  Index chosen = draw_row(runs, random);
  for (Index k = 0; k < hmm.shape.mixtures(); ++k) {
    std::copy_n(rows.row(chosen), n, hmm.means.data() + k * n);
    double total = 0;
    for (Index r = 0; r < rows.rows; ++r) {
      nearest[at(r)] = std::min(nearest[at(r)], squared_distance(rows.row(r), rows.row(chosen), n));
      total += runs.weight(r) * nearest[at(r)];
    }
    double left = random.uniform() * total;
    chosen = 0;
    while (chosen + 1 < rows.rows && (left -= runs.weight(chosen) * nearest[at(chosen)]) >= 0) ++chosen;
  }
}

Index nearest_mean(const VectorHmm& hmm, const double* y) {
  const Index n = hmm.shape.numbers;
  Index best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (Index k = 0; k < hmm.shape.mixtures(); ++k)
    if (const double d = squared_distance(y, hmm.means.data() + k * n, n); d < least) best = k, least = d;
  return best;
}

/// Moves each mean to the center of the vectors nearest to it (k-means) and sets the covariance to that of these
/// vectors.
void cluster_vectors(VectorHmm& hmm, const VectorSequences& runs) {
  constexpr int kRounds = 10;
  const Matrix<const double> rows = runs.rows;
  for (int round = 0; round < kRounds; ++round) {
    HmmMoments sums(hmm.shape);
    for (Index r = 0; r < rows.rows; ++r)
      add_vector(hmm, nearest_mean(hmm, rows.row(r)), rows.row(r), runs.weight(r), sums);
    set_components(sums, hmm);
  }
}

VectorHmm spread_start(const VectorHmmShape& shape, const VectorSequences& runs, Index number, Random& random) {
  VectorHmm hmm(shape);
  scatter_means(hmm, runs, random);
  if (number % 2 == 1) cluster_vectors(hmm, runs);
  // Perturbs the uniform distributions, because identical states would remain identical.
  for (auto* each : {&hmm.start, &hmm.transitions, &hmm.weights})
    for (double& x : *each) x *= random.uniform(0.5, 1.5);
  HmmMoments counts(shape);
  counts.start = hmm.start, counts.steps = hmm.transitions, counts.shares = hmm.weights;
  to_shares(counts.start, 1, hmm.start);
  to_shares(counts.steps, shape.states, hmm.transitions);
  to_shares(counts.shares, shape.states, hmm.weights);
  constexpr double kStays[] = {0, 0.9, 0.5};
  const double stay = kStays[number / 2 % 3];
  for (Index i = 0; i < shape.states; ++i)
    for (Index j = 0; j < shape.states; ++j) {
      double& x = hmm.transitions[at(i * shape.states + j)];
      x = (1 - stay) * x + (i == j ? stay : 0);
    }
  return hmm;
}

/// A model that is being fitted.
struct VectorAttempt {
  VectorHmmFit fit;
  VectorHmm next;  ///< the model after a further iteration
  Index iterations = 0;
};

/// Runs at most `iterations`. Growing gains indicate that the fit is leaving a plateau, so it stops only when gains
/// shrink.
void climb_from(VectorAttempt& attempt, const VectorSequences& runs, Index iterations,
                const VectorHmmFitOptions& options, Team& team) {
  const double least = options.tolerance * runs.total();
  double before = -std::numeric_limits<double>::infinity(), gained = std::numeric_limits<double>::infinity();
  for (Index i = 1; i <= iterations; ++i) {
    if (options.stop != nullptr && *options.stop) throw InterruptedError("interrupted");
    VectorHmm hmm = attempt.next;
    double likelihood = 0;
    const double posterior = reestimate(attempt.next, runs, team, &likelihood);
    ++attempt.iterations;
    if (posterior > attempt.fit.log_posterior)
      attempt.fit = {.hmm = std::move(hmm),
                     .log_likelihood = likelihood,
                     .log_posterior = posterior,
                     .iterations = attempt.iterations};
    const double gain = posterior - before;
    if (gain < least && !(gain > gained)) break;
    before = posterior;
    gained = gain;
  }
}

void keep_best_fits(std::vector<VectorAttempt>& attempts, Index count) {
  std::ranges::stable_sort(attempts, std::greater(),
                           [](const VectorAttempt& attempt) { return attempt.fit.log_posterior; });
  attempts.erase(attempts.begin() + std::min(count, static_cast<Index>(attempts.size())), attempts.end());
}

}  // namespace

double reestimate(VectorHmm& hmm, const VectorSequences& runs, Team& team, double* likelihood) {
  const VectorHmmTables tables(hmm);
  const Index blocks = (runs.count() + kRunsOfBlock - 1) / kRunsOfBlock;
  std::vector<HmmMoments> sums(at(blocks), HmmMoments(hmm.shape));
  team.run([&](Member& me) {
    VectorHmmChain chain;
    const Range mine = me.share(blocks, 1);
    for (Index b = mine.begin; b < mine.end; ++b)
      for (Index s = b * kRunsOfBlock; s < std::min(runs.count(), (b + 1) * kRunsOfBlock); ++s)
        add_run(tables, runs, s, chain, sums[at(b)]);
  });
  for (std::size_t b = 1; b < sums.size(); ++b) sums[0].add(sums[b]);
  double posterior = sums[0].log_likelihood;
  if (hmm.shape.pooled > 0)
    posterior -= hmm.shape.pooled * static_cast<double>(hmm.shape.numbers) * pooled_divergence(tables);
  else
    for (const GaussianFactors& each : tables.factors) posterior += log_prior(each, hmm.shape.prior);
  if (likelihood != nullptr) *likelihood = sums[0].log_likelihood;
  maximize(sums[0], hmm);
  return posterior;
}

VectorHmmFit fit_vector_hmm(const VectorHmmShape& shape, const VectorSequences& runs,
                            const VectorHmmFitOptions& options, Team& team) {
  if (runs.rows.rows < shape.mixtures())
    throw UsageError("a hidden Markov model of " + std::to_string(shape.mixtures()) +
                     " components needs at least as many vectors, but only " + std::to_string(runs.rows.rows) +
                     " were given");
  constexpr Index kShort = 8, kLonger = 60, kOneOf = 3, kFewStarts = 12, kManyVectors = 20'000;
  std::vector<VectorAttempt> attempts;
  const bool many = runs.rows.rows > kManyVectors;
  const Index starts = shape.mixtures() > 1 ? std::max(options.starts, options.restarts) : 1;
  // The ranking after a few iterations may differ from the ranking of the optima.
  const Index longer = many || starts < kFewStarts ? options.restarts : std::max(options.restarts, starts / kOneOf);
  for (Index s = 0; s < starts; ++s) {
    Random random(options.seed, stream_of("vector-hmm") + static_cast<std::uint64_t>(s));
    VectorHmm hmm = spread_start(shape, runs, s, random);
    VectorHmm next = hmm;
    attempts.push_back({.fit = {.hmm = std::move(hmm), .log_posterior = -std::numeric_limits<double>::infinity()},
                        .next = std::move(next)});
    climb_from(attempts.back(), runs, kShort, options, team);
    keep_best_fits(attempts, longer);
  }
  if (longer > options.restarts)
    for (VectorAttempt& attempt : attempts) climb_from(attempt, runs, kLonger, options, team);
  keep_best_fits(attempts, options.restarts);
  for (VectorAttempt& attempt : attempts) climb_from(attempt, runs, options.iterations, options, team);
  keep_best_fits(attempts, 1);
  VectorHmmFit best = std::move(attempts.front().fit);
  double log_vectors = runs.total();
  vector_log(&log_vectors, &log_vectors, 1);
  best.bic = -2 * best.log_likelihood + static_cast<double>(shape.parameters()) * log_vectors;
  return best;
}

std::vector<VectorHmmFit> choose_vector_hmm(const VectorHmmShape& shape, Index fewest, const VectorSequences& runs,
                                            const VectorHmmFitOptions& options, Team& team) {
  std::vector<VectorHmmFit> fits;
  for (Index states = fewest; states <= shape.states; ++states) {
    VectorHmmShape smaller = shape;
    smaller.states = states;
    fits.push_back(fit_vector_hmm(smaller, runs, options, team));
  }
  const auto chosen = std::ranges::min_element(fits, {}, &VectorHmmFit::bic);
  std::rotate(fits.begin(), chosen, chosen + 1);
  return fits;
}

}  // namespace unfold
