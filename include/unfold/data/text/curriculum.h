#pragma once
/// A curriculum of lengths: training reads prefixes of sequences that grow, either from epoch to epoch or within every
/// epoch. Used by the sources of training batches (text_batches.h, example_batches.h).

#include <limits>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

struct Curriculum {
  /// Without `each_epoch`, epoch e (from 0) reads the first (e + 1) * step positions of each sequence. 0: all
  /// positions.
  Index step = 0;
  /// Every epoch consists of passes that read the first step, 2 step, ... positions of each sequence, up to whole
  /// sequences. A pass leaves out the sequences that the pass before has read to their end.
  bool each_epoch = false;

  bool on() const { return step > 0; }

  /// A pass over the sequences with more than `more_than` positions, of which it reads the first `most`.
  struct Pass {
    Index more_than = -1;
    Index most = std::numeric_limits<Index>::max();

    bool reads(Index length) const { return length > more_than; }
    Index prefix(Index length) const { return length < most ? length : most; }
  };
  /// Returns the passes of an epoch in order. Throws UsageError for a negative step, and for more than 10,000 passes.
  std::vector<Pass> passes(Index epoch, Index longest) const;
  /// Returns whether the epoch reads only a part of a sequence of this length (with `each_epoch`, in the first epoch).
  bool shortens(Index epoch, Index longest) const;
};

}  // namespace unfold
