#pragma once
/// Report sections on a model for data with fields, position by position: surprisal, activations of layers and gates,
/// and influence of earlier positions on the state. Internal to app/report/.

#include <string>
#include <vector>

#include "app/fields/evaluation/field_metrics.h"
#include "app/report/page.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

/// A label and its predicted probability.
using LabelGuess = std::pair<Symbol, double>;

/// Predictions at the positions of a set.
struct PositionPredictions {
  std::size_t head = 0;                               ///< index of the head, which predicts at every position
  std::vector<double> nats = {};                      ///< NaN: not predicted
  std::vector<std::vector<LabelGuess>> guesses = {};  ///< for the first positions, best first; empty for numbers
};

/// Returns the sections "text", "neurons", "gates" and "lags" for the first examples. `said` is null if no head
/// predicts at every position. A section without content gives the reason.
template <class T>
std::vector<PageSection> position_sections(const NetworkModel<T>& model, const ExampleSet& set,
                                           const PositionPredictions* said, const std::string& data, Team& team);

/// Formats a number of a field in units of the data, without spurious digits from its standardized float
/// representation.
std::string number_text(const FieldSpecification& field, Index component, float z, int digits);

/// Formats a number with a number of significant digits, or as an integer if it has more digits before the point; with
/// an exponent only below 0.0001 and from 1e9 on.
std::string short_decimal(double x, int digits);

/// Maximum number of positions shown.
inline constexpr Index kShownPositions = 2000;

}  // namespace unfold
