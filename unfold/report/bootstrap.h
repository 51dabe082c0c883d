#pragma once
/// The paired bootstrap: two ways to predict the same symbols, of which each block has a difference of costs; is the
/// one better, or could blocks drawn anew from these have said the opposite? Efron & Tibshirani 1993, chapter 13.

#include <cstdint>
#include <span>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// One block: the sum of the differences of its symbols, and how many there are.
struct DifferenceBlock {
  double sum = 0;
  Index count = 0;
};

struct PairedDifference {
  double mean = 0;           ///< per symbol, over all blocks
  double low = 0, high = 0;  ///< the interval of the level asked for
  double probability = 1;    ///< two-sided: how often samples put the mean on the other side of 0, twice, at most 1;
                             ///< of (1 + so many) in (1 + samples), thus never 0 (Davison & Hinkley 1997, 4.2)
  Index blocks = 0, samples = 0;
  bool differs() const { return low > 0 || high < 0; }
};

/// The mean per symbol with the interval between the quantiles (1 - level) / 2 and (1 + level) / 2 of `samples` means,
/// each of as many blocks drawn with replacement. The deviations are widened by sqrt(n / (n - 1)), which makes the
/// variance of few blocks unbiased. A function of (blocks, samples, level, seed). Throws UsageError: fewer than two
/// blocks, no symbols, a level outside (0, 1), fewer than one sample.
PairedDifference paired_bootstrap(std::span<const DifferenceBlock> blocks, Index samples, double level,
                                  std::uint64_t seed);

/// Differences in order, cut into blocks of `length` each; the last one may be shorter, down to half of it: what is
/// shorter joins the one before. NaN: no symbol there.
std::vector<DifferenceBlock> cut_into_blocks(std::span<const double> differences, Index length);

}  // namespace unfold
