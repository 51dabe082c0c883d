#pragma once
/// Internal: which labels may follow each other, by what they are called: B-NP begins a chunk of the type NP, I-NP goes
/// on, E-NP ends it, S-NP is one of a single position, O is none.

#include <string>
#include <vector>

#include "unfold/markov/chain.h"

namespace unfold {

enum class LabelScheme {
  any,   ///< no rule
  iob2,  ///< I-X follows B-X or I-X
  iobes  ///< I-X and E-X follow B-X or I-X, and nothing else does; a sequence does not end within a chunk
};

/// A label of a scheme: its letter and the type of its chunk.
struct ChunkLabel {
  char place = 'O';
  std::string type = {};
};
/// Throws UsageError for a name that the scheme does not know.
ChunkLabel chunk_label(LabelScheme scheme, const std::string& name);

/// Sets to -inf what the scheme forbids. Throws UsageError for a name that no scheme knows.
void forbid(LabelScheme scheme, const std::vector<std::string>& names, ChainScores& scores);

}  // namespace unfold
