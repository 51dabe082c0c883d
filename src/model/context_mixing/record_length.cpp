#include "model/context_mixing/record_length.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace unfold {
namespace {

/// Counts the bytes from `distance` to the end that differ from the previous byte and match the one `distance` bytes
/// back.
std::uint32_t count_repeated(const std::uint8_t* s, const std::uint8_t* changed, std::size_t distance,
                             std::size_t end) {
  constexpr std::size_t kLanes = 32, kMostRounds = 255;  // maximum number of increments of a byte counter
  std::uint32_t count = 0;
  std::size_t i = distance;
  while (i + kLanes <= end) {
    std::array<std::uint8_t, kLanes> counts{};
    for (std::size_t round = 0; round < kMostRounds && i + kLanes <= end; ++round, i += kLanes)
      for (std::size_t k = 0; k < kLanes; ++k)
        counts[k] = static_cast<std::uint8_t>(counts[k] + (changed[i + k] & (s[i + k] == s[i + k - distance] ? 1 : 0)));
    count = std::accumulate(counts.begin(), counts.end(), count);
  }
  for (; i < end; ++i) count += changed[i] & (s[i] == s[i - distance] ? 1U : 0U);
  return count;
}

}  // namespace

Index find_row(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t kLooked = 1 << 17, kLongest = 2048;
  constexpr double kAboveUsual = 0.05, kNearlyBest = 0.85;
  const std::span<const std::uint8_t> s = bytes.first(std::min(bytes.size(), kLooked));
  std::vector<std::uint8_t> changed(s.size());  // 1: differs from the previous byte
  for (std::size_t i = 1; i < s.size(); ++i) changed[i] = s[i] != s[i - 1] ? 1 : 0;
  std::uint32_t all = std::accumulate(changed.begin(), changed.end(), 0U);
  std::vector<double> repeated;  // fraction of the changed bytes that repeat, by distance minus 2
  for (std::size_t d = 2; d <= std::min(kLongest, s.size() / 4); ++d) {
    all -= changed[d - 1];
    const std::uint32_t same = count_repeated(s.data(), changed.data(), d, s.size());
    repeated.push_back(static_cast<double>(same) / std::max(all, 1U));
  }
  if (repeated.empty()) return 0;
  std::vector<double> sorted = repeated;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
  const double usual = sorted[sorted.size() / 2];
  const double best = *std::max_element(repeated.begin(), repeated.end());
  if (best - usual < kAboveUsual) return 0;
  for (std::size_t i = 0;; ++i)
    if (repeated[i] - usual >= kNearlyBest * (best - usual)) return static_cast<Index>(i) + 2;
}

}  // namespace unfold
