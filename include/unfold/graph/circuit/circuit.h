#pragma once
/// A circuit: one step of a recurrent computation as a data structure.
///
///   Circuit c;
///   Signal x = c.symbols("x", 64);
///   Signal h = c.link(128);                                          // the value of `next` at the previous position
///   Signal next = tanh(c.affine("z", 128, {{"W", x}, {"U", h}}));
///   c.feed(h, next);
///   c.output(c.affine("logits", 64, {{"V", next}}));
///
/// Signals are vectors, one per position. A link is a generalized delay: the value of its source at a predecessor
/// position. A circuit has no notion of time, batches or derivatives: the plan (graph/plan/plan.h) unfolds it over a
/// structure of positions, and every pass is derived from the local rules of four operations:
///
///   affine   b + sum_k x_k W_k; a term whose source is a symbol is a row lookup; a term may have any operator
///            (graph/circuit/operator.h) instead of the matrix W, such as a sparse matrix or a vector map
///   map      an element-wise map of numerics/pointwise.h
///   slice    some columns of a signal (a view, no copy)
///   mask     dropout: 0 or 1/(1-rate), constant for differentiation
///
/// A circuit may have several parts, which run over separate chains: part 0 over the structure, part 1 over the source
/// of the structure, part 2 over the source of part 1, and so on (graph/structure/structure.h). In an encoder-decoder
/// model the decoder is part 0 and the encoder part 1. The part of inputs and links is set with in_part; other nodes
/// belong to the part that they read. Values flow only to parts with lower numbers, through links (Delay::source_last)
/// and operators with a memory (attention). Parts may also be grids: a deeper part is then a finer grid, where a block
/// of positions corresponds to one position of the coarser grid (Delay::block).
///
/// Errors: shapes are checked when the circuit is built. Throws a UsageError that names the node and both sizes.

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "unfold/base/error.h"
#include "unfold/base/types.h"
#include "unfold/graph/circuit/init.h"
#include "unfold/graph/circuit/operator.h"
#include "unfold/graph/circuit/sparse_operator.h"
#include "unfold/graph/circuit/vector_map.h"
#include "unfold/numerics/pointwise.h"

namespace unfold {

class Circuit;

/// A vector at every position. A lightweight handle, valid as long as its circuit.
struct Signal {
  Circuit* circuit = nullptr;
  int id = -1;
  Index size() const;
  bool valid() const { return circuit != nullptr; }
};

/// Which predecessor position a link reads.
struct Delay {
  enum class Along {
    previous,  ///< `steps` earlier in a chain
    next,      ///< `steps` later in a chain (right to left)
    left,
    up,
    right,
    down,   ///< `steps` away in a grid
    child,  ///< the `steps`-th child in a tree (counted from 0)
    first,  ///< the first position of the same chain
    last,   ///< the last position of the same chain
    source_first,
    source_last,   ///< the first or last position of the source chain in a deeper part
    source_start,  ///< like source_last, but only at the first position of the chain; zero elsewhere
    children,      ///< all children in a tree: their sum, in any order
    each_child,    ///< the first `steps` children in a tree, concatenated: `steps` times as wide as the source
    parent,        ///< the parent in a tree
    /// the `steps` x `steps` positions of a finer grid in a deeper part that correspond to a position: concatenated in
    /// raster order, zero beyond the edge of the finer grid
    block
  };
  Along along = Along::previous;
  Index steps = 1;

