#pragma once
/// The passes over an unfolding. Each pass runs the items of the plan in the order of the schedule and defines what an
/// item does for a range of rows. Called by every thread of the team. Internal to engine/.

#include "graph/engine/pass_base.h"

namespace unfold {

/// Members of the base class that a pass uses.
#define UNFOLD_PASS_OVER                                                                                  \
  using PassBase<T>::parts_, PassBase<T>::plan_, PassBase<T>::layout_, PassBase<T>::schedule_;            \
  using PassBase<T>::node, PassBase<T>::term_of, PassBase<T>::segment, PassBase<T>::parameters;           \
  using PassBase<T>::matrix, PassBase<T>::run_program, PassBase<T>::operator_rows, PassBase<T>::is_whole; \
  using PassBase<T>::with_adjoints, PassBase<T>::with_tangents, PassBase<T>::skips_leaves;                \
  using PassBase<T>::is_leaf_step, PassBase<T>::for_each_active_range;

/// Operations that move rows: gathered links, and signals reordered for another corner (links.cpp).
template <class T>
class LinkPass : protected PassBase<T> {
 public:
  using PassBase<T>::PassBase;
  /// Copies the rows of the predecessors; beyond the boundary, `initial` or zero. Values kept from an earlier window
  /// have a zero tangent.
  void gather(What what, int link, const Work& work, const T* initial);
  /// Adds the adjoint of a gathered link to its predecessors, in descending row order (several rows may share a
  /// predecessor).
  void scatter(int link, bool in_loop, const Work& work);
  void reorder(What what, int i, const Work& work);
  void reorder_back(int i, bool sets, const Work& work);

 private:
  UNFOLD_PASS_OVER
  bool begins(int link, Index row) const;
  void add_children(What what, int link, const Work& work, const T* initial);
  void join_children(What what, int link, const Work& work);
  void scatter_to_children(int link, const Work& work, Range rows);
  void join_block(What what, int link, const Work& work);
  void scatter_to_block(int link, const Work& work, Range rows);
};

/// Runs a loop with a single kernel (chain_loop.cpp).
template <class T>
class ChainPass : private PassBase<T> {
 public:
  ChainPass(Parts<T>& parts, std::size_t g) : PassBase<T>(parts), loop_(parts.chains[g]) {}
  void forward(Member& me);
  /// REQUIRES: the adjoint of the last row includes the contribution from later windows.
  void backward(Member& me, bool squared);

 private:
  UNFOLD_PASS_OVER
  const RecurrenceKernel& kernel() const { return *node(loop_.affine).terms()[at(loop_.term)].op->recurrence(); }
  Recurrence<T> recurrence_of(const ChainLoop& loop);
  const ChainLoop& loop_;
};

/// Computes the values of all signals (forward.cpp).
template <class T>
class ForwardPass : private PassBase<T> {
 public:
  ForwardPass(Parts<T>& parts, bool source_stays) : PassBase<T>(parts), source_stays_(source_stays) {}
  void run(Member& me, const State<T>* state);

 private:
  UNFOLD_PASS_OVER
  void run_item(std::size_t g, std::size_t index, const Work& work);
  void affine(const Segment& in, const Item& item, const Work& work);
  void leave_out(const Item& item, const Work& work);
  void look_up(const Node::AffineTerm& term, const Symbol* read, Matrix<T> y, const Panels& panels, const Work& work,
               Start start, const T* bias);

  bool source_stays_;
};

/// Computes the adjoints of all signals in the reverse order of the plan, then the weight gradients. With
/// Algebra::squared, the same traversal uses squared local derivatives (the modulus pass). See backward.cpp.
template <class T>
class BackwardPass : private PassBase<T> {
 public:
  BackwardPass(Parts<T>& parts, const BackwardOptions& options, const State<T>* end)
      : PassBase<T>(parts), options_(options), squared_(options.algebra == Algebra::squared), end_(end) {}
  void run(Member& me, T* gradient);

 private:
  UNFOLD_PASS_OVER
  void weights(Member& me, T* gradient, int after);
  void prepare(Member& me);
  void clear_tails(Member& me, std::size_t g, Index step, Division how);
  void start_tail(int root, Index step, Corner corner, Range places, Range columns);
  void run_item(std::size_t g, std::size_t index, const Work& work);
  void affine(const Segment& in, const Item& item, const Work& work);
  void leave_out(const Item& item, const Work& work);

  BackwardOptions options_;
  bool squared_;
  const State<T>* end_;
};

/// Computes the gradients of the parameters of all affine maps from their adjoints, batched over all positions
/// (gradients.cpp).
template <class T>
class GradientPass : private PassBase<T> {
 public:
  GradientPass(Parts<T>& parts, const BackwardOptions& options)
      : PassBase<T>(parts), options_(options), squared_(options.algebra == Algebra::squared) {}
  static constexpr int kAll = -1;
  /// Processes the maps whose last segment is `after`; the first segment also includes the maps that no output depends
  /// on.
  void run(Member& me, T* gradient, int after);

 private:
  UNFOLD_PASS_OVER
  static constexpr Index kRows = 256;  ///< rows per block, so that adjoints are read from main memory only once
  static Range my_columns(const Member& me, Index columns);
  void clear(const Node& affine, T* gradient) const;
  void of_rows(Member& me, int i, Range rows, bool accumulate, T* gradient);
  /// Computes the gradients of an affine map that is computed only at some rows.
  void of_awake_rows(Member& me, int i, T* gradient);
  /// Returns the first row that a term contributes to.
  Index first_row_of(int i, const Node::AffineTerm& term) const;
  void of_operator(Member& me, int i, const Node::AffineTerm& term, Matrix<T> g);
  void of_lookup(Member& me, int i, const Symbol* read, Matrix<T> g, Range rows, bool accumulate);
  void of_product(Member& me, int i, int source, Matrix<T> g, bool output_major, Range rows, bool accumulate);
  Matrix<const T> square(Member& me, Matrix<const T> x);

  BackwardOptions options_;
  bool squared_;
};

/// Computes the derivative of every signal in a parameter direction (the R-operator), in the order of the plan
/// (tangent.cpp).
template <class T>
class TangentPass : private PassBase<T> {
 public:
  TangentPass(Parts<T>& parts, const T* direction, const State<T>* state)
      : PassBase<T>(parts), direction_(direction), state_(state) {}
  void run(Member& me);

 private:
  UNFOLD_PASS_OVER
  void run_item(std::size_t g, std::size_t index, const Work& work);
  void affine(const Item& item, const Work& work);
  void leave_out(const Item& item, const Work& work);
  Matrix<const T> moved(int parameter) const { return parameters().view(direction_, parameter); }
  /// Returns the tangent of a source; null if it is zero.
  Matrix<const T> tangent_of(int source, const Work& work);

  const T* direction_;
  const State<T>* state_;
};

}  // namespace unfold
