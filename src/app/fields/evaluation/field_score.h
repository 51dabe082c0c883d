#pragma once
/// Surprisal of every position or example of data with named fields, as a table.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/common/reporter.h"
#include "data/schema/table_schema.h"
#include "unfold/base/types.h"
#include "unfold/model/model.h"

namespace unfold {

struct FieldScoreRequest {
  std::string model, data;        ///< run folder or model file; a file in the format that it was trained on
  bool by_example = false;        ///< one row per example: number of positions, bits, bits per position, z-score
  bool text = false;              ///< with `by_example`: a last column with the text of each example
  bool json = false;              ///< one object {"by", "scores"}; with `follow`, one JSON object per row
  bool follow = false;            ///< streaming: writes rows while examples arrive (field_stream.h)
  std::string unknown = "error";  ///< handling of labels unseen in training: "error", or "skip", which leaves their
                                  ///< bits empty
  Index top = 0;                  ///< > 0: only the `top` rows with the highest surprisal (examples: z-score)
  Index threads = 0;              ///< 0: all available processors
  std::vector<std::string> given = {};  ///< "FIELD=VALUE" overrides of the data (app/fields/condition.h)
  SchemaOptions stated = {};            ///< format of a table, where it differs from the training data
  Reporter* reporter = nullptr;         ///< receives the notes of the reader
  const Model* loaded = nullptr;        ///< used instead of loading a file; `model` is then its name in messages
};

/// Writes the table in pieces. The TSV has a header, then the columns `example`, `position` (from 1) and, for each
/// head, FIELD (the observed value) and FIELD.bits. There is one row per position, or one per example if every head
/// predicts once per example. Cells without a prediction are empty. With `by_example`, the z-score compares examples of
/// different lengths: (bits - expected) / sd, where an example with n entries has the expected bits n * mean and the
/// variance n * variance of the entries of the whole file; 0 if all entries are equal. A stream has no z-scores. The
/// text of an example consists of the entries of the first field that is predicted at every position; if there is none,
/// of the first text with an entry per position. For numbers, bits are computed from densities in units of the data and
/// may be negative. Throws UsageError, DataError, ModelError.
void score_fields(const FieldScoreRequest& request, const std::function<void(std::string_view)>& write);

}  // namespace unfold
