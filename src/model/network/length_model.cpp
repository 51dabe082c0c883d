#include "model/network/length_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "numerics/functions.h"
#include "unfold/base/checks.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr const char *kGeometric = "geometric", *kPoisson = "poisson", *kNegativeBinomial = "negative-binomial",
                     *kTable = "table";
/// Upper limit of sampled lengths.
constexpr Index kLongestDrawn = 10'000'000;
constexpr Index kLongestTable = 1 << 20;

double natural_log(double x) {
  double result = x;
  vector_log(&result, &result, 1);
  return result;
}

/// Returns how often each length occurs, from 1 on: the sums of the weights, without which all are 1.
std::vector<double> counts_of(std::span<const Index> lengths, std::span<const double> weights) {
  std::vector<double> counts(at(*std::ranges::max_element(lengths)), 0.0);
  for (std::size_t i = 0; i < lengths.size(); ++i) counts[at(lengths[i] - 1)] += weights.empty() ? 1 : weights[i];
  return counts;
}

/// Returns the mean of T - 1, kept above 0 even if all lengths are 1.
double mean_minus_one(std::span<const Index> lengths, std::span<const double> weights) {
  double sum = 0, all = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const double weight = weights.empty() ? 1 : weights[i];
    sum += weight * static_cast<double>(lengths[i] - 1);
    all += weight;
  }
  return std::max(sum, 0.5) / all;
}

/// Returns ln(r (r + 1) ... (r + k - 1) / k!) for k = 0 ... most.
std::vector<double> log_rising(double r, Index most) {
  std::vector<double> logs(at(2 * most));
  for (Index i = 0; i < most; ++i) {
    logs[at(2 * i)] = r + static_cast<double>(i);
    logs[at(2 * i + 1)] = static_cast<double>(i + 1);
  }
  vector_log(logs.data(), logs.data(), 2 * most);
  std::vector<double> result(at(most) + 1, 0.0);
  for (Index i = 0; i < most; ++i) result[at(i) + 1] = result[at(i)] + logs[at(2 * i)] - logs[at(2 * i + 1)];
  return result;
}

/// Returns ln k! for k = 0 ... most.
std::vector<double> log_factorials(Index most) {
  std::vector<double> result(at(most) + 1, 0.0);
  for (std::size_t k = 1; k < result.size(); ++k) result[k] = static_cast<double>(k);
  if (most > 0) vector_log(result.data() + 1, result.data() + 1, most);
  for (std::size_t k = 1; k < result.size(); ++k) result[k] += result[k - 1];
  return result;
}

double log_negative_binomial(double rising, double r, double mean, double k) {
  return rising + r * natural_log(r / (r + mean)) + k * natural_log(mean / (r + mean));
}

/// Returns the maximum likelihood estimate of r, found by golden-section search over ln r.
double best_shape(std::span<const double> counts, double mean) {
  const auto value = [&](double log_r) {
    double r = log_r;
    vector_exp(&r, &r, 1);
    const std::vector<double> rising = log_rising(r, static_cast<Index>(counts.size()) - 1);
    double sum = 0;
    for (std::size_t k = 0; k < counts.size(); ++k)
      if (counts[k] > 0) sum += counts[k] * log_negative_binomial(rising[k], r, mean, static_cast<double>(k));
    return sum;
  };
  constexpr double kGolden = 0.6180339887498949, kLeast = -7, kMost = 14;
  constexpr int kSections = 60;
  double low = kLeast, high = kMost;
  double a = high - kGolden * (high - low), b = low + kGolden * (high - low), at_a = value(a), at_b = value(b);
  for (int i = 0; i < kSections; ++i) {
    if (at_a >= at_b) {
      high = b, b = a, at_b = at_a;
      a = high - kGolden * (high - low), at_a = value(a);
    } else {
      low = a, a = b, at_a = at_b;
      b = low + kGolden * (high - low), at_b = value(b);
    }
  }
  double r = (low + high) / 2;
  vector_exp(&r, &r, 1);
  return r;
}

}  // namespace

const std::vector<std::string>& LengthModel::kinds() {
  static const std::vector<std::string> list = {kGeometric, kPoisson, kNegativeBinomial, kTable};
  return list;
}

