#pragma once
/// Log probability of each example. An example is a table row for density models (model/network/density_model.h); for
/// other models it is, for instance, a piece of music, an image or a labeled sequence.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/common/reporter.h"
#include "unfold/base/types.h"

namespace unfold {

struct DensityRequest {
  std::string model = {};              ///< run folder or model file
  std::vector<std::string> data = {};  ///< files in the format of the training data
  bool json = false;
  Index threads = 0;             ///< 0: all available processors
  Reporter* reporter = nullptr;  ///< receives the notes of the reader
};

/// Writes a table in pieces with the columns `row` (from 1) and `log_density`, the natural logarithm of the probability
/// of everything the model predicts in that row; numbers with a density are in units of the data. If the model
/// standardizes numbers, the column `standardized` has the value for standardized data. JSON is one object {"rows",
/// "mean"}. Throws UsageError, DataError, ModelError.
void row_densities(const DensityRequest& request, const std::function<void(std::string_view)>& write);

}  // namespace unfold
