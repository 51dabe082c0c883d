#pragma once
/// Sampling of whole sequences of numbers. Draws y_t from p(y_t | y_1 .. y_t-1, condition) until the stop unit ends the
/// sequence, or for a length drawn in advance (train --ends).
///
///   draw_number_sequences<float>(model, examples, {.longest = 100, .seed = 7}, team, [&](Index example, auto& drawn) {
///     ... });

#include <functional>
#include <string>
#include <vector>

#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

struct DrawOptions {
  Index longest = 0;  ///< maximum length of a sequence whose length is not drawn in advance; 0: kMaxGeneratedLength
  std::uint64_t seed = 1;
};

struct DrawnNumbers {
  std::vector<double> values = {};  ///< [positions x size of the field], in units of the data
  bool ended = false;               ///< false: the sequence reached the maximum length
  double nats = 0;                  ///< -ln of the density of the values and the probability of the end
};

/// Returns whether the model in a run folder or file predicts whole sequences of numbers. Throws ModelError.
bool holds_number_sequences(const std::string& model);

/// Draws one sequence per example, conditioned on the source or the given fields of the example. The draw depends on
/// the seed and the index of the example. Throws UsageError like TargetDecoder and for a loss that cannot be sampled,
/// and ModelError for a value that is not finite.
template <class T>
void draw_number_sequences(const NetworkModel<T>& model, const ExampleSet& examples, const DrawOptions& options,
                           Team& team, const std::function<void(Index example, DrawnNumbers& drawn)>& use);

}  // namespace unfold
