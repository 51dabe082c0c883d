#pragma once
/// The model that is taken when training has minutes and nobody named one: a state that is gated by what is read, and
/// decaying weights, learn more of a text in equal time; and a small text or a short budget is learnt best by a net
/// that makes some thousand steps in it, or a dozen epochs of a small text: a large one is not yet anywhere by then
/// (docs/performance.md has the figures). The choice is kept with the run like a model
/// that was given; with a budget in steps or epochs it is always the same model.

#include <string>

#include "unfold/base/types.h"
#include "unfold/runs/train_settings.h"

namespace unfold {

/// True when the choice is open: running text, minutes as the budget, no model given.
bool chooses_size(const TrainSettings& settings, const Given& given);

/// Of a part to train on of so many symbols, at the pace of two cores. REQUIRES minutes > 0, symbols >= 0.
Index default_units(double minutes, Index symbols);

/// Sets the model, and the optimiser where that was not given either. Returns what was chosen, why, and how to choose
/// otherwise.
std::string choose_size(TrainSettings& settings, const Given& given, Index symbols);

}  // namespace unfold
