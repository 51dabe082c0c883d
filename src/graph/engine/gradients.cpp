/// Weight gradients, batched over all positions. Sums over rows run from the last row to the first.

#include <algorithm>
#include <utility>

#include "graph/engine/passes.h"

namespace unfold {

template <class T>
void GradientPass<T>::run(Member& me, T* gradient, int after) {
  const auto of = [&](int parameter) { return parameters().view(gradient, parameter); };
  for (int i = 0; i < static_cast<int>(plan_.nodes().size()); ++i) {
    const Node& affine = node(i);
    if (affine.kind() != Node::Kind::affine) continue;
    if (after != kAll && after != (plan_.live(i) ? plan_.last_segment(i) : 0)) continue;
    if (!plan_.live(i)) {  // no output depends on these parameters
      if (!options_.accumulate && me.id() == 0) clear(affine, gradient);
      continue;
    }
    if (affine.affine().awake >= 0) {
      of_awake_rows(me, i, gradient);
      continue;
    }
    for (const auto& term : affine.terms())
      if (!term.dense()) of_operator(me, i, term, of(term.parameter));
    // All terms and the bias read a block of rows while it is in the second-level cache.
    const Index rows = layout_.rows(affine.part);
    const Index block = layout_.rectangular(affine.part) && !squared_ ? kRows : std::max<Index>(rows, 1);
    bool accumulate = options_.accumulate;
    for (Index end = rows; end > 0; end -= block, accumulate = true)
      of_rows(me, i, {std::max<Index>(end - block, 0), end}, accumulate, gradient);
  }
}

template <class T>
void GradientPass<T>::of_rows(Member& me, int i, Range rows, bool accumulate, T* gradient) {
  const Node& affine = node(i);
  const auto of = [&](int parameter) { return parameters().view(gradient, parameter); };
  for (const auto& term : affine.terms()) {
    if (!term.dense()) continue;
    if (const Symbol* read = layout_.lookup(term.source)) {
      of_lookup(me, i, read, of(term.parameter), rows, accumulate);
      continue;
    }
    const Matrix<T> bound = parts_.weights.bound_gradient(term.parameter);
    of_product(me, i, term.source, bound.data != nullptr ? bound : of(term.parameter), bound.data != nullptr,
               {std::max(rows.begin, first_row_of(i, term)), rows.end}, accumulate);
  }
  if (affine.affine().bias >= 0)
    accumulate_columns<T>(layout_.matrix(What::adjoint, i, 0, rows), of(affine.affine().bias).data,
                          my_columns(me, affine.size), accumulate ? Start::accumulate : Start::zero);
}

template <class T>
void GradientPass<T>::of_awake_rows(Member& me, int i, T* gradient) {
  const Matrix<T> awake = layout_.matrix(What::value, node(i).affine().awake);
  bool accumulate = options_.accumulate;
  for (Index end = awake.rows, begin = end; end > 0; end = begin) {
    const bool on = awake(end - 1, 0) != 0;
    while (begin > 0 && (awake(begin - 1, 0) != 0) == on) --begin;
    if (on) of_rows(me, i, {begin, end}, std::exchange(accumulate, true), gradient);
  }
  if (!accumulate && me.id() == 0) clear(node(i), gradient);
}

template <class T>
void GradientPass<T>::clear(const Node& affine, T* gradient) const {
  for (const auto& term : affine.terms()) {
    const Matrix<T> bound = parts_.weights.bound_gradient(term.parameter);
    const Matrix<T> g = bound.data != nullptr ? bound : parameters().view(gradient, term.parameter);
    for (Index r = 0; r < g.rows; ++r) std::fill_n(g.row(r), g.cols, T{0});
  }
  if (affine.affine().bias >= 0) std::fill_n(parameters().view(gradient, affine.affine().bias).data, affine.size, T{0});
}

/// Returns the gradient columns that a thread owns: whole panels if there are enough of them.
template <class T>
Range GradientPass<T>::my_columns(const Member& me, Index columns) {
  constexpr Index kPanel = PackedMatrix<T>::kPanel;
  return me.share(columns, columns >= 4 * kPanel * me.size() ? kPanel : 16);
}

template <class T>
void GradientPass<T>::of_operator(Member& me, int i, const Node::AffineTerm& term, Matrix<T> g) {
  const bool divided = term.op->gradient_by_columns();
  if (!divided && me.id() != 0) return;
  const Range mine = divided ? me.share(g.cols, 16) : Range{0, g.cols};
  if (mine.empty()) return;
  if (!options_.accumulate)
    for (Index r = 0; r < g.rows; ++r) std::fill(g.row(r) + mine.begin, g.row(r) + mine.end, T{0});
  const Index first = first_row_of(i, term);
  for (auto [step, rows] : layout_.runs(plan_.value_place(term.source), node(i).part)) {
    rows.begin = std::max(rows.begin, first);
    if (rows.empty()) continue;
    term.op->gradient(operator_rows(me, term, step, rows), layout_.matrix(What::adjoint, i, step, rows), g, mine,
                      squared_);
  }
}

template <class T>
Index GradientPass<T>::first_row_of(int i, const Node::AffineTerm& term) const {
  const int part = node(i).part;
  if (layout_.structure(part).kind() != Structure::Kind::trees || !skips_leaves(term)) return 0;
  return layout_.order(Corner::top_left, part).step(0).end;
}

template <class T>
void GradientPass<T>::of_lookup(Member& me, int i, const Symbol* read, Matrix<T> g, Range rows, bool accumulate) {
  const Range columns = my_columns(me, g.cols);
  if (!accumulate)
    for (Index r = 0; r < g.rows; ++r) std::fill(g.row(r) + columns.begin, g.row(r) + columns.end, T{0});
  scatter_rows<T>(layout_.matrix(What::adjoint, i, 0, rows), read + rows.begin, g, columns);
}

/// `rows` may be any range in a rectangular batch; otherwise it must cover all rows. `output_major`: g is [outputs x
/// inputs].
template <class T>
void GradientPass<T>::of_product(Member& me, int i, int source, Matrix<T> g, bool output_major, Range rows,
                                 bool accumulate) {
  Start start = accumulate ? Start::accumulate : Start::zero;
  // Threads divide the longer side, so little is packed twice.
  const bool by_columns = g.cols >= g.rows && g.cols >= PackedMatrix<T>::kPanel * me.size();
  const Range columns = by_columns ? my_columns(me, g.cols) : Range{0, g.cols};
  const Range inputs = by_columns ? Range{0, g.rows} : me.share(g.rows, 8);
  const auto add = [&](Matrix<const T> x, Matrix<const T> d) {
    if (output_major) std::swap(x, d);
    accumulate_outer<T>(x, d.cols_from(columns.begin, columns.size()), g.cols_from(columns.begin, columns.size()),
                        inputs, start, squared_ ? Precision::exact : parts_.weights.precision());
    start = Start::accumulate;
  };
  const Place& place = plan_.value_place(source);
  if (layout_.rectangular(node(i).part) && !squared_ && (place.shift == 0 || layout_.is_contiguous(place.root)))
    return add(layout_.matrix(What::value, source, 0, rows), layout_.matrix(What::adjoint, i, 0, rows));
  for (auto [step, run] : layout_.runs(place, node(i).part)) {
    run = {std::max(run.begin, rows.begin), std::min(run.end, rows.end)};
    if (run.empty() && (node(i).affine().awake >= 0 || !rows.empty())) continue;
    Matrix<const T> x = layout_.matrix(What::value, source, step, run);
    if (squared_) x = square(me, x);
    add(x, layout_.matrix(What::adjoint, i, step, run));
    if (squared_) me.sync();
  }
}

/// Squares every element. Called by all threads.
template <class T>
Matrix<const T> GradientPass<T>::square(Member& me, Matrix<const T> x) {
  Buffer<T>& squares = parts_.weights.squares();
  if (me.id() == 0 && squares.size() < x.rows * x.cols) squares.resize(x.rows * x.cols);
  me.sync();
  const Range mine = me.share(x.rows);
  for (Index r = mine.begin; r < mine.end; ++r)
    for (Index c = 0; c < x.cols; ++c) squares[r * x.cols + c] = x(r, c) * x(r, c);
  me.sync();
  return {squares.data(), x.rows, x.cols, x.cols};
}

template class GradientPass<float>;
template class GradientPass<double>;

}  // namespace unfold
