#pragma once
/// Models in the formats of other programs. ARPA: n-grams as SRILM and KenLM read them.

#include <functional>
#include <string>
#include <string_view>

#include "unfold/base/types.h"

namespace unfold {

/// `model`: run folder or model file. Calls write(text) piece by piece. Throws ModelError; UsageError for a model that
/// is not an n-gram model, or whose scores depend on more than an ARPA file can express (a log, FASTA, labels).
void export_arpa(const std::string& model, const std::function<void(std::string_view)>& write);

struct ImportOutcome {
  std::string model;  ///< SPEC
  Index symbols = 0;  ///< in its alphabet
};
/// Writes the model file `out`; `symbols`: what the words of the file are, "words", "chars" or "bytes". Throws
/// DataError, UsageError, RuntimeFailure.
ImportOutcome import_arpa(const std::string& file, const std::string& symbols, const std::string& out);

}  // namespace unfold
