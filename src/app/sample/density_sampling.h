#pragma once
/// Samples from density models, and conditional means of some numbers given others.

#include <cstdint>
#include <string>
#include <vector>

#include "unfold/base/types.h"
#include "unfold/model/model.h"

namespace unfold {

/// Returns whether a run folder or model file holds a density model, which has no inputs
/// (model/network/density_model.h).
bool holds_density(const std::string& model);

struct VectorRequest {
  std::string model = {};  ///< run folder or model file
  std::vector<std::string> given =
      {};  ///< known values, "NAME=NUMBER" or "NAME=CLASS", where NAME is a column name or a position such as "x3"
  std::vector<std::string> wanted =
      {};           ///< for `complete_vector`: columns to complete; empty: all columns that are not given
  Index count = 1;  ///< samples
  std::uint64_t seed = 1;
  const Model* loaded = nullptr;  ///< used instead of loading a file; `model` is then its name in messages
};

struct VectorTable {
  std::vector<std::string> names;
  std::vector<std::vector<double>> rows;
  /// Class names of each column, indexed by the values in the rows; empty for numeric columns.
  std::vector<std::vector<std::string>> classes = {};
};
/// Draws vectors in units of the data. Throws ModelError, and UsageError for an invalid request, which includes given
/// numbers that are not the first ones of a model with a fixed variable order.
VectorTable sample_vectors(const VectorRequest& request);

struct CompletedNumber {
  std::string name;  ///< a column, or "color=red" for a class, whose mean is its probability
  double mean = 0;   ///< conditional mean; for a bit, the probability of 1
  double error = 0;  ///< standard error of the mean if estimated from samples; 0 if exact
};
/// Returns conditional means given the known numbers. They are exact for models that support any order and for the
/// first number after the given ones; all others are estimated from `count` samples. Throws like sample_vectors.
std::vector<CompletedNumber> complete_vector(const VectorRequest& request);

}  // namespace unfold
