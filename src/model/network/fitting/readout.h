#pragma once
/// Fits the readout of a network and leaves everything below it unchanged, as in echo state networks. Numbers: by ridge
/// regression in one pass (train/ridge.h); classes: train/softmax_regression.h. If the inputs of the readout contain
/// the current value of the predicted field itself, as those of an autoregression do, the difference from that value is
/// fitted, on standardized inputs; a large lambda then leads to persistence. Weights of examples
/// (data/text/example_weights.h) multiply the squared residuals of numbers; classes do not support them.

#include <optional>

#include "train/ridge.h"
#include "unfold/data/text/batch.h"
#include "unfold/graph/circuit/parameters.h"
#include "unfold/model/network/spec.h"

namespace unfold {

struct ReadoutOptions {
  double lambda = 0;  ///< 0: selected automatically (RidgeOptions)
  Index blocks = 0;   ///< blocks for cross-validation; 0: generalized cross-validation
  Index washout = 0;  ///< positions at the beginning of every sequence that are ignored; kWashoutByLength: to be set
};

struct ReadoutFit {
  Index positions = 0;                 ///< positions read
  Index fitted = 0;                    ///< rows of the regression
  double lambda = 0, mean_square = 0;  ///< see RidgeFit; mean_square is per predicted number
};

inline constexpr Index kWashoutByLength = -1;  ///< value of EsnOptions::washout

/// Returns a tenth of the median length of the sequences of a reader, at most 100. Reads it to its end.
Index washout_by_length(BatchReader& reader);

/// Returns the signal s of a standard deviation d with the given square, within its range: log d = 10 tanh(s / 10)
/// (loss/deviation.h).
double deviation_signal(double mean_square);

/// Returns the readout options of a SPEC if the readout is to be fitted; empty if all parameters are trained.
std::optional<ReadoutOptions> readout_of(const ModelSpec& spec);

/// Sets the affine maps of the heads by ridge regression (gaussian, normal), or for softmax by logistic regression in
/// several passes; the reader must then start again after its end (RepeatedReader). `normal` also gets the standard
/// deviation of held-out residuals. Throws UsageError for other losses, for maps with terms that are not matrices, for
/// pairs of sequences and above 1,000 classes. Throws DataError like RidgeSums::solve.
/// REQUIRES options.washout >= 0.
template <class T>
ReadoutFit fit_readout(const Network<T>& network, Parameters<T>& parameters, BatchReader& reader, Team& team,
                       const ReadoutOptions& options);

}  // namespace unfold
