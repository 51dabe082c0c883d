#pragma once
/// A circuit: one step of a recurrent computation as data.
///
///   Circuit c;
///   Signal x = c.symbols("x", 64);
///   Signal h = c.link(128);                                          // what `next` was at the previous position
///   Signal next = tanh(c.affine("z", 128, {{"W", x}, {"U", h}}));
///   c.feed(h, next);
///   c.output(c.affine("logits", 64, {{"V", next}}));
///
/// Signals are vectors, one per position. A `Link` is a delay seen generally: the value of its source at a predecessor
/// position. Nothing here knows about time, batches or derivatives: the plan (engine/plan.h) lays the circuit over a
/// structure of positions, and every pass follows from the local rules of four operations:
///
///   affine   b + sum_k x_k W_k; a term whose source is a symbol is a row lookup; in place of the matrix W a term may
///            have any operator (circuit/operator.h), sparse ones and vector maps among them
///   map      an element-wise map of numerics/pointwise.h
///   slice    some columns of a signal (a view, no copy)
///   mask     dropout: 0 or 1/(1-rate), constant for differentiation
///
/// A circuit may have parts, which run over chains of their own: part 0 over the structure, part 1 over its source,
/// part 2 over the source of that (engine/structure.h). An encoder is such a part, and its decoder part 0. Inputs and
/// links say what part they are of (in_part); whatever else is of the part of what it reads. Values cross from a part
/// to one of a lower number, by links (Delay::source_last) and by operators with a memory (circuit/attention.h). Parts
/// may be grids, too: of a deeper one, finer, each position of the other stands for a block (Delay::block).
///
/// Errors: shapes are checked here, when the circuit is built: UsageError naming the node and both sizes.

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unfold/base/error.h"
#include "unfold/base/types.h"
#include "unfold/circuit/init.h"
#include "unfold/circuit/operator.h"
#include "unfold/circuit/sparse_operator.h"
#include "unfold/circuit/vector_map.h"
#include "unfold/numerics/pointwise.h"

namespace unfold {

class Circuit;

/// A vector at every position. A cheap handle; valid as long as its circuit.
struct Signal {
  Circuit* circuit = nullptr;
  int id = -1;
  Index size() const;
  bool valid() const { return circuit != nullptr; }
};

/// Where a link looks: the predecessor position.
struct Delay {
  enum class Along {
    previous,  ///< `steps` earlier in a chain
    next,      ///< `steps` later in a chain (right to left)
    left,
    up,
    right,
    down,   ///< `steps` away in a grid
    child,  ///< the `steps`-th child in a tree (counted from 0)
    first,  ///< the first position of the own chain, whatever the position
    last,   ///< the last position of the own chain, whatever the position
    source_first,
    source_last,   ///< the first, the last position of the chain of a deeper part that the position looks at
    source_start,  ///< as source_last, at the first position of the own chain alone; elsewhere it is zero
    children,      ///< all children in a tree: the sum, whatever their order
    each_child,    ///< the first `steps` children in a tree, one behind the other: `steps` times as wide as its source
    parent,        ///< the parent in a tree
    block          ///< the `steps` x `steps` positions of a finer grid, of a deeper part, that a position of a grid
                   ///< stands for: one behind the other in raster order, zero where the finer grid has ended
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
  /// Whether every position of a chain reads the same one: such a link is never part of a loop (UsageError of the
  /// plan).
  bool to_end() const { return along == Along::first || along == Along::last; }
  /// Whether it looks at a chain of a deeper part.
  bool crosses() const {
    return along == Along::source_first || along == Along::source_last || along == Along::source_start ||
           along == Along::block;
  }
  /// Whether it looks towards the leaves of a tree.
  bool to_children() const { return along == Along::child || along == Along::children || along == Along::each_child; }
  /// Components of a link for each of its source.
  Index width() const { return along == Along::each_child ? steps : along == Along::block ? steps * steps : 1; }
  bool operator==(const Delay&) const = default;
};
std::string describe(const Delay& delay);
/// The same number of steps the other way; what crosses stays as it is. Throws UsageError in a tree, where there is no
/// other way.
Delay opposite(const Delay& delay);

/// A parameter: a named matrix [rows x cols] inside the one contiguous vector of all parameters.
struct ParameterInfo {
  std::string name;
  Index rows = 0, cols = 0;
  Init init;
  Index offset = 0;  ///< in the vector; parameters lie in the order of their names
  Index size() const { return rows * cols; }
};

/// One term of an affine map. `parameter` names its weights in the affine map ("W" of "z" is "z/W"); `init` their
/// start. Without an operator it is x W, or the rows of W that symbols look up. With `op` it is that operator of its
/// source; one that reads a gate gets it from `gate` (symbols), one with a memory from `keys` and `values`, signals of
/// a deeper part. One that reads symbols alone gets them from `symbols`, whose first is the source.
struct Term {
  std::string_view parameter;
  Signal source;
  Init init = Init::uniform();
  std::shared_ptr<const Operator> op = nullptr;
  Signal gate = {};
  Signal keys = {}, values = {};
  std::vector<Signal> symbols = {};
};

/// How long a dropout mask lasts: each position has its own, or all positions of a sequence (of a window of it) have
/// one (variational dropout; Gal & Ghahramani 2016).
enum class Lasts : unsigned char { position, sequence };

struct Node {
  enum class Kind {
    input,
    symbols,
    link,
    affine,
    map,
    slice,
    mask,
    reorder  ///< made by the plan only: the operand in the row order of another corner
  };
  struct AffineTerm {
    int parameter;  ///< index into Circuit::parameters()
    int source;     ///< node
    std::shared_ptr<const Operator> op = nullptr;
    int gate = -1;                                ///< node, or -1
    int keys = -1, values = -1;                   ///< nodes of the memory, or -1
    std::vector<int> symbols = {};                ///< nodes, of an operator that reads symbols alone
    bool dense() const { return op == nullptr; }  ///< a matrix, or the rows that symbols look up
  };
  Kind kind = Kind::input;
  std::string name;  ///< path name, for messages and the printed plan
  Index size = 0;    ///< of symbols: the alphabet
  int part = 0;      ///< of the circuit

