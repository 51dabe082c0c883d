#include "model/logs/tail_calibration.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "model/logs/log_json.h"
#include "model/logs/log_math.h"

namespace unfold {
namespace {

constexpr double kPriorExcess = 1 / kNatsPerBit;  // mean excess of a score that is - log2 of a p-value
constexpr double kPriorScores = 4;

}  // namespace

int TailCalibration::bin_of(double bits) {
  return static_cast<int>(std::clamp(bits * kPerBit, 0.0, static_cast<double>(kBins - 1)));
}

void TailCalibration::add_to(int bin, Index count) {
  for (int i = kBins - bin; i <= kBins; i += i & -i) {
    counts_[static_cast<std::size_t>(i)] += count;
    sums_[static_cast<std::size_t>(i)] += count * bin;
  }
  scores_ += count;
}

void TailCalibration::add(double bits) { add_to(bin_of(bits), 1); }

Index TailCalibration::reaching(int bin) const {
  Index count = 0;
  for (int i = kBins - bin; i > 0; i -= i & -i) count += counts_[static_cast<std::size_t>(i)];
  return count;
}

Index TailCalibration::sixteenths_from(int bin) const {
  Index sum = 0;
  for (int i = kBins - bin; i > 0; i -= i & -i) sum += sums_[static_cast<std::size_t>(i)];
  return sum;
}

int TailCalibration::tail_bin() const {
  Index at = 0, before = 0;
  for (Index step = kBins; step > 0; step /= 2)
    if (at + step <= kBins && before + counts_[static_cast<std::size_t>(at + step)] < kTailScores) {
      at += step;
      before += counts_[static_cast<std::size_t>(at)];
    }
  return static_cast<int>(std::max<Index>(kBins - 1 - at, 0));
}

double TailCalibration::p_bits(double bits) const {
  if (scores_ == 0) return std::max(bits, 0.0);
  const int bin = bin_of(bits), last = tail_bin();
  if (bin <= last) return log2_of(static_cast<double>(scores_ + 1)) - log2_of(static_cast<double>(reaching(bin) + 1));
  const Index k = reaching(last);
  const double excess = static_cast<double>(sixteenths_from(last) - k * last) / kPerBit;
  const double mean =
      std::max(kPriorExcess, (excess + kPriorScores * kPriorExcess) / (static_cast<double>(k) + kPriorScores));
  const double beyond = bits - static_cast<double>(last) / kPerBit;
  return log2_of(static_cast<double>(scores_ + 1)) - log2_of(static_cast<double>(k + 1)) + beyond / mean / kNatsPerBit;
}

double TailCalibration::threshold(double share) const {
  const double wanted = -log2_of(share);
  double low = 0, high = 4096;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (p_bits(middle) < wanted ? low : high) = middle;
  }
  return high;
}

nlohmann::json TailCalibration::to_json() const {
  std::vector<Index> bins, counts;
  for (int bin = 0; bin < kBins; ++bin) {
    const Index count = reaching(bin) - (bin + 1 < kBins ? reaching(bin + 1) : 0);
    if (count == 0) continue;
    bins.push_back(bin);
    counts.push_back(count);
  }
  return {{"bins", bins}, {"counts", counts}};
}

TailCalibration TailCalibration::from_json(const nlohmann::json& json) {
  TailCalibration tail;
  const std::vector<Index> bins = log_counts(json, "bins"), counts = log_counts(json, "counts");
  if (bins.size() != counts.size()) refuse_log_model("the calibration is inconsistent");
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (bins[i] >= kBins) refuse_log_model("the calibration is inconsistent");
    tail.add_to(static_cast<int>(bins[i]), counts[i]);
  }
  return tail;
}

}  // namespace unfold
