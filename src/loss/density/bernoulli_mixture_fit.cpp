#include "loss/density/bernoulli_mixture_fit.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

/// Number of rows that are summed as one block, which makes the order of sums independent of the number of threads.
constexpr Index kRowsOfBlock = 256;

/// Rows with their weights; without weights, all are 1.
struct WeightedBits {
  Matrix<const double> rows;
  std::span<const double> weights = {};

  double weight(Index row) const { return weights.empty() ? 1 : weights[at(row)]; }
  double total() const {
    double sum = 0;
    for (const double weight : weights) sum += weight;
    return weights.empty() ? static_cast<double>(rows.rows) : sum;
  }
};

struct BitSums {
  double log_likelihood = 0;
  std::vector<double> counts, ones;  ///< [K], [K x n]
};

/// log p(y, k) = base_k + sum of slope_ki over the bits that are 1.
struct BitTables {
  Index components, bits;
  std::vector<double> base, slopes;

  BitTables(const BernoulliMixtureFit& mixture, Index n)
      : components(static_cast<Index>(mixture.weights.size())), bits(n), base(mixture.weights) {
    std::vector<double> ones = mixture.probabilities, zeros = mixture.probabilities;
    for (double& q : zeros) q = 1 - q;
    const auto take_logs = [](std::vector<double>& x) { vector_log(x.data(), x.data(), static_cast<Index>(x.size())); };
    take_logs(ones);
    take_logs(zeros);
    take_logs(base);
    slopes.resize(ones.size());
    for (std::size_t i = 0; i < ones.size(); ++i) slopes[i] = ones[i] - zeros[i];
    for (Index k = 0; k < components; ++k)
      for (Index i = 0; i < n; ++i) base[at(k)] += zeros[at(k * n + i)];
  }
  void joint(const double* y, std::vector<double>& log_p) const {
    log_p = base;
    for (Index k = 0; k < components; ++k)
      for (Index i = 0; i < bits; ++i)
        if (y[i] != 0) log_p[at(k)] += slopes[at(k * bits + i)];
  }
};

BitSums expect(const BitTables& tables, const WeightedBits& data, Team& team) {
  const Matrix<const double> rows = data.rows;
  const Index blocks = (rows.rows + kRowsOfBlock - 1) / kRowsOfBlock;
  std::vector<BitSums> sums(at(blocks));
  team.run([&](Member& me) {
    std::vector<double> share;
    const Range mine = me.share(blocks, 1);
    for (Index b = mine.begin; b < mine.end; ++b) {
      BitSums& sum = sums[at(b)];
      sum.counts.resize(at(tables.components));
      sum.ones.resize(tables.slopes.size());
      for (Index r = b * kRowsOfBlock; r < std::min(rows.rows, (b + 1) * kRowsOfBlock); ++r) {
        tables.joint(rows.row(r), share);
        const double total = log_sum_exp(share.data(), tables.components);
        for (double& x : share) x -= total;
        vector_exp(share.data(), share.data(), tables.components);
        sum.log_likelihood += data.weight(r) * total;
        for (Index k = 0; k < tables.components; ++k) {
          share[at(k)] *= data.weight(r);
          sum.counts[at(k)] += share[at(k)];
          for (Index i = 0; i < tables.bits; ++i)
            if (rows(r, i) != 0) sum.ones[at(k * tables.bits + i)] += share[at(k)];
        }
      }
    }
  });
  for (Index b = 1; b < blocks; ++b) {
    sums[0].log_likelihood += sums[at(b)].log_likelihood;
    for (std::size_t k = 0; k < sums[0].counts.size(); ++k) sums[0].counts[k] += sums[at(b)].counts[k];
    for (std::size_t i = 0; i < sums[0].ones.size(); ++i) sums[0].ones[i] += sums[at(b)].ones[i];
  }
  return std::move(sums[0]);
}

/// Returns the log prior density, up to a constant.
double log_prior_of(const BernoulliMixtureFit& mixture) {
  std::vector<double> logs = mixture.weights;
  for (const double q : mixture.probabilities) {
    logs.push_back(q);
    logs.push_back(1 - q);
  }
  vector_log(logs.data(), logs.data(), static_cast<Index>(logs.size()));
  double sum = 0;
  for (const double x : logs) sum += x;
  return kBitPrior * sum;
}

void maximize(const BitSums& sums, double rows, Index n, BernoulliMixtureFit& mixture) {
  const auto components = static_cast<Index>(mixture.weights.size());
  for (Index k = 0; k < components; ++k) {
    const double count = sums.counts[at(k)];
    mixture.weights[at(k)] = (count + kBitPrior) / (rows + kBitPrior * static_cast<double>(components));
    for (Index i = 0; i < n; ++i)
      mixture.probabilities[at(k * n + i)] = (sums.ones[at(k * n + i)] + kBitPrior) / (count + 2 * kBitPrior);
  }
}

/// Draws a row with probability proportional to its weight.
Index draw_row_of_bits(const WeightedBits& data, Random& random) {
  if (data.weights.empty()) return static_cast<Index>(random.below(static_cast<std::uint64_t>(data.rows.rows)));
  double left = random.uniform() * data.total();
  Index chosen = 0;
  while (chosen + 1 < data.rows.rows && (left -= data.weight(chosen)) >= 0) ++chosen;
  return chosen;
}

