#pragma once
/// How surprising every position or example of data with fields is, as a table.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"
#include "unfold/capabilities/model.h"
#include "unfold/runs/reporter.h"

namespace unfold {

struct FieldScoreRequest {
  std::string model, data;              ///< run folder or model file; a file in the format that it was trained on
  bool by_example = false;              ///< a row an example: its positions, its bits, its bits per position
  bool json = false;                    ///< one object {"by", "scores"}; with `follow` an object a row
  bool follow = false;                  ///< rows as examples come (field_stream.h)
  std::string unknown = "error";        ///< labels never seen in training: "error", or "skip", which gives them no bits
  Index top = 0;                        ///< > 0: so many of the most surprising rows, the first of them first
  Index threads = 0;                    ///< 0: every processor available
  std::vector<std::string> given = {};  ///< "FIELD=VALUE" in place of what the data say (fields/given.h)
  Reporter* reporter = nullptr;         ///< told what the reader remarks
  const Model* loaded = nullptr;        ///< read already, in place of the file; `model` is what messages call it
};

/// Gives the table piece by piece. TSV: a header, then `example`, `position` (from 1) and, for each head, what was
/// observed, FIELD, and FIELD.bits; a row a position, or an example where every head predicts once an example. Nothing
/// stands where nothing was there to be predicted. Numbers have densities: bits in units of the data, which may be
/// negative. Throws UsageError, DataError, ModelError.
void score_fields(const FieldScoreRequest& request, const std::function<void(std::string_view)>& write);

}  // namespace unfold
