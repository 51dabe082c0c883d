#pragma once
/// Internal: transitions that a labeling scheme permits, derived from the label names: B-NP begins a chunk of type NP,
/// I-NP continues it, E-NP ends it, S-NP is a chunk of a single position, O is outside any chunk.

#include <string>
#include <vector>

#include "loss/crf/chain.h"

namespace unfold {

enum class LabelScheme {
  any,   ///< no restriction
  iob2,  ///< I-X follows B-X or I-X
  iobes  ///< I-X and E-X, and only these, follow B-X or I-X; a sequence does not end inside a chunk
};

/// A label of a scheme: its letter and the type of its chunk.
struct ChunkLabel {
  char place = 'O';
  std::string type = {};
};
/// Throws UsageError for a name that is not valid in the scheme.
ChunkLabel chunk_label(LabelScheme scheme, const std::string& name);

/// Sets the scores of forbidden transitions to -inf. Throws UsageError for a name that is not valid in the scheme.
void forbid(LabelScheme scheme, const std::vector<std::string>& names, ChainScores& scores);

}  // namespace unfold
