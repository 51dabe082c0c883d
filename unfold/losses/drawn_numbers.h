#pragma once
/// Draws of numbers that a row of the signal stands for, of whichever kind of distribution the loss is.

#include <vector>

#include "unfold/losses/distribution.h"
#include "unfold/losses/vector_density.h"

namespace unfold {

/// `purpose` says in the message of a loss that knows no draws what they were wanted for (UsageError).
template <class T>
void draw_numbers(const Loss<T>& loss, const DensityQuestion<T>& question, const char* purpose, Random& random,
                  std::span<T> values) {
  if (const auto* density = loss.template as<VectorDensity<T>>())
    density->sample(question, random, std::vector<char>(values.size()), values);
  else
    loss.template need<ValueDistribution<T>>(purpose).sample(question.signal, random, values);
}

}  // namespace unfold
