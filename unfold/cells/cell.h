#pragma once
/// What the registry knows of a cell. It stands beside the cell's equation, in the cell's own file:
///
///   CellEntry lstm_cell() {
///     return CellOf<LstmOptions>{.name = "lstm", .help = "long short-term memory with forget gate", .add = lstm};
///   }
///
/// `LstmOptions` has a function `describe` (base/options.h); a member `bool trained_initial`, if there is one, is set
/// from the model's option of that name. registry.def lists the entries.

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "unfold/base/registry.h"
#include "unfold/cells/pool.h"
#include "unfold/circuit/circuit.h"

namespace unfold {

inline constexpr double kMostUnits = 65536;

/// How the decoder of a model of two chains finds what it needs at the positions of its source (circuit/attention.h).
enum class Attend { none, additive, multiplicative };
/// How a decoder knows the summary of its source: from its first state, from a vector read at every step, or both.
enum class Condition { start, steps, both };

/// What is added to what a layer gives: nothing, or what it reads (He et al. 2016), of which it then sees a normalised
/// copy if it is to (Ba et al. 2016; Xiong et al. 2020).
enum class Residual { none, plain, norm };

/// How a model uses a cell: the options that all cells share.
struct StackOptions {
  Index units = 0;   ///< of each layer
  Index layers = 1;  ///< cells stacked on each other
  Residual residual = Residual::none;
  double dropout = 0;   ///< of each layer's output, in training
  Index embedding = 0;  ///< size of a learned vector per symbol; 0: the cell reads the symbol itself
  bool trained_initial = false;
  Pool pool = Pool::all;  ///< what heads read that predict once a sequence
  Index direct = 0;       ///< inputs, the last so many, that heads at every position read as they are
  /// Each layer runs from left to right and from right to left; of two chains: over the source.
  bool both_directions = false;
  Attend attention = Attend::none;  ///< of models of two chains, as what follows
  Condition condition = Condition::both;
  bool variational = false;  ///< masks of dropout last a sequence, or a window of it. Gal & Ghahramani 2016
  double dropouti = 0;  ///< of what the first layer reads; this and what follows by the names of Merity et al. 2018
  double dropouth = 0;  ///< of what layers below the last give; 0: as dropout
  double dropoute = 0;  ///< of whole symbols, where they are embedded (training/weight_rules.h)
  double wdrop = 0;     ///< of the weights of recurrent matrices
  bool tied = false;    ///< the weights of the output are those of the embedding
};

/// How the layers of a cell over grids are laid.
struct GridStack {
  Index directions = 4;        ///< from the corners top left, top right, bottom left, bottom right, the first so many
  std::vector<Index> patches;  ///< side of the block of positions that is one position of a layer; beyond the list 1
};

/// Another name for a cell with some options given: "irnn" is "rnn" with "activation=relu,init=identity".
struct Spelling {
  std::string name, options;
};

/// A cell of any type. What is empty, a cell does not have.
struct CellEntry : Entry {
  std::function<Signal(Circuit&, Signal x, Index units, const AnyOptions&, bool trained_initial)> add;
  /// What is wrong with the values together; empty: nothing.
  std::function<std::string(const StackOptions&, const AnyOptions&)> fault;
  /// How weights that read the cell's output start, where the model does not say.
  std::function<Init(const AnyOptions&)> output_start;
  /// What it gives are probabilities of its units: an output is a mixture of what they would say, and the loss gets the
  /// logarithm of that.
  bool says_probabilities = false;
  /// The seed of the random graph that the cell is made on. Such a cell starts from symbol frequencies.
  std::function<Index&(AnyOptions&)> graph;
  /// Makes a version with at most so many units, for checks.
  std::function<void(StackOptions&, AnyOptions&, Index most)> cut_down;
  std::vector<Spelling> spellings;
  /// False: it reads its input otherwise than by terms of affine maps, so what is joined is gathered for it first.
  bool reads_joined = true;
  /// Of a cell over trees, from the leaves to the root: how many children of a node it tells apart; 0: it adds up all
  /// of them. Empty: it reads no trees.
  std::function<Index(const AnyOptions&)> children;
  bool reads_trees() const { return static_cast<bool>(children); }
  /// Of a cell over grids, which reads what is to the left and above. Empty: it is none.
  std::function<GridStack(const AnyOptions&)> grid;
  bool reads_grids() const { return static_cast<bool>(grid); }
  bool reads_sequences() const { return !reads_trees() && !reads_grids(); }
};

/// A cell with options of its own type; becomes a CellEntry.
template <class Options>
struct CellOf {
  std::string name, help;
  Signal (*add)(Circuit&, Signal x, Index units, const Options&);
  Options defaults = {};
  std::function<std::string(const StackOptions&, const Options&)> fault = {};
  Init (*output_start)(const Options&) = nullptr;
  bool says_probabilities = false;
  Index Options::*graph = nullptr;
  void (*cut_down)(StackOptions&, Options&, Index most) = nullptr;
  std::vector<Spelling> spellings = {};
  bool reads_joined = true;
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
    entry.output_start = [start = output_start](const AnyOptions& any) {
      return start != nullptr ? start(any.as<Options>()) : Init::uniform();
    };
    entry.says_probabilities = says_probabilities;
    if (graph != nullptr) entry.graph = [graph = graph](AnyOptions& any) -> Index& { return any.as<Options>().*graph; };
    entry.cut_down = [cut = cut_down](StackOptions& stack, AnyOptions& any, Index most) {
      stack.units = std::min(stack.units, most);
      if (cut != nullptr) cut(stack, any.as<Options>(), most);
    };
    entry.spellings = spellings;
    entry.reads_joined = reads_joined;
    if (children != nullptr)
      entry.children = [children = children](const AnyOptions& any) { return children(any.as<Options>()); };
    if (grid != nullptr) entry.grid = [grid = grid](const AnyOptions& any) { return grid(any.as<Options>()); };
    return entry;
  }
};

/// The option `activation` of cells with any of the usual ones.
template <class Visitor>
void describe_activation(Visitor& v, Map& activation) {
  v("activation", activation, "of the units",
    {{Map::tanh, "tanh"}, {Map::relu, "relu"}, {Map::sigmoid, "sigmoid"}, {Map::softplus, "softplus"}});
}

}  // namespace unfold
