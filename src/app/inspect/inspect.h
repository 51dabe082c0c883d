#pragma once
/// Inspection of a file before training: its format, its fields with types, missing and unusual cells, and the fields
/// that `train` would read, predict, group by, order by and leave out, with the reasons.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/settings/train_settings.h"
#include "unfold/base/formats/json.h"

namespace unfold {

struct Inspection {
  std::string text;  ///< human-readable lines
  JsonBox json;      ///< one object
};

/// Inspects one file. `settings` specify the format and the schema of tables, as for `train`. Throws DataError for
/// content that does not fit the format, with its line; the unusual cells of a table are listed instead.
Inspection inspect_file(const std::string& file, const TrainSettings& settings, const Given& given);

}  // namespace unfold
