#pragma once
/// Import and export of n-gram models in the ARPA format that SRILM and KenLM read and write.

#include <functional>
#include <string>
#include <string_view>

#include "unfold/base/types.h"

namespace unfold {

/// Writes an n-gram model in the ARPA format by calling write(text) repeatedly. `model` is a run folder or a model
/// file. Throws ModelError; UsageError if the model is not an n-gram model.
void export_arpa(const std::string& model, const std::function<void(std::string_view)>& write);

struct ImportOutcome {
  std::string model;  ///< SPEC of the imported model
  Index symbols = 0;  ///< size of its alphabet
};
/// Reads an ARPA file and writes the model file `out`. `symbols` is the kind of the words in the file: "words", "chars"
/// or "bytes". Throws DataError, UsageError, RuntimeFailure.
ImportOutcome import_arpa(const std::string& file, const std::string& symbols, const std::string& out);

}  // namespace unfold
