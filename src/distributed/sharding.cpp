#include "unfold/distributed/sharding.h"

#include <algorithm>

#include "distributed/shard_tree.h"

namespace unfold {

std::vector<std::vector<double>> Sharding::gather(std::span<const double> mine, Index most) const {
  constexpr std::size_t kNotices = 2;
  const std::size_t width = kNotices + static_cast<std::size_t>(most);
  std::vector<double> given(width), of_all(width * static_cast<std::size_t>(all().count()));
  if (notices != nullptr) {
    given[0] = notices->clock ? notices->clock() : 0;
    given[1] = notices->stop != nullptr && notices->stop->load(std::memory_order_relaxed) ? 1 : 0;
  }
  std::ranges::copy(mine, given.begin() + kNotices);
  all().gather_bytes(std::as_bytes(std::span(given)), std::as_writable_bytes(std::span(of_all)));
  if (notices != nullptr) {
    notices->time = of_all[0];
    notices->stopped = false;
  }
  std::vector<std::vector<double>> result;
  for (auto from = of_all.cbegin(); from != of_all.cend(); from += static_cast<std::ptrdiff_t>(width)) {
    if (notices != nullptr) notices->stopped = notices->stopped || from[1] > 0;
    result.emplace_back(from + kNotices, from + static_cast<std::ptrdiff_t>(width));
  }
  return result;
}

Index Sharding::most_shards() const {
  Index most = 0;
  for (int p = 0; p < all().count(); ++p) most = std::max(most, of(p).size());
  return most;
}

double Sharding::sum_of(const std::vector<std::vector<double>>& gathered) const {
  std::vector<double> of_shards;
  of_shards.reserve(static_cast<std::size_t>(shards));
  for (int p = 0; p < all().count(); ++p) {
    const auto& numbers = gathered[static_cast<std::size_t>(p)];
    of_shards.insert(of_shards.end(), numbers.begin(), numbers.begin() + of(p).size());
  }
  return sum_in_tree(of_shards);
}

double Sharding::sum(std::span<const double> own_numbers) const {
  return all().alone() ? sum_in_tree(own_numbers) : sum_of(gather(own_numbers, most_shards()));
}

}  // namespace unfold
