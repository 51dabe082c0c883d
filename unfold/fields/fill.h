#pragma once
/// Tables with holes, filled by a distribution of vectors (models/density_model.h).

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"
#include "unfold/capabilities/model.h"

namespace unfold {

/// mean: of a bit the probability that it is 1; best: the same of numbers, of a bit the more probable value; sample: a
/// draw of all the holes of a row together.
enum class Filling { mean, best, sample };
/// Throws UsageError for another name than these.
Filling parse_filling(const std::string& name);

struct FillRequest {
  std::string model = {};              ///< run folder or model file
  std::vector<std::string> data = {};  ///< tables, with "", NA or ? where a number is missing
  Filling how = Filling::mean;
  Index draws = 200;  ///< for what has no closed form
  std::uint64_t seed = 1;
  bool jsonl = false;
  const Model* loaded = nullptr;  ///< read already, in place of the file; `model` is what messages call it
};
/// Gives the rows one by one, with the columns of the vector: tab-separated behind a heading, or as JSON lines, which
/// name what was filled. Numbers that are known stay as they are. A row is filled from what is known of it alone, so
/// that no row depends on others. Throws UsageError, DataError, ModelError.
void fill_holes(const FillRequest& request, const std::function<void(std::string_view)>& write);

}  // namespace unfold
