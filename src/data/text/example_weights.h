#pragma once
/// Weights of examples, which multiply their losses in training.
///
/// Examples in memory (data/readers/memory_data.h) may have a column kExampleWeights with one number, at least 0, per
/// example; a table in memory has one per row, if each row is an example. It is not a field: models neither read nor
/// predict it, and do not store it. An ExampleSet keeps it as a column, and batches have a field kExampleWeights with
/// one number per row of part 0, scaled so that the mean weight of the predicted positions of the set is 1: a batch
/// divides its loss by the number of predicted positions. Without the field, all weights are 1.

#include <string_view>
#include <variant>

#include "unfold/base/error.h"
#include "unfold/base/views.h"
#include "unfold/data/text/batch.h"

namespace unfold {

inline constexpr const char* kExampleWeights = "\x01weights";  ///< a name that no column of a file can have

/// Of a batch: the rounding errors of its weights, for sums in double precision.
inline constexpr const char* kWeightRemainders = "\x01weight remainders";

inline bool has_weights(const Batch& batch) { return batch.fields.contains(kExampleWeights); }

/// Returns the weights [rows x 1] of rows [first, first + rows); without data if all are 1.
template <class T>
Matrix<const T> weights_of_rows(const Batch& batch, Index first, Index rows) {
  const auto found = batch.fields.find(kExampleWeights);
  if (found == batch.fields.end()) return {};
  return std::get<ValueRows>(found->second).template values<T>(first, rows);
}

/// Returns the weight of a row in double precision.
inline double weight_of_row(const Batch& batch, Index row) {
  if (!has_weights(batch)) return 1;
  double weight = weights_of_rows<double>(batch, row, 1)(0, 0);
  if (const auto found = batch.fields.find(kWeightRemainders); found != batch.fields.end())
    weight += std::get<ValueRows>(found->second).values<double>(row, 1)(0, 0);
  return weight;
}

[[noreturn]] inline void refuse_weights(std::string_view who) {
  throw UsageError(std::string(who) +
                   " does not support weights of examples; leave out the weights, or train a network by sgd, adam or "
                   "lbfgs");
}

}  // namespace unfold