  static Delay previous(Index k = 1) { return {Along::previous, k}; }
  static Delay next(Index k = 1) { return {Along::next, k}; }
  static Delay left(Index k = 1) { return {Along::left, k}; }
  static Delay up(Index k = 1) { return {Along::up, k}; }
  static Delay right(Index k = 1) { return {Along::right, k}; }
  static Delay down(Index k = 1) { return {Along::down, k}; }
  static Delay child(Index i) { return {Along::child, i}; }
  static Delay children() { return {Along::children, 1}; }
  static Delay each_child(Index k) { return {Along::each_child, k}; }
  static Delay parent() { return {Along::parent, 1}; }
  static Delay block(Index side) { return {Along::block, side}; }
  static Delay first() { return {Along::first, 1}; }
  static Delay last() { return {Along::last, 1}; }
  static Delay source_first() { return {Along::source_first, 1}; }
  static Delay source_last() { return {Along::source_last, 1}; }
  static Delay source_start() { return {Along::source_start, 1}; }
  /// Returns whether every position of a chain reads the same position: if so, the link cannot be part of a loop (the
  /// plan throws UsageError).
  bool to_end() const { return along == Along::first || along == Along::last; }
  /// Returns whether the link reads a chain of a deeper part.
  bool crosses() const {
    return along == Along::source_first || along == Along::source_last || along == Along::source_start ||
           along == Along::block;
  }
  /// Returns whether the link reads toward the leaves of a tree.
  bool reads_children() const {
    return along == Along::child || along == Along::children || along == Along::each_child;
  }
  /// Returns the width of the link in multiples of the width of its source.
  Index width() const { return along == Along::each_child ? steps : along == Along::block ? steps * steps : 1; }
  bool operator==(const Delay&) const = default;
};
std::string describe(const Delay& delay);
/// Returns the delay with the same number of steps in the opposite direction; links that cross parts are unchanged.
/// Throws UsageError in a tree, which has no opposite direction.
Delay opposite(const Delay& delay);

/// A parameter: a named matrix [rows x cols] within the contiguous vector of all parameters.
struct ParameterInfo {
  std::string name;
  Index rows = 0, cols = 0;
  Init init;
  Index offset = 0;  ///< offset in the vector, where parameters are sorted by name
  Index size() const { return rows * cols; }
};

/// One term of an affine map. `parameter` names its weights in the affine map ("W" of "z" is "z/W"); `init` is their
/// initialization. Without an operator the term is x W, or the rows of W that symbols look up. With `op` the term is
/// this operator applied to the source. Some operators have further inputs: `gate` (a symbol signal), the memory `keys`
/// and `values` (signals of a deeper part), or `symbols` for an operator that reads only symbols; its first element is
/// the source.
struct Term {
  std::string_view parameter;
  Signal source;
  Init init = Init::uniform();
  std::shared_ptr<const Operator> op = nullptr;
  Signal gate = {};
  Signal keys = {}, values = {};
  std::vector<Signal> symbols = {};
};

/// Lifetime of a dropout mask: one per position, or one for all positions of a sequence or window (variational dropout;
/// Gal & Ghahramani 2016).
enum class Lasts : unsigned char { position, sequence };

/// A signal of a circuit: its name, its size, and the operation that computes it. Every operation is a separate type
/// that contains only what this operation needs. A pass switches over kind(), without a default, so that the compiler
/// reports every pass that does not handle a new operation.
struct Node {
  enum class Kind { input, symbols, link, affine, pointwise, slice, mask, reorder };  ///< in the order of Operation

  struct Input {};
  struct Symbols {};
  struct Link {
    Delay delay = {};
    int source = -1;   ///< index of the node that feeds it
    int initial = -1;  ///< parameter [1 x size] with the value beyond the boundary, or -1 for zero
  };
  struct AffineTerm {
    int parameter;  ///< index into Circuit::parameters()
    int source;     ///< node index
    std::shared_ptr<const Operator> op = nullptr;
    int gate = -1;                                ///< node index, or -1
    int keys = -1, values = -1;                   ///< node indices of the memory, or -1
    std::vector<int> symbols = {};                ///< node indices, for an operator that reads only symbols
    bool dense() const { return op == nullptr; }  ///< a matrix, or a row lookup
  };
  struct Affine {
    std::vector<AffineTerm> terms = {};
    int bias = -1;     ///< parameter [1 x size], or -1
    int awake = -1;    ///< index of the node whose first component is nonzero where the value is needed, or -1
    Index period = 1;  ///< with `awake`: the value is needed at one of `period` positions
  };
  struct Pointwise {
    Map map = Map::copy;
    std::array<int, 2> operands = {-1, -1};  ///< node indices; the second is -1 for a map of one operand
    double constant = 0;                     ///< the number k of maps such as `scale`
  };
  struct Slice {
    int operand = -1;  ///< node index
    Index offset = 0;
  };
  struct Mask {
    double rate = 0;
    Lasts lasts = Lasts::position;
  };
  /// Added only by plans: the operand in the row order of another corner.
  struct Reorder {
    int operand = -1;  ///< node index
  };
  using Operation = std::variant<Input, Symbols, Link, Affine, Pointwise, Slice, Mask, Reorder>;

