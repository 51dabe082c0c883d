#pragma once
/// Samples of grids from models that predict every position from the positions before it, row by row: images pixel by
/// pixel, or texts whose lines are aligned (train --predict pixels).
///
///   sample_grids({.model = "digits", .height = 28, .width = 28, .count = 4, .seed = 7})

#include <string>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

struct GridSampleRequest {
  std::string model;  ///< run folder or model file
  Index height = 0, width = 0;
  Index count = 1;
  std::uint64_t seed = 1;
  Index threads = 0;  ///< 0: all available processors
};

struct SampledGrid {
  std::string field;  ///< the field that is drawn
  Index height = 0, width = 0;
  std::vector<std::string> texts = {};  ///< of symbols: one per position, row by row; otherwise empty
  std::vector<double> values = {};      ///< of numbers: [positions x size], in units of the data
  double nats = 0;                      ///< -ln of the probability or density
};

/// Returns whether the model in a run folder or file predicts a field over grids that it also reads. Throws ModelError.
bool generates_grids(const std::string& model);

/// Draws grids one position after another. For every position, the network runs again over the rows up to this
/// position. A grid depends only on the seed and its index. Throws UsageError for a size or a model that cannot be
/// sampled, and ModelError for a value that is not finite.
std::vector<SampledGrid> sample_grids(const GridSampleRequest& request);

}  // namespace unfold
