#include "model/context_mixing/bit_histories.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "numerics/functions.h"

namespace unfold {
namespace {

constexpr double kSpan = 8.5, kPerUnit = 30;  // logits from -kSpan on, in steps of 1 / kPerUnit
constexpr int kMostEstimate = 511, kFraction = 64;
constexpr std::uint16_t kEstimated = 0x8000;
/// The fraction of the error by which an estimate moves, for each level of confidence.
constexpr std::array<double, 4> kEstimateSteps = {1 / 12.0, 1 / 22.0, 1 / 45.0, 1 / 110.0};

double probability_at(double place) {
  double x = place / kPerUnit - kSpan;
  vector_sigmoid(&x, &x, 1);
  return x;
}

/// Returns the logit of p in units of the estimate, clipped to its range.
double position_in_total(double p) {
  std::array<double, 2> logs = {p, 1 - p};
  vector_log(logs.data(), logs.data(), 2);
  return std::clamp((logs[0] - logs[1] + kSpan) * kPerUnit, 0.0, static_cast<double>(kMostEstimate));
}

std::uint16_t rounded_up_from_half(double x) { return static_cast<std::uint16_t>(std::floor(x + 0.5)); }

}  // namespace

const BitHistories& BitHistories::tables() {
  static const BitHistories tables;
  return tables;
}

BitHistories::BitHistories() {
  for (std::uint32_t h = 0; h < kExact; ++h) {
    const std::uint32_t history = std::max(h, 1U);
    const int seen = static_cast<int>(std::bit_width(history)) - 1;
    double p = 0.5;
    for (int i = 0; i < seen; ++i) p += ((history >> (seen - 1 - i) & 1) - p) / (i + 1.5);
    exact_[h] = p;
    for (std::uint32_t bit = 0; bit < 2; ++bit) {
      const std::uint32_t longer = 2 * history + bit;
      const std::uint32_t place = rounded_up_from_half(position_in_total(p + (bit - p) / (seen + 1.5)));
      next_[bit][h] = static_cast<std::uint16_t>(longer < kExact ? longer : kEstimated | place << 6 | (longer & 15));
    }
  }
  for (std::uint32_t e = 0; e < kEstimates; ++e)
    for (std::uint32_t trust = 0; trust < kTrusts; ++trust)
      for (std::uint32_t bit = 0; bit < 2; ++bit) {
        const double p = probability_at(e), moved = position_in_total(p + (bit - p) * kEstimateSteps[trust]);
        next_[bit][kExact + e * kTrusts + trust] = kEstimated + rounded_up_from_half(kFraction * moved);
      }
}

double BitHistories::initial_probability(std::size_t cell) const {
  if (cell < kExact) return exact_[cell];
  const std::size_t middle = (cell - kExact) / 16 * 16 + 8;
  return probability_at(static_cast<double>(middle));
}

HistoryTable::HistoryTable(std::size_t bytes)
    : lines_(std::clamp<std::size_t>(bytes / (kLine * sizeof(HistoryRow)), 1, std::size_t{1} << 32)),
      rows_(lines_ * kLine) {}

HistoryRow* HistoryTable::create(std::uint64_t key) {
  HistoryRow* const rows = line(key);
  HistoryRow* least = rows;
  for (std::size_t i = 1; i < kLine; ++i)
    if ((rows[i].mark & kUse) < (least->mark & kUse)) least = rows + i;
  if ((least->mark & kUse) != 0)  // no row is free: decrease the use counts
    for (std::size_t i = 0; i < kLine; ++i)
      if ((rows[i].mark & kUse) != 0) --rows[i].mark;
  *least = HistoryRow();
  least->mark = static_cast<std::uint16_t>(check(key) << 4 | 1);
  return least;
}

}  // namespace unfold
