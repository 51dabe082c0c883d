#pragma once
/// Checks of the fields of a model against its data, before training.

#include <span>
#include <string>
#include <vector>

#include "unfold/data/examples/examples.h"

namespace unfold {

/// Throws UsageError if a network reads a predicted field where it predicts it: the field itself, a field derived from
/// it, a template with this position or a later position, or, if the network reads from both ends, an earlier position.
/// Such a network would copy its targets. `reads` are names as FieldRead::name returns them.
void refuse_leaks(const Examples& examples, std::span<const std::string> reads, std::span<const std::string> predicts,
                  bool both_directions);

/// Throws DataError with the file and the line of a number that the loss cannot predict: bernoulli requires numbers
/// from 0 to 1, poisson and negative-binomial integers from 0, log-normal numbers above 0.
void check_loss_domain(const Examples& examples, const std::string& field, const std::string& loss);

}  // namespace unfold
