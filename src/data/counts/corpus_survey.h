#pragma once
/// The global properties of a corpus that several processes read in parts: the alphabet, the number of symbols of every
/// block, and the contents of the blocks. Takes one pass over the files, in which each process reads its share of the
/// blocks, and one reduction.
///
///   CorpusSurvey found = survey_corpus(files, {.kind = SymbolKind::words}, processes);
///   const Corpus corpus = Corpus::of_blocks(found.files, found.marks, found.alphabet, 64);
///
/// The corpus is the same as if a single process read everything (Corpus::load): the same symbols in the same order.

#include <string>
#include <vector>

#include "unfold/data/text/alphabet.h"
#include "unfold/data/text/block_file.h"
#include "unfold/distributed/processes.h"

namespace unfold {

struct CorpusSurvey {
  std::vector<BlockFile> files;
  std::vector<BlockMark> marks;  ///< marks of the blocks of all files
  Alphabet alphabet;
};

/// Collective: must be called by all processes; throws the same error in all of them. DataError: a file that is
/// missing, empty or not valid UTF-8, no data, a word that is too long, errors of BlockFile. UsageError: options that
/// cannot be combined.
CorpusSurvey survey_corpus(const std::vector<std::string>& files, const AlphabetOptions& options, Processes& processes);

}  // namespace unfold
