#pragma once
/// Registry entries of cells. An entry is defined next to the equation of the cell, in the same file:
///
///   CellEntry lstm_cell() {
///     return CellOf<LstmOptions>{.name = "lstm", .help = "long short-term memory with forget gate", .add = lstm};
///   }
///
/// `LstmOptions` has a function `describe` (base/options/options.h). A member `bool trained_initial`, if present, is
/// set from the option of the model with that name. registry.def lists the entries.

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "unfold/base/options/registry.h"
#include "unfold/graph/cells/pool.h"
#include "unfold/graph/circuit/circuit.h"

namespace unfold {

inline constexpr double kMostUnits = 65536;

/// How the decoder of an encoder-decoder model attends to the positions of its source.
enum class Attend { none, additive, multiplicative };
/// How a decoder is conditioned on the summary of its source: by its initial state, by a vector read at every step, or
/// both.
enum class Condition { start, steps, both };

/// Residual connections of a layer. With `plain`, its input is added to its output (He et al. 2016). With `norm`, the
/// layer also reads a normalized copy of its input (Ba et al. 2016; Xiong et al. 2020).
enum class Residual { none, plain, norm };

/// Options of a model that all cells share.
struct StackOptions {
  Index units = 0;   ///< number of units per layer
  Index layers = 1;  ///< number of stacked cells
  Residual residual = Residual::none;
  double dropout = 0;   ///< rate on the output of each layer, in training
  Index embedding = 0;  ///< size of a learned vector per symbol; 0: the cell reads the symbol directly
  bool trained_initial = false;
  Pool pool = Pool::all;  ///< input of heads that make one prediction per sequence
  Index direct = 0;       ///< number of most recent inputs that per-position heads read directly
  /// Each layer runs from left to right and from right to left; in encoder-decoder models, the layers of the encoder
  /// do.
  bool both_directions = false;
  Attend attention = Attend::none;  ///< this option and the next are for encoder-decoder models
  Condition condition = Condition::both;
  bool variational = false;  ///< one dropout mask per sequence or window; Gal & Ghahramani 2016
  double dropouti = 0;       ///< dropout rate on the input of the first layer; these names are from Merity et al. 2018
  double dropouth = 0;       ///< dropout rate on the outputs of layers below the last; 0: same as dropout
  double dropoute = 0;       ///< dropout rate of whole rows of the embedding
  double wdrop = 0;          ///< dropout rate on recurrent weight matrices
  bool tied = false;         ///< output weights are tied to the embedding
  /// Returns whether an option has a value that models without layers do not support. Ignores `units`.
  bool needs_layers() const;
};

/// Layout of the layers of a cell over grids.
struct GridStack {
  Index directions = 4;  ///< number of corners to start from: top left, top right, bottom left, bottom right
  /// per layer: side of the block of positions that forms one position; 1 beyond the end of the list
  std::vector<Index> patches;
};

/// An alias of a cell with some options: "irnn" is "rnn" with "activation=relu,init=identity".
struct Spelling {
  std::string name, options;
};

/// Type-erased cell. Empty members mean that the cell does not have the property.
struct CellEntry : Entry {
  std::function<Signal(Circuit&, Signal x, Index units, const AnyOptions&, bool trained_initial)> add;
  /// Returns what is wrong with the combination of values; empty if it is valid.
  std::function<std::string(const StackOptions&, const AnyOptions&)> fault;
  /// Default initialization of weights that read the output of the cell.
  std::function<Init(const AnyOptions&)> output_init;
  /// The outputs of the cell are probabilities of its units. The model output is then a mixture of the predictions of
  /// the units, and the loss receives its logarithm.
  bool outputs_probabilities = false;
  /// The seed of the random graph of the cell. Such a cell is initialized from symbol frequencies.
  std::function<Index&(AnyOptions&)> graph;
  /// Reduces the cell to at most `most` units, for derivative checks.
  std::function<void(StackOptions&, AnyOptions&, Index most)> with_max_units;
  std::vector<Spelling> spellings;
  /// If false, the cell does not read its input through terms of affine maps, so joined signals are first concatenated.
  bool accepts_joined_input = true;
  /// For cells over trees, from the leaves to the root: the number of children of a node with distinct weights; 0 if
  /// the cell sums over all children. Empty for other cells.
  std::function<Index(const AnyOptions&)> children;
  bool reads_trees() const { return static_cast<bool>(children); }
  /// For cells over grids, which read the positions to the left and above. Empty for other cells.
  std::function<GridStack(const AnyOptions&)> grid;
  bool reads_grids() const { return static_cast<bool>(grid); }
  bool reads_sequences() const { return !reads_trees() && !reads_grids(); }
};

/// A cell with typed options; can be converted to a CellEntry.
template <class Options>
struct CellOf {
  std::string name, help;
  Signal (*add)(Circuit&, Signal x, Index units, const Options&);
  Options defaults = {};
  std::function<std::string(const StackOptions&, const Options&)> fault = {};
  Init (*output_init)(const Options&) = nullptr;
  bool outputs_probabilities = false;
  Index Options::*graph = nullptr;
  void (*with_max_units)(StackOptions&, Options&, Index most) = nullptr;
  std::vector<Spelling> spellings = {};
  bool accepts_joined_input = true;
  Index (*children)(const Options&) = nullptr;
  GridStack (*grid)(const Options&) = nullptr;

  operator CellEntry() const {  // NOLINT(google-explicit-constructor): it is the same cell
    CellEntry entry;
    entry.name = name;
    entry.help = help;
    entry.options = defaults;
    entry.add = [add = add](Circuit& c, Signal x, Index units, const AnyOptions& any, bool trained_initial) {
      auto options = any.as<Options>();
      if constexpr (requires { options.trained_initial; }) options.trained_initial = trained_initial;
      return add(c, x, units, options);
    };
    entry.fault = [fault = fault](const StackOptions& stack, const AnyOptions& any) {
      return fault ? fault(stack, any.as<Options>()) : std::string();
    };
    entry.output_init = [start = output_init](const AnyOptions& any) {
      return start != nullptr ? start(any.as<Options>()) : Init::uniform();
    };
    entry.outputs_probabilities = outputs_probabilities;
    if (graph != nullptr) entry.graph = [graph = graph](AnyOptions& any) -> Index& { return any.as<Options>().*graph; };
    entry.with_max_units = [cut = with_max_units](StackOptions& stack, AnyOptions& any, Index most) {
      stack.units = std::min(stack.units, most);
      if (cut != nullptr) cut(stack, any.as<Options>(), most);
    };
    entry.spellings = spellings;
    entry.accepts_joined_input = accepts_joined_input;
    if (children != nullptr)
      entry.children = [children = children](const AnyOptions& any) { return children(any.as<Options>()); };
    if (grid != nullptr) entry.grid = [grid = grid](const AnyOptions& any) { return grid(any.as<Options>()); };
    return entry;
  }
};

}  // namespace unfold
