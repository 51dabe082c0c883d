/// The backward pass: adjoints of all signals in the reverse order of the plan, then the weight gradients, batched over
/// all positions. With Algebra::squared the same walk uses squared local derivatives (the modulus pass).

#include <algorithm>

#include "unfold/engine/unfolding_body.h"

namespace unfold {
template <class T>
void Unfolding<T>::Body::backward(Member& me, T* gradient, const BackwardOptions& options, const State<T>* end) {
  const bool squared = options.algebra == Algebra::squared;
  pack(me, parameters->flat().data(), squared ? packed_squared : packed_transposed,
       squared ? dirty_squared : dirty_transposed, true, squared);
  prepare_adjoints(me, end);
  for (std::size_t g = plan->segments().size(); g-- > 0;) {
    const Segment& segment = plan->segments()[g];
    const auto run = [&](std::size_t index, const Work& work) { backward_item(g, index, work, options.algebra); };
    if (runs_as_chain(g))
      backward_chain(me, g, options.algebra, end);
    else if (segment.loop)
      walk_timed(me, g, true, run, [&](Index step, Division how) { start_tail(me, g, step, how, end); });
    else
      walk_batched(me, segment, true, run);
  }
  if (options.weights) {
    const StageTimer timer(account, me.id(), Stage::deferred);
    weight_gradients(me, gradient, options);
  }
  sync(me);
  if (me.id() == 0) initial_gradients(gradient, options.accumulate);
}

/// Zeroes what writers add to, and hands over the adjoints of the carried state where no step of this window sets them.
template <class T>
void Unfolding<T>::Body::prepare_adjoints(Member& me, const State<T>* end) {
  const auto& outputs = plan->outputs();
  for (std::size_t i = 0; i < adjoints.size(); ++i) {
    const int root = static_cast<int>(i);
    const AdjointBuffer& buffer = plan->adjoint_buffer(root);
    if (!buffer.exists) continue;
    const bool seeded = std::find(outputs.begin(), outputs.end(), root) != outputs.end();
    const Index n = node(root).size, history = plan->history(root);
    const Index zeroed = buffer.zeroed ? (history * places + rows) * n : seeded ? history * places * n : 0;
    const Range mine = me.share(zeroed, 64);
    std::fill(adjoints[i].data() + mine.begin, adjoints[i].data() + mine.end, T{0});
  }
  me.sync();
  if (me.id() == 0)
    for (const Plan::Carried& c : plan->carried()) {
      if (!plan->needs_adjoint(c.source)) continue;
      const int root = plan->adjoint_place(c.source).root;
      const Index tail = plan->adjoint_buffer(root).tail, n = node(c.source).size;
      for (Index p = 0; p < places; ++p) {
        const Index length = structure->size(structure->sequence_at(p));
        const T* from = end != nullptr ? end->row(slots[at(p)]) + c.offset : nullptr;
        for (Index back = 1; back <= c.steps; ++back) {
          const Index step = length - back;
          if (tail > 0 && step >= 0) continue;  // start_tail does these
          T* row = step >= 0 ? address(What::adjoint, c.source, step, first_row(step, Corner::top_left) + p)
                             : history_row(What::adjoint, c.source, -step, p);
          if (tail > 0) std::fill_n(row, n, T{0});
          if (from != nullptr)
            for (Index j = 0; j < n; ++j) row[j] += from[(back - 1) * n + j];
        }
      }
    }
  if (me.id() == 0) prepare_kept(end);
  me.sync();
}

/// Links along `first`: what later windows hand back, to the first position or on to the window that holds it.
template <class T>
void Unfolding<T>::Body::prepare_kept(const State<T>* end) {
  for (const Plan::Kept& k : plan->kept()) {
    const int source = node(k.link).source;
    const Index n = node(k.link).size;
    for (Index p = 0; p < places && plan->needs_adjoint(source); ++p) {
      T* row = fresh[at(p)] ? address(What::adjoint, source, 0, p) : kept_adjoints[at(k.link)].data() + p * n;
      if (!fresh[at(p)]) std::fill_n(row, n, T{0});
      const T* from = end != nullptr ? end->row(slots[at(p)]) + k.offset : nullptr;
      for (Index j = 0; j < n && from != nullptr; ++j) row[j] += from[j];
    }
  }
}

/// Rows of this step that no later step of the window writes to: zero, or what a later window handed back.
template <class T>
void Unfolding<T>::Body::start_tail(Member& me, std::size_t segment, Index step, Division how, const State<T>* end) {
  const Segment& s = plan->segments()[segment];
  bool any = false;
  for (int root : tail_roots[segment]) {
    const Index first = step_rows(step + plan->adjoint_buffer(root).tail, s.corner), last = step_rows(step, s.corner);
    if (first >= last) continue;
    any = true;
    const Index n = node(root).size;
    Range part{first, last}, columns{0, n};
    if (by_columns(how))
      columns = me.share(n, how == Division::units ? Work::kUnitGrain : 16);
    else if (how == Division::rows && me.size() > 1)
      part = {std::max(first, place_bounds[at(me.id())]), std::min(last, place_bounds[at(me.id() + 1)])};
    const auto carried = std::find_if(plan->carried().begin(), plan->carried().end(),
                                      [&](const Plan::Carried& c) { return c.source == root; });
    for (Index p = part.begin; p < part.end; ++p) {
      T* row = address(What::adjoint, root, step, first_row(step, s.corner) + p);
      const Index back = structure->size(structure->sequence_at(p)) - step;
      if (end != nullptr) {
        const T* from = end->row(slots[at(p)]) + carried->offset + (back - 1) * n;
        std::copy(from + columns.begin, from + columns.end, row + columns.begin);
      } else {
        std::fill(row + columns.begin, row + columns.end, T{0});
      }
    }
  }
  if (any && how == Division::columns) me.sync();
}

template <class T>
void Unfolding<T>::Body::backward_item(std::size_t segment, std::size_t index, const Work& work, Algebra algebra) {
  const Item& item = plan->segments()[segment].items[index];
  const StageTimer timer(account, work.member->id(), stage_of(plan->segments()[segment], item));
  const bool squared = algebra == Algebra::squared;
  switch (item.kind) {
    case Item::Kind::pointwise:
      return run_program((squared ? squared_programs : backward_programs)[segment][index], work);
    case Item::Kind::affine: {
      const bool whole = whole_item(item, work);
      if (whole && work.by_columns && work.member->id() != 0) return;
      const Matrix<const T> dz = matrix(What::adjoint, item.node, work.step, work.rows);
      for (auto part = item.parts.rbegin(); part != item.parts.rend(); ++part) {
        const auto& term = node(item.node).terms[at(part->term)];
        if (!plan->needs_adjoint(term.source)) continue;
        if (!term.dense()) {
          term.op->transposed(operator_rows(*work.member, term, work.step, work.rows), dz,
                              matrix(What::adjoint, term.source, work.step, work.rows), part->adjoint_sets, squared);
          continue;
        }
        const auto& w = (squared ? packed_squared : packed_transposed)[at(term.parameter)];
        multiply<T>(dz, w, matrix(What::adjoint, term.source, work.step, work.rows),
                    whole ? Panels{Range{0, w.panels()}} : work.panels(w.n(), PackedMatrix<T>::kPanel),
                    part->adjoint_sets ? Start::zero : Start::accumulate);
      }
      return;
    }
    case Item::Kind::gather:
      if (plan->needs_adjoint(item.node)) scatter(item.node, plan->segments()[segment].loop, work);
      return;
    case Item::Kind::reorder: {
      const int source = node(item.node).operands[0];
      if (!plan->needs_adjoint(source)) return;
      const Range columns = work.columns(node(item.node).size, 16);
      for (Index r = work.rows.begin; r < work.rows.end; ++r) {
        const T* from = address(What::adjoint, item.node, 0, r);
        T* to = address(What::adjoint, source, 0, reorder_from[at(item.node)][at(r)]);
        for (Index j = columns.begin; j < columns.end; ++j) to[j] = item.adjoint_sets ? from[j] : to[j] + from[j];
      }
      return;
    }
    case Item::Kind::mask: return;
  }
}

/// Adds the adjoint of a gathered link to its predecessors, rows in descending order (many may have the same one).
template <class T>
void Unfolding<T>::Body::scatter(int link, bool in_loop, const Work& work) {
  const Node& n = node(link);
  if (!plan->needs_adjoint(n.source)) return;
  Range part = work.rows;
  if (!in_loop && !work.by_columns) {  // rows of others may be written: one member does all
    if (work.member->id() != 0 || part.begin != 0) return;
    part = {0, rows};
  }
  const Range columns = work.columns(n.size, 16);
  for (Index r = part.end; r-- > part.begin;) {
    const Index before = predecessors[at(link)][at(r)];
    if (before < 0) continue;
    const T* from = address(What::adjoint, link, 0, r);
    const Index place = begun_before(link, r);
    T* to = place < 0 ? address(What::adjoint, n.source, 0, before) : kept_adjoints[at(link)].data() + place * n.size;
    for (Index j = columns.begin; j < columns.end; ++j) to[j] += from[j];
  }
}

// ---------------------------------------------------------------------------------------------------------- gradients

template <class T>
void Unfolding<T>::Body::weight_gradients(Member& me, T* gradient, const BackwardOptions& options) {
  const int n = static_cast<int>(plan->nodes().size());
  for (int i = 0; i < n; ++i) {
    const Node& affine = node(i);
    if (affine.kind != Node::Kind::affine) continue;
    if (!plan->live(i)) {  // nothing depends on these parameters
      if (!options.accumulate && me.id() == 0) {
        for (const auto& term : affine.terms) {
          Matrix<T> g = parameters->view(gradient, term.parameter);
          std::fill_n(g.data, g.rows * g.cols, T{0});
        }
        if (affine.bias >= 0) std::fill_n(parameters->view(gradient, affine.bias).data, affine.size, T{0});
      }
      continue;
    }
    for (const auto& term : affine.terms)
      if (!term.dense()) operator_gradient(me, i, term, parameters->view(gradient, term.parameter), options);
    // A block of rows is read by all terms and the bias while it is in the second-level cache.
    const Index block = rectangular && options.algebra == Algebra::linear ? kGradientRows : std::max<Index>(rows, 1);
    BackwardOptions then = options;
    for (Index end = rows; end > 0; end -= block, then.accumulate = true) {
      const Range part{std::max<Index>(end - block, 0), end};
      for (const auto& term : affine.terms) {
        if (!term.dense()) continue;
        Matrix<T> g = parameters->view(gradient, term.parameter);
        if (const Symbol* read = lookup(term.source))
          lookup_gradient(me, i, read, g, part, then);
        else
          dense_gradient(me, i, term.source, g, part, then);
      }
      if (affine.bias >= 0)
        accumulate_columns<T>(matrix(What::adjoint, i, 0, part), parameters->view(gradient, affine.bias).data,
                              my_gradient_columns(me, affine.size), then.accumulate ? Start::accumulate : Start::zero);
    }
  }
}

/// Columns of a gradient that a member owns: whole panels, where there are enough of them.
template <class T>
Range Unfolding<T>::Body::my_gradient_columns(const Member& me, Index columns) {
  constexpr Index kPanel = PackedMatrix<T>::kPanel;
  return me.share(columns, columns >= 4 * kPanel * me.size() ? kPanel : 16);
}

template <class T>
void Unfolding<T>::Body::lookup_gradient(Member& me, int i, const Symbol* read, Matrix<T> g, Range part,
                                         const BackwardOptions& options) {
  const Range columns = my_gradient_columns(me, g.cols);
  if (!options.accumulate)
    for (Index r = 0; r < g.rows; ++r) std::fill(g.row(r) + columns.begin, g.row(r) + columns.end, T{0});
  scatter_rows<T>(matrix(What::adjoint, i, 0, part), read + part.begin, g, columns);
}

/// Steps, from the last to the first, grouped so that a view shifted by `shift` steps stays contiguous within each
/// group.
template <class T>
std::vector<std::pair<Index, Index>> Unfolding<T>::Body::runs(Index shift) const {
  if (shift == 0 || rectangular) return {{0, steps}};
  std::vector<std::pair<Index, Index>> result;
  const auto source_rows = [&](Index step) {
    return step >= shift ? step_rows(step - shift, Corner::top_left) : places;
  };
  Index last = steps;
  for (Index step = steps - 1; step >= 0; --step) {
    // Joining `step - 1` to the run needs its source rows to end where those of `step` begin.
    if (step > 0 && source_rows(step - 1) == step_rows(step - 1, Corner::top_left)) continue;
    result.emplace_back(step, last);
    last = step;
  }
  return result;
}

/// The rows of `part`: any of a rectangular batch, or all.
template <class T>
void Unfolding<T>::Body::dense_gradient(Member& me, int i, int source, Matrix<T> g, Range part,
                                        const BackwardOptions& options) {
  Start start = options.accumulate ? Start::accumulate : Start::zero;
  // Members divide the longer side, so that little is packed twice.
  const bool by_columns = g.cols >= g.rows && g.cols >= PackedMatrix<T>::kPanel * me.size();
  const Range columns = by_columns ? my_gradient_columns(me, g.cols) : Range{0, g.cols};
  const Range inputs = by_columns ? Range{0, g.rows} : me.share(g.rows, 8);
  const auto add = [&](Matrix<const T> x, Matrix<const T> d) {
    accumulate_outer<T>(x, d.cols_from(columns.begin, columns.size()), g.cols_from(columns.begin, columns.size()),
                        inputs, start, options.algebra == Algebra::squared ? Precision::exact : precision);
    start = Start::accumulate;
  };
  if (rectangular && options.algebra == Algebra::linear)
    return add(matrix(What::value, source, 0, part), matrix(What::adjoint, i, 0, part));
  for (auto [first, last] : runs(plan->value_place(source).shift)) {
    const Range run{first_row(first, Corner::top_left), last == steps ? rows : first_row(last, Corner::top_left)};
    Matrix<const T> x = matrix(What::value, source, first, run);
    if (options.algebra == Algebra::squared) {
      if (me.id() == 0 && squares.size() < rows * x.cols) squares.resize(rows * x.cols);
      me.sync();
      const Range share = me.share(x.rows);
      for (Index r = share.begin; r < share.end; ++r)
        for (Index c = 0; c < x.cols; ++c) squares[r * x.cols + c] = x(r, c) * x(r, c);
      me.sync();
      x = {squares.data(), x.rows, x.cols, x.cols};
    }
    add(x, matrix(What::adjoint, i, first, run));
    if (options.algebra == Algebra::squared) me.sync();
  }
}

/// Trained initial values: the adjoints of what sequences that started afresh saw before their first position.
template <class T>
void Unfolding<T>::Body::initial_gradients(T* gradient, bool accumulate, bool squared) {
  const int n = static_cast<int>(plan->nodes().size());
  for (int i = 0; i < n; ++i) {
    const Node& link = node(i);
    if (link.kind != Node::Kind::link || link.initial < 0) continue;
    T* g = parameters->view(gradient, link.initial).data;
    if (!accumulate) std::fill_n(g, link.size, T{0});
    if (!plan->live(i)) continue;
    const auto add = [&](const T* row) {
      for (Index j = 0; j < link.size; ++j) g[j] += squared ? row[j] * row[j] : row[j];
    };
    if (link.delay.along != Delay::Along::previous) {
      for (Index r = rows; r-- > 0;)
        if (predecessors[at(i)][at(r)] < 0) add(address(What::adjoint, i, 0, r));
    } else if (plan->needs_adjoint(link.source)) {
      for (Index back = 1; back <= link.delay.steps; ++back)
        for (Index p = places; p-- > 0;)
          if (fresh[at(p)]) add(history_row(What::adjoint, link.source, back, p));
    }
  }
}

template <class T>
void Unfolding<T>::Body::store_start(State<T>& start) {
  for (Index p = 0; p < places; ++p) {
    T* to = start.row(slots[at(p)]);
    for (const Plan::Carried& c : plan->carried()) {
      const Index n = node(c.source).size;
      for (Index back = 1; back <= c.steps; ++back, to += n) {
        if (fresh[at(p)] || !plan->needs_adjoint(c.source))
          std::fill_n(to, n, T{0});
        else
          std::copy_n(history_row(What::adjoint, c.source, back, p), n, to);
      }
    }
    for (const Plan::Kept& k : plan->kept()) {
      const Index n = node(k.link).size;
      T* row = start.row(slots[at(p)]) + k.offset;
      if (fresh[at(p)] || !plan->needs_adjoint(node(k.link).source))
        std::fill_n(row, n, T{0});
      else
        std::copy_n(kept_adjoints[at(k.link)].data() + p * n, n, row);
    }
  }
}

template void Unfolding<float>::Body::backward(Member&, float*, const BackwardOptions&, const State<float>*);
template void Unfolding<double>::Body::backward(Member&, double*, const BackwardOptions&, const State<double>*);
template void Unfolding<float>::Body::initial_gradients(float*, bool, bool);
template void Unfolding<double>::Body::initial_gradients(double*, bool, bool);
template void Unfolding<float>::Body::store_start(State<float>&);
template void Unfolding<double>::Body::store_start(State<double>&);

}  // namespace unfold
