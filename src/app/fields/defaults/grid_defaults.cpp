#include "app/fields/defaults/grid_defaults.h"
#include "app/fields/field_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Returns the block side that leaves at most ten positions per axis for images of up to 80 x 80 pixels.
Index patch_for(const Examples& examples) {
  constexpr Index kPositions = 10, kLargest = 8;
  Index most = 1;
  for (const auto& [height, width] : examples.shapes) most = std::max({most, height, width});
  return std::min((most + kPositions - 1) / kPositions, kLargest);
}

}  // namespace

void set_grid_defaults(Problem problem, const Examples& examples, const Given& given, TrainSettings& s) {
  constexpr double kGrids = 600'000, kPositions = 12'000'000, kFewest = 8, kMost = 60;
  const auto settle = [&](auto member, auto value) {
    if (!given.contains(member)) s.*member = value;
  };
  const bool whole = problem == Problem::classifying;
  settle(&TrainSettings::model,
         whole ? fmt::format("grid-lstm:16,layers=2,patch={}+2", patch_for(examples)) : "grid-lstm:16");
  settle(&TrainSettings::optimizer,
         fmt::format("adam:rate={},clip=1,schedule=cosine,warmup=100", whole ? 0.004 : 0.003));
  settle(&TrainSettings::batch, Index{whole ? 32 : 8});
  if (!s.epochs && !s.steps && !s.minutes) {
    const double read =
        whole ? kGrids / static_cast<double>(examples.count()) : kPositions / static_cast<double>(examples.positions());
    s.epochs = std::clamp(std::round(read), kFewest, kMost);
  }
  if (given.contains(&TrainSettings::window)) throw UsageError("grids are read as a whole; leave out --window");
  if (s.ahead.value_or(0) > 0) throw UsageError("positions of a grid have no order; leave out --ahead");
  if (!given.contains(&TrainSettings::whole_sequences)) s.whole_sequences = true;
}

}  // namespace unfold
