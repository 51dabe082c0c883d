#pragma once
/// Selection of a distribution of vectors by cross-validation:
///
///   DensitySelection found = select_density(training, {.seed = 1}, team);
///   found.candidates.front().model        // "gaussian-mixture:3", the best
///
/// Candidates for numbers: mixtures of Gaussians with diagonal, with full and with pooled covariances, whose number of
/// components grows until the held-out likelihood falls twice in a row, and `rnade:50`. For bits: mixtures of
/// independent bits and `nade:100`. Candidates are compared by the mean negative log-likelihood of held-out rows, on
/// the same folds. Networks are compared on the first kNetworkFolds folds. At most kSelectionRows rows, spread evenly,
/// are read.
///
/// The cost is a function of the data alone: about 10 (D^2 + D) K operations for each row, component and iteration of
/// at most 70, and kNetworkRows rows of training for each fold of a network.

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "unfold/base/threads/team.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

inline constexpr Index kSelectionRows = 2000, kNetworkFolds = 3, kNetworkRows = 60'000;

struct DensitySelectionOptions {
  bool bits = false;  ///< the vectors are of bits, otherwise of numbers
  std::uint64_t seed = 1;
  const std::atomic<bool>* stop = nullptr;  ///< throws InterruptedError when set
  /// Called before each candidate.
  std::function<void(const std::string& model)> progress = {};
};

struct DensityCandidate {
  std::string model;         ///< SPEC
  std::vector<double> nats;  ///< nats per held-out row, for each fold that was tried, in units of the standardized data

  double mean() const;  ///< mean over the folds that were tried
};

/// The candidates, the best first.
struct DensitySelection {
  std::vector<DensityCandidate> candidates;
  Index rows = 0, folds = 0;

  /// "gaussian-mixture:3 (1.93 nats per held-out row), chosen from 14 models by 5-fold cross-validation on 150 rows;
  /// ...".
  std::string remark() const;
};

/// REQUIRES a set with the field `values`. Throws DataError for fewer than 4 rows and for missing vectors.
DensitySelection select_density(const ExampleSet& training, const DensitySelectionOptions& options, Team& team);

}  // namespace unfold
