#pragma once
/// The paired bootstrap (Efron & Tibshirani 1993, chapter 13). It compares two predictors of the same symbols: from the
/// differences of their code lengths in blocks, it estimates a confidence interval of the mean difference and the
/// probability of a difference of the opposite sign in resampled blocks.

#include <cstdint>
#include <span>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// The sum of the differences in one block, and its number of symbols.
struct DifferenceBlock {
  double sum = 0;
  Index count = 0;
};

struct PairedDifference {
  double mean = 0;           ///< mean difference per symbol, over all blocks
  double low = 0, high = 0;  ///< confidence interval at the requested level
  double probability = 1;    ///< two-sided p-value: twice the fraction (1 + k) / (1 + samples), where k samples have a
                             ///< mean on the other side of 0; at most 1, and never 0 (Davison & Hinkley 1997, 4.2)
  Index blocks = 0, samples = 0;
  bool differs() const { return low > 0 || high < 0; }
};

/// Returns the mean difference per symbol with the interval between the quantiles (1 - level) / 2 and (1 + level) / 2
/// of `samples` bootstrap means. Each is the mean of as many blocks as there are, drawn with replacement. Deviations
/// from the mean are scaled by sqrt(n / (n - 1)), which makes the variance unbiased for few blocks. The result is a
/// function of (blocks, samples, level, seed). Throws UsageError for fewer than two blocks, no symbols, a level outside
/// (0, 1), or fewer than one sample.
PairedDifference paired_bootstrap(std::span<const DifferenceBlock> blocks, Index samples, double level,
                                  std::uint64_t seed);

/// Divides a sequence of differences into blocks of `length`. The last block may be shorter, down to half the length; a
/// shorter remainder is merged into the previous block. NaN marks positions that are not counted as symbols.
std::vector<DifferenceBlock> cut_into_blocks(std::span<const double> differences, Index length);

}  // namespace unfold
