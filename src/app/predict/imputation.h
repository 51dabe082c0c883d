#pragma once
/// Imputation of missing values in tables by a density model (model/network/density_model.h).

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/schema/table_schema.h"
#include "unfold/base/types.h"
#include "unfold/model/model.h"

namespace unfold {

/// mean: the conditional mean, for bits the probability of 1. best: the mean for numbers, the more probable value for
/// bits. sample: one joint draw of all missing values of a row.
enum class Filling { mean, best, sample };
/// Throws UsageError for an unknown name.
Filling parse_filling(const std::string& name);

struct FillRequest {
  std::string model = {};              ///< run folder or model file
  std::vector<std::string> data = {};  ///< tables in which "", NA or ? marks a missing number
  Filling how = Filling::mean;
  Index draws = 200;  ///< number of samples, if there is no closed form
  std::uint64_t seed = 1;
  bool jsonl = false;
  SchemaOptions stated = {};      ///< format of a table, where it differs from the training data
  const Model* loaded = nullptr;  ///< used instead of loading a file; `model` is then its name in messages
};
/// Writes the rows one by one, restricted to the columns of the vector: tab-separated with a header, or as JSON lines
/// that list the filled columns. Known numbers are unchanged. Each row is filled from its own known values only. Throws
/// UsageError, DataError, ModelError.
void impute_missing(const FillRequest& request, const std::function<void(std::string_view)>& write);

}  // namespace unfold
