#pragma once
/// Execution plan: a circuit divided into strongly connected components, computed once. Nodes without links run batched
/// over all positions, before or after the loops; only the recurrent components run step by step. A plan is immutable,
/// can be shared and can be printed.
///
/// Stages alternate: stage 0 batched, stage 1 loops, stage 2 batched, ... Within a segment, items run in order; the
/// backward pass runs everything in reverse. A sequence of element-wise maps is one item (a program executed tile by
/// tile).
///
/// Order of summation, for every plan and for the stepper: an affine map starts from its bias, then adds its symbol
/// lookups, its terms from outside its loop and its terms from inside the loop, each group in declaration order.
///
/// The squared passes are sums over paths. Therefore the plan moves, batches and fuses operations but never rewrites
/// them algebraically.

#include <memory>
#include <string>
#include <vector>

#include "unfold/graph/circuit/circuit.h"
#include "unfold/graph/structure/structure.h"

namespace unfold {

/// Optimizations that can be disabled individually. They must not change the results; tests disable them to isolate
/// faults.
struct PlanOptions {
  bool hoist = true;     ///< terms from outside a loop are computed for all positions before the loop
  bool fuse = true;      ///< sequences of maps become one item
  bool in_place = true;  ///< a map may overwrite an operand that has no further readers
  bool scratch = true;   ///< values and adjoints without other readers stay in the tile
  bool ring = true;      ///< adjoints inside a loop keep only 1 + max delay steps
  bool chain = true;     ///< over a single chain, a loop of one sparse recurrence runs as a single kernel
  /// Not an optimization: if true, derivatives with respect to the inputs are computed as well
  /// (Unfolding::input_adjoint).
  bool input_derivatives = false;
};

/// An operation of the plan over a range of rows.
struct Item {
  enum class Kind { affine, pointwise, gather, reorder, mask };
  struct Part {         ///< affine: one term executed here
    int term;           ///< index into the node's terms
    bool adjoint_sets;  ///< backward: the adjoint of the source is set, not added to
  };
  Kind kind = Kind::affine;
  int node = -1;                 ///< affine, gather (a link), reorder, mask
  bool start = false;            ///< affine: starts from the bias (other items of the same node accumulate)
  std::vector<Part> parts = {};  ///< affine
  std::vector<int> nodes = {};   ///< pointwise: maps in order
  /// pointwise: one flag per (map, operand): backward sets the operand's adjoint instead of adding to it
  std::vector<std::array<bool, 2>> sets = {};
  bool adjoint_sets = false;  ///< reorder: as above
};

struct Segment {
  bool loop = false;
  int stage = 0;
  int part = 0;                      ///< part of the circuit that all its nodes belong to
  Corner corner = Corner::top_left;  ///< row order of the segment
  bool descending = false;           ///< steps run from the last to the first (links along `next`)
  bool rows_independent = true;      ///< no item reads rows of other sequences; outside loops, no other rows
  std::vector<Item> items = {};
};

/// Location of the values (or adjoints) of a node: columns [column, column + size) of the buffer of `root`, `shift`
/// steps back.
struct Place {
  int root = -1;  ///< -1: scratch of the tile
  Index column = 0;
  Index shift = 0;
  bool scratch() const { return root < 0; }
};

/// How the adjoint buffer of a root is initialized, and how many steps it keeps.
struct AdjointBuffer {
  bool exists = false;
  bool zeroed = false;  ///< zeroed before the pass; every writer adds
  /// If > 0: only rows without a successor `tail` steps later are initialized, with zero or from the carried adjoint.
  Index tail = 0;
  bool ring = false;  ///< keeps 1 + history steps only
};

class Plan {
 public:
  /// The signals in `watched` become additional outputs, as if declared with `output`.
  explicit Plan(const Circuit& circuit, const PlanOptions& options = {}, const std::vector<Signal>& watched = {});
  /// Plans the computation of `outputs` instead of the declared outputs. Nodes that these outputs do not depend on are
  /// omitted.
  Plan(const Circuit& circuit, std::vector<int> outputs, const PlanOptions& options = {});

  /// Returns the circuit that the plan was made from, used to recognize its signals; it may have been destroyed.
  const Circuit* circuit() const { return circuit_; }
  /// Returns the nodes of the circuit, then those that the plan added.
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<ParameterInfo>& parameters() const { return parameters_; }
  Index parameter_count() const { return parameter_count_; }
  const std::vector<Segment>& segments() const { return segments_; }
  const std::vector<int>& outputs() const { return outputs_; }

  /// Returns whether a node contains symbols, possibly in the order of another corner.
  bool is_symbols(int node) const;
  bool live(int node) const { return live_[at(node)]; }  ///< whether some output depends on it
  bool needs_adjoint(int node) const { return needs_adjoint_[at(node)]; }
  /// Returns the node that readers outside a loop use: the node itself or its copy at the exit of the loop.
  int outside(int node) const { return exit_[at(node)] >= 0 ? exit_[at(node)] : node; }
  /// Returns the segment after which a backward pass has accumulated the complete adjoint of a live affine map.
  int last_segment(int affine) const { return last_segment_[at(affine)]; }
  bool is_exit(int node) const { return is_exit_[at(node)]; }
  Corner corner(int node) const { return corner_[at(node)]; }

  const Place& value_place(int node) const { return value_[at(node)]; }
  const Place& adjoint_place(int node) const { return adjoint_[at(node)]; }
  const AdjointBuffer& adjoint_buffer(int root) const { return adjoint_buffer_[at(root)]; }
  /// Returns the number of history steps that a root's buffer keeps before the first position (its largest delay along
  /// `previous`).
  Index history(int root) const { return history_[at(root)]; }
  /// A root with history and the node that feeds its links, in order (for the carried state).
  struct Carried {
    int source;   ///< node that feeds `previous` links
    Index steps;  ///< number of past values
    int initial;  ///< parameter of the values beyond the boundary, or -1
    /// Position in a state slot: `steps` rows of the source's size, most recent first. Unused for deeper parts.
    Index offset;
  };
  const std::vector<Carried>& carried() const { return carried_; }
  /// A link along `first`: its value stays in the state for later windows of the sequence.
  struct Kept {
    int link;
    Index offset;  ///< position in a state slot; one row of the link's size
  };
  const std::vector<Kept>& kept() const { return kept_; }
  Index state_width() const { return state_width_; }

  /// Returns whether recomputing windows in the backward pass gives bit-identical results, which requires that every
  /// link runs along `previous` inside a loop.
  bool recomputable() const { return recomputable_; }
  bool may_run_as_chain() const { return chain_; }  ///< PlanOptions::chain
  /// Return the multiply-adds of the forward pass per position (a lower bound for benchmarks) and the number of packed
  /// loop weights.
  double flops_per_position() const;
  Index loop_weights() const;

  std::string print() const;

 private:
  friend class PlanBuilder;
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  const Circuit* circuit_ = nullptr;
  std::vector<Node> nodes_;
  std::vector<ParameterInfo> parameters_;
  Index parameter_count_ = 0;
  std::vector<Segment> segments_;
  std::vector<int> outputs_;
  std::vector<char> live_, needs_adjoint_, is_exit_;
  std::vector<int> exit_, last_segment_;
  std::vector<Corner> corner_;
  std::vector<Place> value_, adjoint_;
  std::vector<AdjointBuffer> adjoint_buffer_;
  std::vector<Index> history_;
  std::vector<Carried> carried_;
  std::vector<Kept> kept_;
  Index state_width_ = 0;
  bool recomputable_ = true;
  bool chain_ = true;
};

}  // namespace unfold
