#pragma once
/// The components of an unfolding and the functionality shared by its passes. Internal to engine/.

#include <algorithm>

#include "graph/engine/boundary.h"
#include "graph/engine/chain_loop.h"
#include "graph/engine/dropout_masks.h"
#include "graph/engine/map_programs.h"
#include "graph/engine/packed_weights.h"
#include "graph/engine/schedule.h"
#include "unfold/graph/engine/layout.h"

namespace unfold {

template <class T>
struct Parts {
  Parts(std::shared_ptr<const Plan> plan, Team& team, Precision precision);
  Parts(const Parts&) = delete;  // its members refer to each other
  void lay(const Structure& structure, std::span<const Index> slots);

  std::shared_ptr<const Plan> plan;
  Team& team;
  const Parameters<T>* parameters = nullptr;
  Layout<T> layout;      ///< buffers and addresses
  Boundary<T> boundary;  ///< values before the first position
  Programs programs;     ///< compiled element-wise maps
  ProgramRunner<T> runner;
  Schedule schedule;  ///< order of the items and division among threads
  PackedWeights<T> weights;
  ChainLoops chains;
  Masks masks;
  std::vector<Buffer<T>> operator_scratch;  ///< one buffer per thread
};

/// Base class of the passes over the parts of an unfolding. An object is created for each pass and stores no values.
template <class T>
class PassBase {
 public:
  explicit PassBase(Parts<T>& parts)
      : parts_(parts), plan_(*parts.plan), layout_(parts.layout), schedule_(parts.schedule) {}

 protected:
  const Node& node(int i) const { return layout_.node(i); }
  const Node::AffineTerm& term_of(const Item& item, const Item::Part& part) const {
    return node(item.node).terms()[static_cast<std::size_t>(part.term)];
  }
  const Segment& segment(std::size_t g) const { return plan_.segments()[g]; }
  const Parameters<T>& parameters() const { return *parts_.parameters; }
  Matrix<T> matrix(What what, int i, const Work& work) { return layout_.matrix(what, i, work.step, work.rows); }
  void run_program(const Program& program, const Work& work) { parts_.runner.run(program, layout_, work); }

  /// Returns the data that a term's operator reads at some rows of a step.
  OperatorRows<T> operator_rows(const Member& me, const Node::AffineTerm& term, Index step, Range rows) {
    OperatorRows<T> result{.w = parameters()[term.parameter],
                           .x = term.symbols.empty() ? layout_.matrix(What::value, term.source, step, rows)
                                                     : Matrix<T>{nullptr, rows.size(), 0, 0},
                           .gates = term.gate >= 0 ? layout_.lookup(term.gate) + rows.begin : nullptr,
                           .scratch = parts_.operator_scratch[static_cast<std::size_t>(me.id())].data()};
    for (const int symbols : term.symbols) result.symbols.push_back(layout_.lookup(symbols) + rows.begin);
    if (term.keys < 0) return result;
    result.memory = layout_.memory_of(node(term.source).part, term, rows.begin);
    result.memory.keys = layout_.matrix(What::value, term.keys);
    result.memory.values = layout_.matrix(What::value, term.values);
    return result;
  }
  OperatorRows<T> operator_rows(const Node::AffineTerm& term, const Work& work) {
    return operator_rows(*work.member, term, work.step, work.rows);
  }
  /// Adds the adjoints (or tangents) of the memory that a term reads.
  OperatorRows<T> with_adjoints(const Node::AffineTerm& term, OperatorRows<T> rows) {
    const auto of = [&](int i) { return plan_.needs_adjoint(i) ? layout_.matrix(What::adjoint, i) : Matrix<T>{}; };
    if (term.keys >= 0) rows.memory.key_adjoints = of(term.keys), rows.memory.value_adjoints = of(term.values);
    return rows;
  }
  OperatorRows<T> with_tangents(const Node::AffineTerm& term, OperatorRows<T> rows) {
    const auto of = [&](int i) { return plan_.needs_adjoint(i) ? layout_.matrix(What::tangent, i) : Matrix<T>{}; };
    if (term.keys >= 0) rows.memory.key_tangents = of(term.keys), rows.memory.value_tangents = of(term.values);
    return rows;
  }
  /// Returns whether a term reads only the children in trees and adds nothing at leaves, which have no children.
  bool skips_leaves(const Node::AffineTerm& term) const {
    if (!term.dense() && !term.op->vanishes()) return false;
    int source = term.source;
    while (node(source).kind() == Node::Kind::slice) source = node(source).slice().operand;
    const Node& link = node(source);
    return link.kind() == Node::Kind::link && link.link().delay.reads_children() && link.link().initial < 0;
  }
  /// Returns whether the rows of a loop's step are leaves, where a term that skips leaves contributes nothing.
  bool is_leaf_step(const Segment& in, const Work& work, const Node::AffineTerm& term) const {
    return in.loop && !in.descending && work.step == 0 && skips_leaves(term);
  }
  /// Calls use(work, awake) for each contiguous range of rows in which an affine map is computed (awake) or skipped
  /// (Circuit::compute_only_where).
  template <class Use>
  void for_each_active_range(const Node& affine, const Work& work, Use&& use) {
    const int condition = affine.affine().awake;
    if (condition < 0) return use(work, true);
    const Matrix<T> awake = matrix(What::value, condition, work);
    for (Index begin = 0, end = 0; begin < work.rows.size(); begin = end) {
      const bool on = awake(begin, 0) != 0;
      while (end < work.rows.size() && (awake(end, 0) != 0) == on) ++end;
      Work run = work;
      run.rows = {work.rows.begin + begin, work.rows.begin + end};
      use(run, on);
    }
  }
  /// Returns whether one thread processes the whole item when threads divide columns; operators are not divided.
  bool is_whole(const Item& item, const Work& work) const;

  Parts<T>& parts_;
  const Plan& plan_;
  Layout<T>& layout_;
  Schedule& schedule_;
};

/// Returns the stage that the time of an item is attributed to.
inline Stage stage_of(const Segment& segment, const Item& item) {
  switch (item.kind) {
    case Item::Kind::affine: return segment.loop ? Stage::recurrent : Stage::hoisted;
    case Item::Kind::pointwise: return Stage::pointwise;
    default: return Stage::moves;
  }
}

/// Initializes the rows of an affine map whose first term cannot do so itself.
template <class T>
void start_rows(Matrix<T> y, Start start, const T* bias) {
  if (start == Start::accumulate) return;
  for (Index r = 0; r < y.rows; ++r)
    for (Index j = 0; j < y.cols; ++j) y(r, j) = start == Start::bias ? bias[j] : T{0};
}

/// Like the function above, for the columns of some panels.
template <class T>
void start_panels(Matrix<T> y, const Panels& panels, Start start, const T* bias) {
  constexpr Index kPanel = PackedMatrix<T>::kPanel;
  for (Index block = 0; block < panels.blocks; ++block) {
    const Index first = (panels.range.begin + block * panels.every) * kPanel;
    const Index last = std::min(y.cols, (panels.range.end + block * panels.every) * kPanel);
    start_rows(y.cols_from(first, last - first), start, bias == nullptr ? nullptr : bias + first);
  }
}

}  // namespace unfold
