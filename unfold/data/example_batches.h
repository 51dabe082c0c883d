#pragma once
/// Batches made of examples with fields (example_set.h): every chain is an example, whole or, where they are long and
/// the network may be cut, window after window with carried state. Windows are full (lanes.h), so that a step means as
/// many positions at the end of long examples as anywhere.

#include <memory>
#include <string>
#include <vector>

#include "unfold/data/batch.h"
#include "unfold/data/example_set.h"

namespace unfold {

struct ExampleBatchOptions {
  std::vector<std::string> reads = {};     ///< names of fields, "previous F" among them: fields of the batches
  std::vector<std::string> predicts = {};  ///< those that the set lacks are missing at every row
  Index batch = 16;                        ///< examples side by side
  Index window = 0;                        ///< positions of each lane in one step; 0: whole examples
  /// Of grids: sides of the blocks that are one position of a coarser grid, from those read on (Structure::grids). The
  /// structure of a batch is the coarsest; fields that are read lie in its deepest part, what is predicted once an
  /// example at its last position.
  std::vector<Index> patches = {};
  /// In training a symbol that is read becomes `<unk>` with the probability rate / (rate + how often it occurs), so
  /// that the network learns what to do about words it never saw (Kiperwasser & Goldberg 2016). 0: never.
  double unknown_rate = 0;
  /// In training each position is left unread with this probability (word dropout; Iyyer et al. 2015).
  double word_dropout = 0;
  /// In training each grid is moved, along rows and along columns, by a random number of positions up to this one; its
  /// edges are repeated where nothing is left. What stands once an example stays.
  Index shift = 0;
  /// In training all epochs have the examples in the order of the set. Where they fit one batch and nothing is left to
  /// chance, the source is unchanging.
  bool in_order = false;
  /// Of a reader: a batch of more positions than this is divided into several, its chains in their order; with a window
  /// a single chain is, too. 0: never. Without influence on what is computed at any position.
  Index most_positions = 0;
};

/// Epoch by epoch, each in a random order that is a function of (seed, epoch). The set must outlive it. Throws
/// UsageError.
std::unique_ptr<BatchSource> example_batches(const ExampleSet& examples, const ExampleBatchOptions& options,
                                             std::uint64_t seed);
/// All examples in their order, once.
std::unique_ptr<BatchReader> example_reader(const ExampleSet& examples, const ExampleBatchOptions& options);

}  // namespace unfold
