#pragma once
/// kernels: random convolutional kernels over a whole sequence, pooled to features (graph/circuit/random_kernels.h).
/// Its input is in part 1 of the circuit, the sequence; its output is in part 0, which has one position per sequence.
/// Only the readout of the model is fitted, by ridge regression (model/series/pooled_readout.h); thresholds are
/// selected from training data (model/series/kernel_thresholds.h).
///
/// The entry is not in the registry of cells, because the cell reads whole sequences and has no derivative.

#include "unfold/graph/cells/cell.h"

namespace unfold {

struct KernelsOptions {
  bool standardized = false;  ///< each channel of a sequence is standardized first
  Index length = 0;           ///< length of a typical sequence; 0: unknown
};
/// Maps x [channels] to features; their number is at most n but at least 672.
Signal kernels(Circuit& c, Signal x, Index n, const KernelsOptions& options = {});

const CellEntry& kernels_model();

}  // namespace unfold
