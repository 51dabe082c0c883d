#pragma once
/// n-gram models as ARPA files, the text format of SRILM, KenLM and other tools: base-10 logarithms, with `<s>` and
/// `</s>` around every sentence.
///
/// Words are written unchanged, other symbols by their printable names (Alphabet::name), and the end of a sentence as
/// `</s>`. For models without sentences, `<s>` stands for the beginning of a sequence, and the line ending keeps its
/// name. Numbers have nine digits, so a model that is exported and imported again gives bit-identical results.

#include <functional>
#include <string_view>

#include "model/ngram/ngram.h"

namespace unfold {

/// Calls write(text) piece by piece. Throws UsageError if the name of a symbol is reserved in ARPA.
void write_arpa(const NgramModel& model, const std::function<void(std::string_view)>& write);

/// Reads a model; its symbols are those of the 1-grams, in the same order. Throws DataError with file and line if the
/// file is not an ARPA file, is truncated or has missing numbers, and for a repeated n-gram or an n-gram whose prefix
/// is missing.
NgramModel read_arpa(const Input& input, SymbolKind kind);

}  // namespace unfold