  std::string name;  ///< full path, for messages and the printed plan
  Index size = 0;    ///< number of components; for symbols, the size of the alphabet
  int part = 0;      ///< part of the circuit
  Operation operation = Input{};

  Kind kind() const { return static_cast<Kind>(operation.index()); }
  /// Return the operation. Throw UsageError if the node has another one.
  const Link& link() const { return as<Link>(); }
  const Affine& affine() const { return as<Affine>(); }
  const Pointwise& pointwise() const { return as<Pointwise>(); }
  const Slice& slice() const { return as<Slice>(); }
  const Mask& mask() const { return as<Mask>(); }
  const Reorder& reorder() const { return as<Reorder>(); }
  /// Returns the terms of an affine map; any other operation has none.
  std::span<const AffineTerm> terms() const {
    const auto* map = std::get_if<Affine>(&operation);
    return map != nullptr ? std::span<const AffineTerm>(map->terms) : std::span<const AffineTerm>();
  }
  /// Returns the parameter of a link's trained initial value; -1 if there is none.
  int trained_initial() const {
    const auto* link = std::get_if<Link>(&operation);
    return link != nullptr ? link->initial : -1;
  }
  /// Returns the indices of all nodes that the operation reads, at any position.
  std::vector<int> reads() const;
  /// Replaces the index of a node that is read.
  void replace_read(int from, int to);

 private:
  template <class Alternative>
  const Alternative& as() const {
    if (const auto* held = std::get_if<Alternative>(&operation)) return *held;
    throw_other_operation();
  }
  [[noreturn]] void throw_other_operation() const;
};

class Circuit {
 public:
  Circuit() = default;
  Circuit(const Circuit&) = delete;  // signals point to their circuit
  Circuit& operator=(const Circuit&) = delete;

  Signal input(std::string_view name, Index size);        ///< a real vector at every position
  Signal symbols(std::string_view name, Index alphabet);  ///< one symbol at every position; read by affine terms
  /// Returns a signal whose value is the value of another signal at a predecessor position; the other signal is set
  /// later with `feed`. Beyond the boundary the value is zero, the carried state, or, if `trained_initial`, a trained
  /// vector (not allowed along `first` and `last`, which have no boundary, and along `each_child`).
  Signal link(Index size, Delay delay = {}, bool trained_initial = false);
  /// While the returned object exists, links are reversed: previous becomes next, left becomes right, up becomes down.
  /// A cell added while it exists reads its sequence from the end: { auto backward = c.reversed(); y = lstm(c, x, n); }
  class Reversal;
  [[nodiscard]] Reversal reversed();
  /// While the returned object exists, links in grids are mirrored along rows (left becomes right), along columns (up
  /// becomes down), or both: a cell added while it exists reads its grid from another corner.
  class Mirror;
  [[nodiscard]] Mirror mirrored(bool rows, bool columns);
  void feed(Signal link, Signal source);
  /// While the returned object exists, inputs, symbols and links are added to the given part of the circuit.
  class InPart;
  [[nodiscard]] InPart in_part(int part);
  /// While the returned object exists, links along `previous` in part 0 have the initial value tanh(signal Q), or
  /// relu(signal Q) if `signal` is a ReLU, instead of zero, with a separate trained matrix Q for each link (trained
  /// initial states are unchanged). `signal` belongs to a deeper part, and its value at the last position of the source
  /// chain is used: a cell starts from the state of an encoder. A default-constructed signal restores zero.
  class Beginning;
  [[nodiscard]] Beginning with_initial_state(Signal signal);
  /// Adds a link with the delay and the name of the trained initial state of a node of another circuit.
  Signal link_like(const Node& node, const std::vector<ParameterInfo>& parameters);

