#pragma once
/// The logarithm of the probability of every example: of a distribution of vectors (models/density_model.h) every row
/// of a table, of others a piece of music, an image, a labelled sequence.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"
#include "unfold/runs/reporter.h"

namespace unfold {

struct DensityRequest {
  std::string model = {};              ///< run folder or model file
  std::vector<std::string> data = {};  ///< files in the format that it was trained on
  bool json = false;
  Index threads = 0;             ///< 0: every processor available
  Reporter* reporter = nullptr;  ///< told what the reader remarks
};

/// Gives a table piece by piece: `row` (from 1), `log_density`, the natural logarithm of the probability of all that
/// the model predicts there, of numbers of a density in units of the data; and where the model standardises numbers
/// `standardised`, that of standardised data. JSON: one object {"rows", "mean"}. Throws UsageError, DataError,
/// ModelError.
void row_densities(const DensityRequest& request, const std::function<void(std::string_view)>& write);

}  // namespace unfold
