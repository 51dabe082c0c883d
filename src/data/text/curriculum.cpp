#include "unfold/data/text/curriculum.h"

#include <fmt/format.h>

#include "unfold/base/error.h"

namespace unfold {

std::vector<Curriculum::Pass> Curriculum::passes(Index epoch, Index longest) const {
  constexpr Index kMostPasses = 10'000;
  if (step < 0) throw UsageError(fmt::format("curriculum {}: must be 0 or more positions", step));
  if (!on()) return {Pass{}};
  if (!each_epoch) return {Pass{.most = step * (epoch + 1)}};
  const Index count = longest > 0 ? (longest + step - 1) / step : 1;
  if (count > kMostPasses)
    throw UsageError(
        fmt::format("curriculum {0}: an epoch would read prefixes of {1} lengths, because the longest sequence has {2} "
                    "positions; use a curriculum of at least {3}",
                    step, count, longest, (longest + kMostPasses - 1) / kMostPasses));
  std::vector<Pass> result;
  result.reserve(static_cast<std::size_t>(count));
  for (Index k = 0; k < count; ++k) result.push_back({.more_than = k == 0 ? -1 : k * step, .most = (k + 1) * step});
  return result;
}

bool Curriculum::shortens(Index epoch, Index longest) const {
  return on() && (each_epoch ? epoch == 0 && longest > step : longest > step * (epoch + 1));
}

}  // namespace unfold
