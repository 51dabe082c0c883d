#pragma once
/// n-gram models as ARPA files, the text format of SRILM, KenLM and others: base-10 logarithms, `<s>` and `</s>` around
/// every sentence.
///
/// Words stand as they are, other symbols by their printable names (Alphabet::name), the end of a sentence as `</s>`.
/// Lines that are sequences (`train --lines`) are sentences. Where the model knows neither, `<s>` still stands for the
/// begin of a sequence, and the line end keeps its name.
/// Numbers have nine digits, so that a model that was exported and imported again gives the same bits.

#include <functional>
#include <string_view>

#include "unfold/classical/ngram.h"

namespace unfold {

/// Calls write(text) piece by piece. Throws UsageError when a symbol has a name that ARPA reserves.
void write_arpa(const NgramModel& model, const std::function<void(std::string_view)>& write);

/// The symbols are those of the 1-grams, in their order. Throws DataError naming file and line: not ARPA, cut short,
/// numbers missing, an n-gram twice or without the shorter one that it continues.
NgramModel read_arpa(const Input& input, SymbolKind kind);

}  // namespace unfold
