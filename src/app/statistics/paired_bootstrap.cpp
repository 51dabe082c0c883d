#include "app/statistics/paired_bootstrap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

DifferenceBlock total_of(std::span<const DifferenceBlock> blocks) {
  DifferenceBlock total;
  for (const DifferenceBlock& block : blocks) {
    total.sum += block.sum;
    total.count += block.count;
  }
  return total;
}

/// Returns the quantile q of sorted values, by linear interpolation.
double share_of(const std::vector<double>& sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

PairedDifference paired_bootstrap(std::span<const DifferenceBlock> blocks, Index samples, double level,
                                  std::uint64_t seed) {
  if (blocks.size() < 2)
    throw UsageError("there are fewer than two blocks to compare; use more data or shorter blocks");
  if (!(level > 0 && level < 1))
    throw UsageError(fmt::format("the confidence level {} must be between 0 and 1, for example 0.95", level));
  if (samples < 1)
    throw UsageError(fmt::format("the number of bootstrap samples is {}, but must be at least 1", samples));
  const DifferenceBlock total = total_of(blocks);
  if (total.count == 0) throw UsageError("none of the compared symbols is predicted, so there is nothing to compare");
  const auto n = static_cast<double>(blocks.size());
  PairedDifference result{.mean = total.sum / static_cast<double>(total.count)};
  const double widen = std::sqrt(n / (n - 1));
  Random random(seed, "bootstrap");
  std::vector<double> means;
  means.reserve(at(samples));
  Index positive = 0, negative = 0;
  for (Index s = 0; s < samples; ++s) {
    DifferenceBlock drawn;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const DifferenceBlock& block = blocks[random.below(blocks.size())];
      drawn.sum += block.sum;
      drawn.count += block.count;
    }
    const double mean = drawn.count > 0 ? drawn.sum / static_cast<double>(drawn.count) : result.mean;
    means.push_back(result.mean + widen * (mean - result.mean));
    if (means.back() >= 0) ++positive;
    if (means.back() <= 0) ++negative;
  }
  std::ranges::sort(means);
  result.low = share_of(means, (1 - level) / 2);
  result.high = share_of(means, (1 + level) / 2);
  // Adding one sample on the other side of 0 keeps the estimate positive: no finite number of samples proves
  // probability 0.
  result.probability =
      std::min(1.0, 2 * static_cast<double>(1 + std::min(positive, negative)) / static_cast<double>(1 + samples));
  result.blocks = static_cast<Index>(blocks.size());
  result.samples = samples;
  return result;
}

std::vector<DifferenceBlock> cut_into_blocks(std::span<const double> differences, Index length) {
  if (length < 1) throw UsageError(fmt::format("the length of a block is {}, but must be at least 1", length));
  std::vector<DifferenceBlock> blocks;
  DifferenceBlock open;
  for (const double difference : differences) {
    if (std::isnan(difference)) continue;
    open.sum += difference;
    if (++open.count < length) continue;
    blocks.push_back(open);
    open = {};
  }
  if (open.count == 0) return blocks;
  if (blocks.empty() || 2 * open.count >= length) {
    blocks.push_back(open);
  } else {
    blocks.back().sum += open.sum;
    blocks.back().count += open.count;
  }
  return blocks;
}

}  // namespace unfold
