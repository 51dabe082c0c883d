#pragma once
/// Internal: sections of a report on a model of data with fields, position by position: how surprising each was, what
/// layers and gates were there, and how far back the state goes.

#include <string>
#include <vector>

#include "unfold/data/example_set.h"
#include "unfold/fields/field_figures.h"
#include "unfold/look/page.h"
#include "unfold/models/network_model.h"

namespace unfold {

/// A label, and how probable the model holds it.
using LabelGuess = std::pair<Symbol, double>;

/// What the model said about the positions of a set.
struct SaidOfPositions {
  std::size_t head = 0;                               ///< that predicts something at every position
  std::vector<double> nats = {};                      ///< NaN: not predicted
  std::vector<std::vector<LabelGuess>> guesses = {};  ///< of the first positions, best first; empty of numbers
};

/// "text", "neurons", "gates" and "lags" of the first examples; `said` null: nothing is predicted position by position.
/// Each says why, where it has nothing to show.
template <class T>
std::vector<PageSection> position_sections(const NetworkModel<T>& model, const ExampleSet& set,
                                           const SaidOfPositions* said, const std::string& data, Team& team);

/// A number of a field in its own units, as people wrote it: digits that come from keeping it in float, standardised,
/// are no digits of it.
std::string number_text(const FieldSpecification& field, Index component, float z, int digits);

/// Positions that are shown.
inline constexpr Index kShownPositions = 2000;

}  // namespace unfold