  /// name [size] = bias + sum of terms. Parameters: name/<term> [term source size x size] (with an operator, the shape
  /// that it requires), name/bias.
  Signal affine(std::string_view name, Index size, const std::vector<Term>& terms, const Init& bias = Init::zero(),
                bool with_bias = true);
  Signal map(Map map, Signal x, double k = 0);
  Signal map(Map map, Signal x, Signal y);
  Signal slice(Signal x, Index offset, Index size);
  template <std::size_t k>
  std::array<Signal, k> split(Signal x);
  /// Concatenates signals. Only terms of affine maps can read the result; such a term has one matrix per part, "W1",
  /// "W2", ..., instead of a single "W" with all rows.
  Signal join(std::vector<Signal> parts);
  /// Returns the signals that were joined to x, or x itself.
  std::vector<Signal> parts(Signal x) const;
  /// Applies dropout with the given rate: in training, sets components to zero with probability `rate` and scales the
  /// others.
  Signal dropout(Signal x, double rate, Lasts lasts = Lasts::position);
  /// Adds a copy of a dropout mask of another circuit. It has the same name and therefore the same random draws.
  Signal mask_like(const Node& mask);
  /// Declares that nothing depends on the affine map at positions where the first component of `awake` is 0, because
  /// all readers of the map multiply it by this component. The map is computed only at the other positions and is 0
  /// elsewhere. `awake` has values 0 and 1, depends on no parameter, and is 1 at one of `period` positions (used for
  /// cost estimates). Throws UsageError if this was already declared for the map, or if the map has a memory.
  void compute_only_where(Signal affine, Signal awake, Index period);

  /// Adds a parameter [rows x cols] that no operation of the circuit reads, for a loss (loss/loss.h) that adds the
  /// gradient itself. Returns its index.
  int parameter(std::string_view name, Index rows, Index cols, const Init& init);

  /// Declares a signal as an output: its value may be read and its adjoint seeded from outside.
  void output(Signal x);

  /// Prefixes names with "scope/" during its lifetime: { auto layer = c.scope("layer1"); ... }.
  class Scope {
   public:
    Scope(Circuit& c, std::string_view name);
    ~Scope();
    Scope(const Scope&) = delete;

   private:
    Circuit& circuit_;
    std::size_t length_;
  };
  [[nodiscard]] Scope scope(std::string_view name) { return Scope(*this, name); }

  /// Returns whether x belongs to this circuit and is a symbol signal.
  bool is_symbols(Signal x) const;
  /// Returns whether a node of the circuit reads x.
  bool is_read(Signal x) const;
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<int>& outputs() const { return outputs_; }
  /// Returns the parameters in order of creation. `offset` follows the order of names and is final once every affine
  /// map exists.
  const std::vector<ParameterInfo>& parameters() const { return parameters_; }
  Index parameter_count() const;  ///< number of elements of all parameters
  /// Throws a UsageError that names the node if the circuit is incomplete: a link that is not fed, or no output.
  void validate() const;

 private:
  friend struct Signal;
  Signal add(Node node);
  int add_parameter(std::string name, Index rows, Index cols, const Init& init);
  Node::AffineTerm add_term(const Node& affine, const Term& term);
  Node::AffineTerm add_operator(const Node& affine, const Term& term);
  Node::AffineTerm add_symbol_operator(const Node& affine, const Term& term, const std::string& name,
                                       const std::string& who);
  std::string path(std::string_view name) const;
  const Node& own(Signal s, std::string_view who) const;
  void check_part(const Node& node, Signal read) const;
  Signal add_initial_state(Signal link);
  Delay turned(const Delay& delay) const;