LengthModel LengthModel::fit(std::string_view kind, std::span<const Index> lengths, std::span<const double> weights) {
  if (std::ranges::find(kinds(), kind) == kinds().end())
    throw UsageError(fmt::format("unknown length model \"{}\"; use one of {}", kind, fmt::join(kinds(), ", ")));
  if (lengths.empty()) throw UsageError("a length model requires at least one length");
  if (!weights.empty()) require_length("length model: the weights", weights.size(), static_cast<Index>(lengths.size()));
  if (*std::ranges::min_element(lengths) < 1) throw UsageError("a length model does not support lengths below 1");
  const double mean = mean_minus_one(lengths, weights);
  if (kind == kGeometric) return {kGeometric, {1 / (1 + mean)}};
  if (kind == kPoisson) return {kPoisson, {mean}};
  if (*std::ranges::max_element(lengths) > kLongestTable)
    throw UsageError(fmt::format("a sequence has more than {} steps; use geometric or poisson lengths", kLongestTable));
  std::vector<double> counts = counts_of(lengths, weights);
  if (kind == kNegativeBinomial) return {kNegativeBinomial, {best_shape(counts, mean), mean}};
  return {kTable, std::move(counts)};
}

double LengthModel::log_of_table(Index length, double all) const {
  const auto longest = static_cast<Index>(parameters_.size());
  if (length <= longest) return natural_log((parameters_[at(length - 1)] + 1) / all);
  return natural_log(0.5) * static_cast<double>(length - longest) - natural_log(all);
}

std::vector<double> LengthModel::log_probabilities(Index last) const {
  std::vector<double> result(at(last));
  if (kind_ == kTable) {
    const double all =
        std::accumulate(parameters_.begin(), parameters_.end(), 0.0) + static_cast<double>(parameters_.size()) + 1;
    for (Index length = 1; length <= last; ++length) result[at(length - 1)] = log_of_table(length, all);
    return result;
  }
  // With T - 1 = k, the logarithm is the sum of a constant, k times a slope, and a term common to both count
  // distributions.
  const double p = parameters_.front(), mean = parameters_.back();
  const bool geometric = kind_ == kGeometric, poisson = kind_ == kPoisson;
  const double start = geometric ? natural_log(p) : poisson ? -mean : p * natural_log(p / (p + mean));
  const double slope = geometric ? natural_log(1 - p) : poisson ? natural_log(mean) : natural_log(mean / (p + mean));
  std::vector<double> sums(at(last), 0.0);
  if (poisson) sums = log_factorials(last - 1);
  if (!poisson && !geometric) sums = log_rising(p, last - 1);
  for (Index k = 0; k < last; ++k)
    result[at(k)] = start + slope * static_cast<double>(k) + (poisson ? -sums[at(k)] : sums[at(k)]);
  return result;
}

double LengthModel::log_probability(Index length) const {
  return length < 1 ? -std::numeric_limits<double>::infinity() : log_probabilities(length).back();
}

Index LengthModel::draw(Random& random) const {
  const double u = random.uniform();
  double sum = 0;
  Index seen = 0;
  for (Index last = 64; last <= kLongestDrawn; last *= 4) {
    std::vector<double> p = log_probabilities(last);
    vector_exp(p.data(), p.data(), last);
    for (; seen < last; ++seen) {
      sum += p[at(seen)];
      if (u < sum) return seen + 1;
    }
    constexpr double kNearlyAll = 1 - 1e-12;  // rounding can leave a remainder
    if (sum > kNearlyAll) return last;
  }
  return kLongestDrawn;
}

Index LengthModel::most_probable() const {
  // All distributions except tables have a single mode, which is not above their mean.
  const Index last =
      kind_ == kTable ? static_cast<Index>(parameters_.size()) : 2 + static_cast<Index>(parameters_.back());
  const std::vector<double> p = log_probabilities(last);
  return static_cast<Index>(std::ranges::max_element(p) - p.begin()) + 1;
}

nlohmann::json LengthModel::to_json() const { return {{"kind", kind_}, {"parameters", parameters_}}; }

LengthModel LengthModel::from_json(const nlohmann::json& json) {
  std::string kind;
  std::vector<double> parameters;
  try {
    kind = json.at("kind").get<std::string>();
    parameters = json.at("parameters").get<std::vector<double>>();
  } catch (const nlohmann::json::exception&) {
    throw ModelError("the length model in the card is invalid");
  }
  const bool known = std::ranges::find(kinds(), kind) != kinds().end();
  const std::size_t wanted = kind == kTable ? parameters.size() : kind == kNegativeBinomial ? 2 : 1;
  const bool fits = known && !parameters.empty() && parameters.size() == wanted &&
                    parameters.size() <= static_cast<std::size_t>(kLongestTable);
  const auto in_range = [&](double x) {
    return std::isfinite(x) && (kind == kTable ? x >= 0 : x > 0) && (kind != kGeometric || x < 1) && x <= 1e15;
  };
  if (!fits || !std::ranges::all_of(parameters, in_range))
    throw ModelError("the length model in the card has invalid parameters");
  return {std::move(kind), std::move(parameters)};
}

}  // namespace unfold