/// Returns components around rows that differ in many bits.
BernoulliMixtureFit scattered_bits(const WeightedBits& data, Index components, Random& random) {
  constexpr double kOfRow = 0.25;
  const Matrix<const double> rows = data.rows;
  const double total_weight = data.total();
  const Index n = rows.cols;
  std::vector<double> mean(at(n)), apart(at(rows.rows), std::numeric_limits<double>::infinity());
  for (Index r = 0; r < rows.rows; ++r)
    for (Index i = 0; i < n; ++i) mean[at(i)] += data.weight(r) * rows(r, i) / total_weight;
  BernoulliMixtureFit mixture{.weights = std::vector<double>(at(components), 1 / static_cast<double>(components)),
                              .probabilities = {}};
  Index chosen = draw_row_of_bits(data, random);
  for (Index k = 0; k < components; ++k) {
    for (Index i = 0; i < n; ++i) {
      const double q = (1 - kOfRow) * mean[at(i)] + kOfRow * rows(chosen, i) + random.uniform(0, 0.01);
      mixture.probabilities.push_back(std::clamp(q, 0.01, 0.99));
    }
    double total = 0;
    for (Index r = 0; r < rows.rows; ++r) {
      double differences = 0;
      for (Index i = 0; i < n; ++i) differences += rows(r, i) != rows(chosen, i) ? 1 : 0;
      apart[at(r)] = std::min(apart[at(r)], differences);
      total += data.weight(r) * apart[at(r)];
    }
    double left = random.uniform() * total;
    chosen = 0;
    while (chosen + 1 < rows.rows && (left -= data.weight(chosen) * apart[at(chosen)]) >= 0) ++chosen;
  }
  return mixture;
}

/// Runs at most `iterations`; stops when gains are small and shrink.
void climb_bits(BernoulliMixtureFit& mixture, const WeightedBits& data, Index iterations,
                const BernoulliMixtureFitOptions& options, Team& team) {
  const double total = data.total(), least = options.tolerance * total;
  const Index bits = data.rows.cols;
  double before = -std::numeric_limits<double>::infinity(), gained = std::numeric_limits<double>::infinity();
  for (mixture.iterations = 1;; ++mixture.iterations) {
    if (options.stop != nullptr && *options.stop) throw InterruptedError("interrupted");
    const BitSums sums = expect(BitTables(mixture, bits), data, team);
    mixture.log_likelihood = sums.log_likelihood;
    mixture.log_posterior = sums.log_likelihood + log_prior_of(mixture);
    const double gain = mixture.log_posterior - before;
    if (mixture.iterations > iterations || (gain < least && !(gain > gained))) return;
    before = mixture.log_posterior;
    gained = gain;
    maximize(sums, total, bits, mixture);
  }
}

}  // namespace

BernoulliMixtureFit fit_bernoulli_mixture(Matrix<const double> rows, Index components,
                                          const BernoulliMixtureFitOptions& options, Team& team) {
  constexpr Index kShort = 8, kLonger = 60, kOneOf = 3, kFewStarts = 12, kManyRows = 20'000;
  if (rows.rows == 0) throw UsageError("a mixture needs at least one row");
  const WeightedBits data{rows, options.weights};
  std::vector<BernoulliMixtureFit> fits;
  const auto keep_best = [&](Index count) {
    std::ranges::stable_sort(fits, std::greater(), &BernoulliMixtureFit::log_posterior);
    fits.erase(fits.begin() + std::min(count, static_cast<Index>(fits.size())), fits.end());
  };
  const bool many = rows.rows > kManyRows;
  const Index starts = components > 1 ? std::max(options.starts, options.restarts) : 1;
  // The ranking after a few iterations may differ from the ranking of the optima.
  const Index longer = many || starts < kFewStarts ? options.restarts : std::max(options.restarts, starts / kOneOf);
  for (Index s = 0; s < starts; ++s) {
    Random random(options.seed, stream_of("bernoulli-mixture") + static_cast<std::uint64_t>(s));
    fits.push_back(scattered_bits(data, components, random));
    climb_bits(fits.back(), data, kShort, options, team);
    keep_best(longer);
  }
  if (longer > options.restarts)
    for (BernoulliMixtureFit& fit : fits) climb_bits(fit, data, kLonger, options, team);
  keep_best(options.restarts);
  for (BernoulliMixtureFit& fit : fits) climb_bits(fit, data, options.iterations, options, team);
  keep_best(1);
  return std::move(fits.front());
}

std::vector<double> log_probabilities(const BernoulliMixtureFit& mixture, Matrix<const double> rows, Team& team) {
  const BitTables tables(mixture, rows.cols);
  std::vector<double> result(at(rows.rows));
  team.run([&](Member& me) {
    std::vector<double> joint;
    const Range mine = me.share(rows.rows, 1);
    for (Index r = mine.begin; r < mine.end; ++r) {
      tables.joint(rows.row(r), joint);
      result[at(r)] = log_sum_exp(joint.data(), tables.components);
    }
  });
  return result;
}

}  // namespace unfold
