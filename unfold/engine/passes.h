#pragma once
/// The passes over an unfolding. Each runs the items of the plan in the order of the schedule; it says what an item
/// does for some rows. Called by every member of the team. Internal to engine/.

#include "unfold/engine/parts.h"

namespace unfold {

/// What a pass of T uses of its base.
#define UNFOLD_PASS_OVER                                                                                  \
  using PassOver<T>::parts_, PassOver<T>::plan_, PassOver<T>::layout_, PassOver<T>::schedule_;            \
  using PassOver<T>::node, PassOver<T>::term_of, PassOver<T>::segment, PassOver<T>::parameters;           \
  using PassOver<T>::matrix, PassOver<T>::run_program, PassOver<T>::operator_rows, PassOver<T>::is_whole; \
  using PassOver<T>::with_adjoints, PassOver<T>::with_tangents, PassOver<T>::skips_leaves;                \
  using PassOver<T>::meets_leaves, PassOver<T>::over_awake;

/// What moves rows: links that are gathered, and signals put into the order of another corner (links.cpp).
template <class T>
class LinkPass : protected PassOver<T> {
 public:
  using PassOver<T>::PassOver;
  /// Copies predecessors' rows; beyond the boundary, `initial` or zero. What an earlier window has kept does not move.
  void gather(What what, int link, const Work& work, const T* initial);
  /// Adds the adjoint of a gathered link to its predecessors, rows in descending order (many may have the same one).
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

/// A loop that one kernel runs (chain_loop.cpp).
template <class T>
class ChainPass : private PassOver<T> {
 public:
  ChainPass(Parts<T>& parts, std::size_t g) : PassOver<T>(parts), loop_(parts.chains[g]) {}
  void forward(Member& me);
  void backward(Member& me, bool squared);  ///< REQUIRES: the adjoint of the last row holds what comes from beyond it

 private:
  UNFOLD_PASS_OVER
  const RecurrenceKernel& kernel() const { return *node(loop_.affine).terms[at(loop_.term)].op->recurrence(); }
  Recurrence<T> recurrence_of(const ChainLoop& loop);
  const ChainLoop& loop_;
};

/// Values of all signals (forward.cpp).
template <class T>
class ForwardPass : private PassOver<T> {
 public:
  ForwardPass(Parts<T>& parts, bool source_stays) : PassOver<T>(parts), source_stays_(source_stays) {}
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

/// Adjoints of all signals in the reverse order of the plan, then the weight gradients. With Algebra::squared the same
/// walk uses squared local derivatives (the modulus pass). backward.cpp
template <class T>
class BackwardPass : private PassOver<T> {
 public:
  BackwardPass(Parts<T>& parts, const BackwardOptions& options, const State<T>* end)
      : PassOver<T>(parts), options_(options), squared_(options.algebra == Algebra::squared), end_(end) {}
  void run(Member& me, T* gradient);

 private:
  UNFOLD_PASS_OVER
  void weights(Member& me, T* gradient, int after);
  void prepare(Member& me);
  void start_tails(Member& me, std::size_t g, Index step, Division how);
  void start_tail(int root, Index step, Corner corner, Range places, Range columns);
  void run_item(std::size_t g, std::size_t index, const Work& work);
  void affine(const Segment& in, const Item& item, const Work& work);
  void leave_out(const Item& item, const Work& work);

  BackwardOptions options_;
  bool squared_;
  const State<T>* end_;
};

/// Gradients of the parameters of all affine maps from their adjoints, batched over all positions (gradients.cpp).
template <class T>
class GradientPass : private PassOver<T> {
 public:
  GradientPass(Parts<T>& parts, const BackwardOptions& options)
      : PassOver<T>(parts), options_(options), squared_(options.algebra == Algebra::squared) {}
  static constexpr int kAll = -1;
  /// Of the maps that this is the last segment of; with the first one those that nothing depends on.
  void run(Member& me, T* gradient, int after);

 private:
  UNFOLD_PASS_OVER
  static constexpr Index kRows = 256;  ///< rows whose adjoints are read once from far
  static Range my_columns(const Member& me, Index columns);
  void clear(const Node& affine, T* gradient) const;
  void of_rows(Member& me, int i, Range rows, bool accumulate, T* gradient);
  /// Of an affine map that is not wanted everywhere.
  void of_awake_rows(Member& me, int i, T* gradient);
  /// The first row that a term adds to.
  Index first_row_of(int i, const Node::AffineTerm& term) const;
  void of_operator(Member& me, int i, const Node::AffineTerm& term, Matrix<T> g);
  void of_lookup(Member& me, int i, const Symbol* read, Matrix<T> g, Range rows, bool accumulate);
  void of_product(Member& me, int i, int source, Matrix<T> g, Range rows, bool accumulate);
  Matrix<const T> square(Member& me, Matrix<const T> x);

  BackwardOptions options_;
  bool squared_;
};

/// The derivative of every signal in a parameter direction ("R-operator"), in the order of the plan (tangent.cpp).
template <class T>
class TangentPass : private PassOver<T> {
 public:
  TangentPass(Parts<T>& parts, const T* direction) : PassOver<T>(parts), direction_(direction) {}
  void run(Member& me);

 private:
  UNFOLD_PASS_OVER
  void run_item(std::size_t g, std::size_t index, const Work& work);
  void affine(const Item& item, const Work& work);
  void leave_out(const Item& item, const Work& work);
  Matrix<const T> moved(int parameter) const { return parameters().view(direction_, parameter); }
  /// The tangent of a source; null if it does not move.
  Matrix<const T> tangent_of(int source, const Work& work);

  const T* direction_;
};

}  // namespace unfold