  std::vector<Node> nodes_;
  std::vector<std::vector<Signal>> joins_;  // a signal with the id -1 - i stands for joins_[i]
  bool reversed_ = false;
  bool mirrored_rows_ = false, mirrored_columns_ = false;
  int part_ = 0;
  Signal start_ = {};                       // signal that determines the initial values of links, if any
  std::vector<std::pair<int, int>> begun_;  // pairs: a link with its initial value added, and the link itself
  std::vector<int> outputs_;
  std::vector<ParameterInfo> parameters_;
  std::string prefix_;
};

class Circuit::Reversal {
 public:
  explicit Reversal(Circuit& c) : circuit_(c) { c.reversed_ = !c.reversed_; }
  ~Reversal() { circuit_.reversed_ = !circuit_.reversed_; }
  Reversal(const Reversal&) = delete;

 private:
  Circuit& circuit_;
};
inline Circuit::Reversal Circuit::reversed() { return Reversal(*this); }

class Circuit::Mirror {
 public:
  Mirror(Circuit& c, bool rows, bool columns) : circuit_(c), rows_(c.mirrored_rows_), columns_(c.mirrored_columns_) {
    c.mirrored_rows_ = rows_ != rows, c.mirrored_columns_ = columns_ != columns;
  }
  ~Mirror() { circuit_.mirrored_rows_ = rows_, circuit_.mirrored_columns_ = columns_; }
  Mirror(const Mirror&) = delete;

 private:
  Circuit& circuit_;
  bool rows_, columns_;
};
inline Circuit::Mirror Circuit::mirrored(bool rows, bool columns) { return {*this, rows, columns}; }

class Circuit::InPart {
 public:
  InPart(Circuit& c, int part) : circuit_(c), before_(c.part_) { c.part_ = part; }
  ~InPart() { circuit_.part_ = before_; }
  InPart(const InPart&) = delete;

 private:
  Circuit& circuit_;
  int before_;
};

class Circuit::Beginning {
 public:
  Beginning(Circuit& c, Signal signal) : circuit_(c), before_(c.start_) { c.start_ = signal; }
  ~Beginning() { circuit_.start_ = before_; }
  Beginning(const Beginning&) = delete;

 private:
  Circuit& circuit_;
  Signal before_;
};

Signal operator+(Signal x, Signal y);
Signal operator-(Signal x, Signal y);
Signal operator*(Signal x, Signal y);
Signal operator*(double k, Signal x);
Signal operator+(Signal x, double k);
Signal operator-(double k, Signal x);  ///< for gates such as 1 - f
Signal sigmoid(Signal x);
Signal tanh(Signal x);
Signal hard_sigmoid(Signal x);
Signal relu(Signal x);
Signal softplus(Signal x);
Signal exp(Signal x);
Signal log(Signal x);
Signal square(Signal x);
Signal one_minus(Signal x);

template <std::size_t k>
std::array<Signal, k> Circuit::split(Signal x) {
  static_assert(k > 0);
  constexpr auto parts = static_cast<Index>(k);
  if (x.size() % parts != 0)
    throw UsageError("split: a signal of size " + std::to_string(x.size()) + " cannot be cut into " +
                     std::to_string(k) + " equal parts");
  const Index n = x.size() / parts;
  std::array<Signal, k> result;
  for (std::size_t i = 0; i < k; ++i) result[i] = slice(x, static_cast<Index>(i) * n, n);
  return result;
}

/// Adds the squared, linearized circuit of the path pass (path-SGD) to `result`: every ReLU becomes the identity, every
/// derivative is squared, symbols become inputs, and every bias becomes the weights of an additional input. With
/// squared parameters and all inputs one, its outputs are sums over paths of products of squared weights; it is linear
/// in its inputs, except for products. Returns the signal in `result` for each node of `circuit`. A given `probe` is an
/// affine node; an additional input named "probe" is added to its pre-activation. Throws a UsageError that names the
/// first map that is not positively homogeneous.
std::vector<Signal> path_reading(const Circuit& circuit, Circuit& result, int probe = -1);

}  // namespace unfold
