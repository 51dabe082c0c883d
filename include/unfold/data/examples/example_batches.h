#pragma once
/// Batches of examples with fields (example_set.h). Every chain is an example, either whole or, if examples are long
/// and the network supports truncation, window by window with carried state. Windows are filled (lanes.h), so every
/// step covers the same number of positions, even at the end of long examples.

#include <memory>
#include <string>
#include <vector>

#include "unfold/data/examples/example_set.h"
#include "unfold/data/text/batch.h"
#include "unfold/data/text/curriculum.h"

namespace unfold {

struct ExampleBatchOptions {
  /// Names of the fields that are read, including "previous F"; they become fields of the batches.
  std::vector<std::string> reads = {};
  std::vector<std::string> predicts = {};  ///< fields that the set does not contain are missing in every row
  Index batch = 16;                        ///< number of examples that are processed in parallel
  Index window = 0;                        ///< positions of each lane per step; 0: whole examples
  Curriculum curriculum = {};              ///< in training, for sequences with predictions at every position
  /// For grids: the side lengths of the blocks that form one position of the next coarser grid, starting from the
  /// finest (Structure::grids). The structure of a batch is the coarsest grid; fields that are read are in its deepest
  /// part, and fields that are predicted once per example are at the last position.
  std::vector<Index> patches = {};
  /// In training, a symbol that is read is replaced with `<unk>` with probability rate / (rate + its count), so that
  /// the network learns to handle unknown words (Kiperwasser & Goldberg 2016). 0: never.
  double unknown_rate = 0;
  /// In training, each position is dropped with this probability (word dropout; Iyyer et al. 2015).
  double word_dropout = 0;
  /// In training, each grid is shifted along rows and columns by a random number of positions up to this one; edges are
  /// padded by repetition. Fields with one entry per example are not affected.
  Index shift = 0;
  /// In training, all epochs use the order of the set. If the examples fit into one batch and nothing is random, every
  /// batch is the same (`unchanging`).
  bool in_order = false;
  /// For readers: a batch with more positions than this is divided into several batches, with its chains in order. With
  /// a window, even a single chain is divided. 0: never. Does not affect the result at any position.
  Index most_positions = 0;
};

/// Training batches, epoch by epoch, each in a random order that is a function of (seed, epoch). The set must outlive
/// the source. Throws UsageError.
std::unique_ptr<BatchSource> example_batches(const ExampleSet& examples, const ExampleBatchOptions& options,
                                             std::uint64_t seed);
/// Returns all examples in order, once.
std::unique_ptr<BatchReader> example_reader(const ExampleSet& examples, const ExampleBatchOptions& options);

}  // namespace unfold
