#pragma once
/// What distributions of vectors say beyond how probable a vector is: draws, and numbers given others.

#include <cstdint>
#include <string>
#include <vector>

#include "unfold/base/types.h"
#include "unfold/capabilities/model.h"

namespace unfold {

/// Whether a run folder or model file holds a model that reads nothing (models/density_model.h).
bool holds_density(const std::string& model);

struct VectorRequest {
  std::string model = {};  ///< run folder or model file
  std::vector<std::string> given =
      {};  ///< "NAME=NUMBER", "NAME=CLASS": what is known; the name of a column, or its place, "x3"
  std::vector<std::string> wanted = {};  ///< of `complete_vector`: names of numbers; empty: all that are not given
  Index count = 1;                       ///< draws
  std::uint64_t seed = 1;
  const Model* loaded = nullptr;  ///< read already, in place of the file; `model` is what messages call it
};

struct VectorTable {
  std::vector<std::string> names;
  std::vector<std::vector<double>> rows;
  /// Of each column what its classes are called, whose places the rows hold; empty of numbers.
  std::vector<std::vector<std::string>> classes = {};
};
/// Draws, in units of the data. Throws UsageError (also for what is given, where the model has its numbers in an order
/// and they are not its first ones), ModelError.
VectorTable sample_vectors(const VectorRequest& request);

struct CompletedNumber {
  std::string name;  ///< "color=red": a class; the mean is its probability
  double mean = 0;   ///< of a bit the probability that it is 1
  double error = 0;  ///< standard error of the mean, where it was found by draws; 0: it is exact
};
/// Means of numbers given others: exact where the model answers in any order, and of the first number behind what is
/// given; others from `count` draws. Throws as sample_vectors.
std::vector<CompletedNumber> complete_vector(const VectorRequest& request);

}  // namespace unfold
