#pragma once
/// n-gram counts of a part of a corpus, computed within a memory limit. Several processes can share the work; each
/// reads a part of the symbols.

#include <functional>
#include <memory>

#include "data/counts/count_stream.h"
#include "unfold/data/text/corpus.h"
#include "unfold/data/text/split.h"
#include "unfold/distributed/processes.h"

namespace unfold {

/// The codes of an n-gram: x + 1 for symbol x, alphabet + 1 for the beginning of a sentence, and kEndCode for the end
/// of the sentence and every place after it.
inline constexpr Code kEndCode = 0;

struct CorpusCountOptions {
  Index order = 5;
  Symbol line_end = kNoSymbol;                  ///< ends a sentence, as does the end of a piece
  std::size_t memory = std::size_t{1} << 30;    ///< size of the table of a process in bytes
  Processes* processes = nullptr;               ///< nullptr: only the current process
  std::function<void(Index, Index)> tick = {};  ///< called with the number of symbols read and the total
};

/// Counts the n-grams of `order` codes that start at every symbol and at every beginning of a sentence of the whole
/// part, in ascending order. Collective: must be called by all processes. Returns null in all processes but the first
/// (gather_counts). Throws RuntimeFailure for temporary files; DataError for more than 2^32 - 2 symbols.
std::unique_ptr<CountStream> count_ngrams(const Corpus& corpus, const Split& part, const CorpusCountOptions& options);

}  // namespace unfold