  std::vector<AffineTerm> terms = {};      // affine
  int bias = -1;                           // affine: parameter [1 x size], or -1
  Map map = Map::copy;                     // map
  std::array<int, 2> operands = {-1, -1};  // map; slice: operands[0]
  double constant = 0;                     // map: k; mask: rate
  Index offset = 0;                        // slice
  Delay delay = {};                        // link
  int source = -1;                         // link: node fed to it
  int initial = -1;                        // link: parameter [1 x size] of the value beyond the boundary, or -1: zero
  Lasts lasts = Lasts::position;           // mask
  int awake = -1;                          // affine: node whose first component says where it is wanted, or -1
  Index period = 1;                        // affine with `awake`: it is wanted at one of so many positions
};

class Circuit {
 public:
  Circuit() = default;
  Circuit(const Circuit&) = delete;  // signals point to their circuit
  Circuit& operator=(const Circuit&) = delete;

  Signal input(std::string_view name, Index size);        ///< a real vector given at every position
  Signal symbols(std::string_view name, Index alphabet);  ///< one symbol given at every position; read by affine terms
  /// The value of a signal (given later by `feed`) at a predecessor position; beyond the boundary it is zero, the
  /// carried state, or a trained vector when `trained_initial` (not along `first` and `last`, which have no boundary,
  /// nor along `each_child`).
  Signal link(Index size, Delay delay = {}, bool trained_initial = false);
  /// While what this returns lives, links look the other way: previous is next, left is right, up is down. A cell added
  /// then reads its sequence from the end: { auto backward = c.reversed(); y = lstm(c, x, n); }
  class Reversal;
  [[nodiscard]] Reversal reversed();
  /// While what this returns lives, links in grids look the other way along rows (left is right), along columns (up is
  /// down), or both: a cell added then reads its grid from another corner.
  class Mirror;
  [[nodiscard]] Mirror mirrored(bool rows, bool columns);
  void feed(Signal link, Signal source);
  /// While what this returns lives, inputs, symbols and links added are of a part of the circuit.
  class InPart;
  [[nodiscard]] InPart in_part(int part);
  /// While what this returns lives, links along `previous` of part 0 begin with tanh(signal Q), a trained map Q for
  /// each, in place of zero (a trained start stays what it is). `signal` is of a deeper part; what it is at the last
  /// position of the chain seen counts. A cell added then starts from what an encoder found.
  class Beginning;
  [[nodiscard]] Beginning starting_from(Signal signal);
  /// A link with the delay, and the name of the trained start, of a node of another circuit.
  Signal link_like(const Node& node, const std::vector<ParameterInfo>& parameters);

