#pragma once
/// Whole sequences of numbers that a network draws, each with its end: y_t from p(y_t | y_1 .. y_t-1, what is given),
/// after the stop unit has said that it goes on, or for as many positions as were drawn before (train --ends).
///
///   draw_number_sequences<float>(model, examples, {.longest = 100, .seed = 7}, team, [&](Index example, auto& drawn) {
///   ... });

#include <functional>
#include <string>
#include <vector>

#include "unfold/data/example_set.h"
#include "unfold/models/network_model.h"

namespace unfold {

struct DrawOptions {
  Index longest = 0;  ///< positions of a sequence whose length is not known before; 0: kLongestFound
  std::uint64_t seed = 1;
};

struct DrawnNumbers {
  std::vector<double> values = {};  ///< [positions x size of the field], in units of the data
  bool ended = false;               ///< false: the limit came first
  double nats = 0;                  ///< -ln of the density of the values and of the probability of the end
};

/// Whether the model in a run folder or file predicts whole sequences of numbers. Throws ModelError.
bool holds_number_sequences(const std::string& model);

/// A sequence for each of the examples, of which the sources, or what is given, count. What is drawn depends on the
/// seed and the number of the example. Throws UsageError: as TargetDecoder, and where the loss knows no draws;
/// ModelError for an outcome that is not finite.
template <class T>
void draw_number_sequences(const NetworkModel<T>& model, const ExampleSet& examples, const DrawOptions& options,
                           Team& team, const std::function<void(Index example, DrawnNumbers& drawn)>& use);

}  // namespace unfold
