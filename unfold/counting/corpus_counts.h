#pragma once
/// n-grams of a part of a corpus, counted within a limit of memory and by several processes, of which each reads its
/// share of the symbols.

#include <functional>
#include <memory>

#include "unfold/counting/count_stream.h"
#include "unfold/data/corpus.h"
#include "unfold/data/split.h"
#include "unfold/processes/processes.h"

namespace unfold {

/// Codes of an n-gram: x + 1 for a symbol x, alphabet + 1 for the begin of a sentence, and from its end on kEndCode.
inline constexpr Code kEndCode = 0;

struct CorpusCountOptions {
  Index order = 5;
  Symbol line_end = kNoSymbol;                  ///< ends a sentence, as the end of a piece does
  std::size_t memory = std::size_t{1} << 30;    ///< bytes of the table of a process
  Processes* processes = nullptr;               ///< nullptr: this one alone
  std::function<void(Index, Index)> tick = {};  ///< told how many symbols of how many are read
};

/// By all processes. The `order` codes from every symbol and every begin of a sentence on, of the whole part, in order;
/// null in all processes but the first (gather_counts). Throws RuntimeFailure for temporary files; DataError for more
/// than 2^32 - 2 symbols.
std::unique_ptr<CountStream> count_ngrams(const Corpus& corpus, const Split& part, const CorpusCountOptions& options);

}  // namespace unfold
