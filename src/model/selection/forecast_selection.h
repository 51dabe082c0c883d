#pragma once
/// Selection of a model that predicts the following values of numeric series, by the squared error on held-out values:
///
///   std::vector<ForecastCandidate> candidates = forecast_candidates(training, layout, options);
///   ForecastSelection found = select_forecast_model<float>(training, held_out, layout, candidates, options, team, {});
///   found.chosen().model                                     // SPEC; and chosen().reads: the fields that it reads
///
/// Candidates are linear autoregressions (graph/cells/autoregression.h), an echo state network and recurrent networks
/// that are trained by gradients. The first two read only the past of the predicted fields; autoregressions that read
/// the past of all fields are additional candidates. They are divided into kinds, from simple to complex; the simplest
/// kind is chosen whose best candidate is not worse than the best of all by more than two standard errors of the
/// difference. The budget counts operations, never time, so the selection is the same on every machine.

#include <atomic>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "unfold/base/threads/team.h"
#include "unfold/data/examples/example_batches.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_body.h"

namespace unfold {

/// The most complex kind last.
enum class ForecastKind { linear, reservoir, network };

struct ForecastCandidate {
  std::string model;               ///< SPEC
  std::vector<std::string> reads;  ///< NetworkLayout::reads
  ForecastKind kind = ForecastKind::linear;
  double epochs = 0;        ///< for a network: number of epochs of the final training
  double trial_epochs = 0;  ///< for a network: number of epochs in the comparison, within the budget; 0: the budget is
                            ///< too small
  double operations = 0;    ///< estimated number of operations of the comparison
  bool tried = false;
  std::string failure = {};                                ///< reason why a candidate that was tried has no error
  double error = std::numeric_limits<double>::infinity();  ///< mean squared error of the held-out, standardized values
};

struct ForecastSelectionOptions {
  std::uint64_t seed = 1;
  double budget = 4e11;  ///< operations, for all candidates
  Index ahead = 1;       ///< distance of the predicted value from the last one that is read
  /// How networks are trained: the default network, its optimizer and epochs.
  std::string network = {}, optimizer = {};
  double epochs = 0;
  Index batch = 16, window = 0;
  const std::atomic<bool>* stop = nullptr;  ///< interrupts training if set
};

struct ForecastSelection {
  std::vector<ForecastCandidate> candidates = {};
  std::size_t best = 0;    ///< the chosen candidate
  double persistence = 0;  ///< mean squared error of forecasting the last known value; NaN if no such value is known
  const ForecastCandidate& chosen() const { return candidates[best]; }
};

/// Returns the candidates for a training set, the simplest ones first. REQUIRES: all heads predict numbers at every
/// position.
std::vector<ForecastCandidate> forecast_candidates(const ExampleSet& training, const NetworkLayout& layout,
                                                   const ForecastSelectionOptions& options);
/// Fits the candidates that the budget allows, in order, and chooses one of them. `progress` is called before each.
/// The result has no candidates if the budget allows none or if none has a finite error. Throws InterruptedError.
template <class T>
ForecastSelection select_forecast_model(const ExampleSet& training, const ExampleSet& held_out,
                                        const NetworkLayout& layout, std::vector<ForecastCandidate> candidates,
                                        const ForecastSelectionOptions& options, Team& team,
                                        const std::function<void(const ForecastCandidate&)>& progress);

}  // namespace unfold
