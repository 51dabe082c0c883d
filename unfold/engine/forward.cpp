/// The forward pass: values of all signals, in the order of the plan.

#include <algorithm>

#include "unfold/engine/unfolding_body.h"
#include "unfold/numerics/random.h"

namespace unfold {
template <class T>
void Unfolding<T>::Body::forward(Member& me, const State<T>* state) {
  pack(me, parameters->flat().data(), packed, dirty, false, false);
  {
    const StageTimer timer(account, me.id(), Stage::moves);
    load_history(me, state);
    if (dropout) number_masks(me);
  }
  sync(me);
  for (std::size_t g = 0; g < plan->segments().size(); ++g) {
    const Segment& segment = plan->segments()[g];
    const auto run = [&](std::size_t index, const Work& work) { forward_item(g, index, work); };
    if (runs_as_chain(g))
      forward_chain(me, g);
    else if (segment.loop)
      walk_timed(me, g, false, run, [](Index, Division) {});
    else
      walk_batched(me, segment, false, run);
  }
}

/// What links see before the first position: the carried state, or the initial values.
template <class T>
void Unfolding<T>::Body::load_history(Member& me, const State<T>* state) {
  const Range mine = me.share(places);
  for (Index p = mine.begin; p < mine.end; ++p) {
    const bool starts = state == nullptr || state->fresh(slots[at(p)]);
    fresh[at(p)] = starts ? 1 : 0;
    for (const Plan::Carried& c : plan->carried()) {
      const Index n = node(c.source).size;
      for (Index back = 1; back <= c.steps; ++back) {
        T* row = history_row(What::value, c.source, back, p);
        if (!starts)
          std::copy_n(state->row(slots[at(p)]) + c.offset + (back - 1) * n, n, row);
        else if (c.initial >= 0)
          std::copy_n((*parameters)[c.initial].data, n, row);
        else
          std::fill_n(row, n, T{0});
      }
    }
    if (!starts) load_kept(p, state);
  }
}

/// What links along `first` have read in an earlier window.
template <class T>
void Unfolding<T>::Body::load_kept(Index p, const State<T>* state) {
  for (const Plan::Kept& k : plan->kept()) {
    const Index n = node(k.link).size;
    std::copy_n(state->row(slots[at(p)]) + k.offset, n, kept[at(k.link)].data() + p * n);
  }
}

/// What a dropout mask depends on besides its seed: the state slot, and the position within the window.
template <class T>
void Unfolding<T>::Body::number_masks(Member& me) {
  const Range mine = me.share(rows);
  for (Index r = mine.begin; r < mine.end; ++r) {
    const Index item = structure->order().items[at(r)], s = structure->sequence_of_item(item);
    const Index position = dropout_origin + item - structure->item(s, 0);
    mask_keys[at(r)] =
        (static_cast<std::uint64_t>(slots[at(structure->place(s))]) << 32) | static_cast<std::uint64_t>(position);
  }
}

template <class T>
void Unfolding<T>::Body::store_state(State<T>& state) {
  for (Index p = 0; p < places; ++p) {
    const Index length = structure->size(structure->sequence_at(p));
    for (const Plan::Carried& c : plan->carried()) {
      const Index n = node(c.source).size;
      for (Index back = 1; back <= c.steps; ++back) {
        const Index step = length - back;
        const T* row = step >= 0 ? address(What::value, c.source, step, first_row(step, Corner::top_left) + p)
                                 : history_row(What::value, c.source, back - length, p);
        std::copy_n(row, n, state.row(slots[at(p)]) + c.offset + (back - 1) * n);
      }
    }
    for (const Plan::Kept& k : plan->kept())
      std::copy_n(address(What::value, k.link, 0, p), node(k.link).size, state.row(slots[at(p)]) + k.offset);
    state.mark_carried(slots[at(p)]);
  }
}

template <class T>
void Unfolding<T>::Body::forward_item(std::size_t segment, std::size_t index, const Work& work) {
  const Item& item = plan->segments()[segment].items[index];
  const StageTimer timer(account, work.member->id(), stage_of(plan->segments()[segment], item));
  switch (item.kind) {
    case Item::Kind::affine: return forward_affine(item, work);
    case Item::Kind::pointwise: return run_program(forward_programs[segment][index], work);
    case Item::Kind::gather: {
      const int initial = node(item.node).initial;
      return gather(What::value, item.node, work, initial >= 0 ? (*parameters)[initial].data : nullptr);
    }
    case Item::Kind::reorder: return reorder(What::value, item.node, work);
    case Item::Kind::mask: {
      if (work.by_columns && work.member->id() != 0) return;
      Matrix<T> mask = matrix(What::value, item.node, work.step, work.rows);
      if (dropout)
        dropout_mask<T>(dropout_seed, stream_of(node(item.node).name), mask_keys.data() + work.rows.begin,
                        node(item.node).constant, mask);
      else
        std::fill_n(mask.data, mask.rows * mask.cols, T{1});
    }
  }
}

template <class T>
const Symbol* Unfolding<T>::Body::lookup(int source) const {
  int s = source;
  while (node(s).kind == Node::Kind::reorder) s = node(s).operands[0];
  return node(s).kind == Node::Kind::symbols ? symbols[at(source)].data() : nullptr;
}

template <class T>
void Unfolding<T>::Body::forward_affine(const Item& item, const Work& work) {
  const Node& n = node(item.node);
  constexpr Index kPanel = PackedMatrix<T>::kPanel;
  const bool whole = whole_item(item, work);
  if (whole && work.by_columns && work.member->id() != 0) return;
  const Panels panels = whole ? Panels{Range{0, (n.size + kPanel - 1) / kPanel}} : work.panels(n.size, kPanel);
  if (panels.range.empty()) return;
  Matrix<T> y = matrix(What::value, item.node, work.step, work.rows);
  const T* bias = n.bias >= 0 ? (*parameters)[n.bias].data : nullptr;
  Start start = !item.start ? Start::accumulate : bias != nullptr ? Start::bias : Start::zero;
  for (const auto& part : item.parts) {
    const auto& term = n.terms[at(part.term)];
    if (const Symbol* read = lookup(term.source)) {
      for (Index block = 0; block < panels.blocks; ++block) {
        const Index shift = block * panels.every;
        const Range columns{(panels.range.begin + shift) * kPanel,
                            std::min(n.size, (panels.range.end + shift) * kPanel)};
        add_rows<T>((*parameters)[term.parameter], read + work.rows.begin, y, columns, start, bias);
      }
    } else if (!term.dense()) {
      start_rows(y, start, bias);
      term.op->apply(operator_rows(*work.member, term, work.step, work.rows), y);
    } else {
      const Matrix<const T> x = matrix(What::value, term.source, work.step, work.rows);
      multiply<T>(x, packed[at(term.parameter)], y, panels, start, bias);
    }
    start = Start::accumulate;
  }
}

/// The place of the sequence of a row, if a link along `first` finds its position in an earlier window; else -1.
template <class T>
Index Unfolding<T>::Body::begun_before(int link, Index row) const {
  if (node(link).delay.along != Delay::Along::first) return -1;
  const Index place = structure->place(structure->sequence_of_item(order(Corner::top_left).items[at(row)]));
  return fresh[at(place)] ? -1 : place;
}

/// Copies predecessors' rows; beyond the boundary, `initial` or zero. What an earlier window has kept does not move.
template <class T>
void Unfolding<T>::Body::gather(What what, int link, const Work& work, const T* initial) {
  const Node& n = node(link);
  const Range columns = work.columns(n.size, 16);
  const bool known = what == What::value || plan->needs_adjoint(n.source);
  const Index from_stride = known ? stride(what, n.source) : 0, to_stride = stride(what, link);
  const T* from = known ? address(what, n.source, 0, 0) : nullptr;
  T* to = address(what, link, 0, 0);
  for (Index r = work.rows.begin; r < work.rows.end; ++r) {
    const Index before = predecessors[at(link)][at(r)], place = begun_before(link, r);
    const T* source = before < 0 ? initial : known ? from + before * from_stride : nullptr;
    if (place >= 0) source = what == What::value ? kept[at(link)].data() + place * n.size : nullptr;
    if (source != nullptr)
      std::copy(source + columns.begin, source + columns.end, to + r * to_stride + columns.begin);
    else
      std::fill(to + r * to_stride + columns.begin, to + r * to_stride + columns.end, T{0});
  }
}

template <class T>
void Unfolding<T>::Body::reorder(What what, int i, const Work& work) {
  const int source = node(i).operands[0];
  const auto& from_row = reorder_from[at(i)];
  if (lookup(i) != nullptr) {
    if (what == What::value && (!work.by_columns || work.member->id() == 0))
      for (Index r = work.rows.begin; r < work.rows.end; ++r)
        symbols[at(i)][at(r)] = symbols[at(source)][at(from_row[at(r)])];
    return;
  }
  const Range columns = work.columns(node(i).size, 16);
  const Index from_stride = stride(what, source), to_stride = stride(what, i);
  const T* from = address(what, source, 0, 0);
  T* to = address(what, i, 0, 0);
  for (Index r = work.rows.begin; r < work.rows.end; ++r)
    std::copy_n(from + from_row[at(r)] * from_stride + columns.begin, columns.size(),
                to + r * to_stride + columns.begin);
}

template void Unfolding<float>::Body::forward(Member&, const State<float>*);
template void Unfolding<double>::Body::forward(Member&, const State<double>*);
template void Unfolding<float>::Body::store_state(State<float>&);
template void Unfolding<double>::Body::store_state(State<double>&);
template const Symbol* Unfolding<float>::Body::lookup(int) const;
template const Symbol* Unfolding<double>::Body::lookup(int) const;
template void Unfolding<float>::Body::gather(What, int, const Work&, const float*);
template void Unfolding<double>::Body::gather(What, int, const Work&, const double*);
template Index Unfolding<float>::Body::begun_before(int, Index) const;
template Index Unfolding<double>::Body::begun_before(int, Index) const;
template void Unfolding<float>::Body::reorder(What, int, const Work&);
template void Unfolding<double>::Body::reorder(What, int, const Work&);

}  // namespace unfold