  /// name [size] = bias + sum of terms. Parameters: name/<term> [term source size x size] (with an operator, of the
  /// shape that it says), name/bias.
  Signal affine(std::string_view name, Index size, const std::vector<Term>& terms, const Init& bias = Init::zero(),
                bool with_bias = true);
  Signal map(Map map, Signal x, double k = 0);
  Signal map(Map map, Signal x, Signal y);
  Signal slice(Signal x, Index offset, Index size);
  template <std::size_t k>
  std::array<Signal, k> split(Signal x);
  /// Several signals read as one, of the sizes' sum. Only terms of affine maps read it; such a term has a matrix for
  /// each part, "W1", "W2", ... where there would be one "W" with the rows of all.
  Signal join(std::vector<Signal> parts);
  /// Those that were joined to x, or x itself.
  std::vector<Signal> parts(Signal x) const;
  /// Dropout with the given rate: zeroes components with probability `rate` and scales the others, in training only.
  Signal dropout(Signal x, double rate, Lasts lasts = Lasts::position);
  /// What dropout multiplies by: the mask of another circuit, whose draws it shares because it has its name.
  Signal mask_like(const Node& mask);
  /// A promise: nothing depends on the affine map where the first component of `awake` is 0, because whoever reads it
  /// multiplies by that; it is computed elsewhere alone, and is 0 there. `awake` holds 0 and 1, depends on no parameter
  /// and is 1 at one of `period` positions (for costs). UsageError: one has no such promise twice, nor a memory.
  void only_where(Signal affine, Signal awake, Index period);

  /// A parameter [rows x cols] that no operation here reads: of a loss (losses/loss.h), which adds its gradient itself.
  /// Returns its index.
  int parameter(std::string_view name, Index rows, Index cols, const Init& init);

  /// Declares a signal whose value is read, or whose adjoint is seeded, from outside.
  void output(Signal x);

  /// Names inside a scope are prefixed "scope/": { auto layer = c.scope("layer1"); ... }.
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

  /// Whether x is the circuit's and one symbol at every position.
  bool holds_symbols(Signal x) const;
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<int>& outputs() const { return outputs_; }
  /// In order of creation; `offset` is by order of names and final once every affine map exists.
  const std::vector<ParameterInfo>& parameters() const { return parameters_; }
  Index parameter_count() const;  ///< numbers in all parameters
  /// Throws UsageError naming the node when something is missing: a link that nothing feeds, no output.
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
  Signal begin_link(Signal link);
  Delay turned(const Delay& delay) const;

  std::vector<Node> nodes_;
  std::vector<std::vector<Signal>> joins_;  // a signal with the id -1 - i stands for joins_[i]
  bool reversed_ = false;
  bool mirrored_rows_ = false, mirrored_columns_ = false;
  int part_ = 0;
  Signal start_ = {};                       // of links, if they begin with a map of it
  std::vector<std::pair<int, int>> begun_;  // what such a link reads as, and the link
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
Signal operator-(double k, Signal x);  ///< 1 - f, of gates
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

/// The squared, linearised circuit of the path pass (path-SGD): every ReLU read as identity, every slope squared, every
/// symbol input as a vector of ones, every bias as the weights of one more input. With parameters squared and all
/// inputs one, its outputs are sums over paths of products of squared weights; it is linear in its inputs. Returns the
/// signal of each node of `circuit`. `probe`: an affine node whose pre-activation gets one more input added to it,
/// named "probe". Throws UsageError naming the first map that is not positively homogeneous.
std::vector<Signal> path_reading(const Circuit& circuit, Circuit& result, int probe = -1);

}  // namespace unfold
