#pragma once
/// Samples numbers from the distribution given by a row of the signal, for any kind of loss.

#include <vector>

#include "loss/density/vector_density.h"
#include "loss/distribution.h"

namespace unfold {

/// If the loss does not support sampling, throws a UsageError that names `purpose`.
template <class T>
void draw_numbers(const Loss<T>& loss, const DensityQuery<T>& question, const char* purpose, Random& random,
                  std::span<T> values) {
  if (const auto* density = loss.template as<VectorDensity<T>>())
    density->sample(question, random, std::vector<char>(values.size()), values);
  else
    loss.template need<ValueDistribution<T>>(purpose).sample(question.signal, random, values);
}

}  // namespace unfold
