#pragma once
/// What several processes have to know of a corpus that each of them reads a part of: the alphabet, how many symbols
/// every block has, and what it held. One pass over the files, of which each process reads its share of the blocks, and
/// one reduction.
///
///   CorpusSurvey found = survey_corpus(files, {.kind = SymbolKind::words}, processes);
///   const Corpus corpus = Corpus::of_blocks(found.files, found.marks, found.alphabet, 64);
///
/// The corpus is the one that a process makes that reads all of it (Corpus::load): the same symbols in the same order.

#include <string>
#include <vector>

#include "unfold/data/alphabet.h"
#include "unfold/data/block_file.h"
#include "unfold/processes/processes.h"

namespace unfold {

struct CorpusSurvey {
  std::vector<BlockFile> files;
  std::vector<BlockMark> marks;  ///< of the blocks of all files
  Alphabet alphabet;
};

/// By all processes. Throws in all of them alike: DataError (a file that is missing, empty or not valid UTF-8, nothing
/// there, a word that is too long, BlockFile), UsageError (options that do not go together).
CorpusSurvey survey_corpus(const std::vector<std::string>& files, const AlphabetOptions& options, Processes& processes);

}  // namespace unfold
