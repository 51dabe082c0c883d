#include "data/schema/inference/serial_dependence.h"

#include <algorithm>
#include <cmath>

#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr Index kFewestComparisons = 8;
/// Thresholds for the distance of the share of comparisons from one half, in standard deviations.
constexpr double kDeviations = 2.4, kStrictDeviations = 2.8, kResidualDeviations = 3.2;
constexpr double kLeastEffect = 0.06, kLeastPeriodicEffect = 0.25;
constexpr std::size_t kMostRuns = 256;

}  // namespace

void SerialDependence::add(std::uint64_t hash, double number) {
  if (rows_ > 0) {
    const Entry& before = earlier(1);
    if (!std::isnan(number) && !std::isnan(before.number)) {
      ascends_ = ascends_ && number >= before.number;
      descends_ = descends_ && number <= before.number;
    }
    changes_ += hash != before.hash ? 1 : 0;
    if (hash != 0 && hash != before.hash) add_run(hash);
    if (hash != 0 && before.hash != 0) compare({hash, number});
  } else if (hash != 0) {
    add_run(hash);
  }
  last_[static_cast<std::size_t>(rows_) % kKept] = {hash, number};
  ++rows_;
}

void SerialDependence::compare(const Entry& entry) {
  const Entry& before = earlier(1);
  const double near = std::abs(entry.number - before.number);
  for (std::size_t i = 0; i < kLags.size() && static_cast<std::size_t>(rows_) >= kLags[i]; ++i) {
    const Entry& other = earlier(kLags[i]);
    if (other.hash == 0) continue;
    const double far = std::abs(entry.number - other.number);
    if (!std::isnan(near) && !std::isnan(far)) {
      ++values_[i].count;
      values_[i].nearer += near < far ? 1 : near == far ? 0.5 : 0;
    }
    if ((entry.hash == before.hash) != (entry.hash == other.hash)) {
      ++equalities_[i].count;
      equalities_[i].nearer += entry.hash == before.hash ? 1 : 0;
    }
  }
}

void SerialDependence::add_run(std::uint64_t hash) {
  if (!one_run_each_) return;
  one_run_each_ = runs_.size() < kMostRuns && std::ranges::find(runs_, hash) == runs_.end();
  if (one_run_each_)
    runs_.push_back(hash);
  else
    runs_.clear();
}

bool SerialDependence::depends(const Options& options) const {
  const double deviations = options.residuals  ? kResidualDeviations
                            : options.strictly ? kStrictDeviations
                                               : kDeviations;
  for (std::size_t i = 0; i < (options.trend ? 1 : kLags.size()); ++i) {
    const Comparisons& all = options.numbers ? values_[i] : equalities_[i];
    if (all.count < kFewestComparisons) continue;
    const auto count = static_cast<double>(all.count);
    const double effect = all.nearer / count - 0.5;
    const double crossing = std::min(1.0, static_cast<double>(options.borders) * static_cast<double>(kLags[i]) / count);
    const double nearer = effect - crossing / 2;
    const double deviation = 1 / (2 * std::sqrt(count));
    if (nearer > std::max(kLeastEffect, deviations * deviation)) return true;
    if (-effect > std::max(kLeastPeriodicEffect, deviations * deviation)) return true;
  }
  return false;
}

}  // namespace unfold
