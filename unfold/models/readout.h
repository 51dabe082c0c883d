#pragma once
/// Fits the readout of a network, everything below it staying as it is: of echo state networks, by ridge regression in
/// one pass over the data (training/ridge.h).

#include <optional>

#include "unfold/circuit/parameters.h"
#include "unfold/data/batch.h"
#include "unfold/models/spec.h"
#include "unfold/training/ridge.h"

namespace unfold {

struct ReadoutOptions {
  double lambda = 0;  ///< 0: chosen (RidgeOptions)
  Index blocks = 0;   ///< left out in turn to choose it; 0: generalised cross-validation
  Index washout = 0;  ///< positions at the begin of every sequence that do not count
};

struct ReadoutFit {
  Index positions = 0;                 ///< that were read
  Index fitted = 0;                    ///< rows of the regression
  double lambda = 0, mean_square = 0;  ///< as RidgeFit; per number predicted
};

/// What a SPEC says of it, where its readout is to be fitted; nothing where everything is trained.
std::optional<ReadoutOptions> readout_of(const ModelSpec& spec);

/// Sets the weights and biases of the heads' affine maps. All batches of the reader are read once, in their order;
/// memory does not grow with their number. A head with the loss `normal` gets the deviation of the residuals, too, the
/// same at every position. Throws UsageError: a head that predicts no numbers by gaussian or normal, or whose map has
/// terms that are no matrices; DataError as RidgeSums::solve.
template <class T>
ReadoutFit fit_readout(const Network<T>& network, Parameters<T>& parameters, BatchReader& reader, Team& team,
                       const ReadoutOptions& options);

}  // namespace unfold
