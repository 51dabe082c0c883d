#pragma once
/// Selection of a model for labeled series by cross-validation, within a budget of operations:
///
///   SeriesSelection<float> found = select_series_model<float>(training, layout, {.seed = 1}, team, {});
///   NetworkModel<float> model(found.candidates[found.best].model, training.data(), layout);   // and fit it
///
/// Candidates are models whose readout is fitted by ridge regression (model/series/pooled_readout.h), so leaving out
/// one example at a time requires no further fits: random kernels on the original series, random kernels on
/// individually standardized series, and an echo state network. For rows of a table, which are series with one
/// position, the candidates are layers of 300 and of 1,000 random units. The last candidate is a recurrent network that
/// is trained five times by gradients, each time without a fifth of the examples (cross_validation.h). Each candidate
/// is scored by the mean negative log-likelihood of the left-out labels. Candidates are tried in this order as long as
/// the budget allows; if it allows only the first candidate, this candidate is used without being tried. The budget
/// counts operations, never time, so the selection is the same on every machine.

#include <functional>
#include <string>
#include <vector>

#include "model/selection/cross_validation.h"
#include "unfold/base/threads/team.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_body.h"

namespace unfold {

struct SeriesSelectionOptions {
  std::uint64_t seed = 1;
  double budget = 4e11;  ///< operations, for all candidates
  /// The recurrent network and how it is trained; empty: none. It uses the seed of the selection.
  std::string network = {};
  FoldTraining training = {};
};

struct SeriesCandidate {
  std::string model;
  double operations = 0;  ///< estimated number of operations
  double nats = 0;        ///< nats per held-out example
  bool tried = false;
  bool fitted = true;  ///< the readout is fitted; otherwise the network is trained by gradients
};

template <class T>
struct SeriesSelection {
  std::vector<SeriesCandidate> candidates = {};
  std::size_t best = 0;
  /// If the best candidate is trained by gradients: the prediction for each example by a network that was trained
  /// without it (CrossValidation).
  std::vector<Buffer<T>> outputs = {};
};

/// Returns whether each example has one position.
bool are_rows(const ExampleSet& examples);
/// Returns the candidates with their estimated numbers of operations.
std::vector<SeriesCandidate> series_candidates(const ExampleSet& training, const NetworkLayout& layout,
                                               const SeriesSelectionOptions& options);
/// `progress` is called before each candidate. REQUIRES: all heads predict once per example. Throws DataError like
/// fit_pooled_readout.
template <class T>
SeriesSelection<T> select_series_model(const ExampleSet& training, const NetworkLayout& layout,
                                       const SeriesSelectionOptions& options, Team& team,
                                       const std::function<void(const SeriesCandidate&)>& progress);

}  // namespace unfold
