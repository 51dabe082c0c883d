/// The tangent pass ("R-operator"): the derivative of every signal in a parameter direction, in the order of the plan.

#include <algorithm>

#include "unfold/engine/unfolding_body.h"

namespace unfold {
template <class T>
void Unfolding<T>::Body::tangent(Member& me, const T* direction) {
  pack(me, parameters->flat().data(), packed, dirty, false, false);
  if (me.id() == 0) std::fill(dirty_direction.begin(), dirty_direction.end(), char{1});
  me.sync();
  pack(me, direction, packed_direction, dirty_direction, false, false);
  if (me.id() == 0)
    for (const Plan::Carried& c : plan->carried()) {
      if (!plan->needs_adjoint(c.source)) continue;
      const Index n = node(c.source).size;
      const auto& from = node(c.source).operands;
      const auto moves = [&](int operand) { return operand >= 0 && plan->needs_adjoint(operand); };
      if (node(c.source).kind == Node::Kind::map && !moves(from[0]) && !moves(from[1]))
        tangents[at(c.source)].fill_zero();  // only its trained start depends on parameters: no item writes it
      for (Index p = 0; p < places; ++p)
        for (Index back = 1; back <= c.steps; ++back) {
          T* row = history_row(What::tangent, c.source, back, p);
          if (c.initial >= 0 && fresh[at(p)])
            std::copy_n(parameters->view(direction, c.initial).data, n, row);
          else
            std::fill_n(row, n, T{0});
        }
    }
  me.sync();
  for (std::size_t g = 0; g < plan->segments().size(); ++g) {
    const Segment& segment = plan->segments()[g];
    const auto run = [&](std::size_t index, const Work& work) { tangent_item(g, index, work, direction); };
    if (segment.loop)
      walk_loop(me, segment, division(segment, me.size()), false, run, [](Index, Division) {});
    else
      walk_batched(me, segment, false, run);
  }
}

template <class T>
void Unfolding<T>::Body::tangent_item(std::size_t segment, std::size_t index, const Work& work, const T* direction) {
  const Item& item = plan->segments()[segment].items[index];
  switch (item.kind) {
    case Item::Kind::affine: return tangent_affine(item, work, direction);
    case Item::Kind::pointwise: return run_program(tangent_programs[segment][index], work);
    case Item::Kind::gather: {
      if (!plan->needs_adjoint(item.node)) return;
      const int initial = node(item.node).initial;
      return gather(What::tangent, item.node, work, initial >= 0 ? parameters->view(direction, initial).data : nullptr);
    }
    case Item::Kind::reorder:
      if (plan->needs_adjoint(item.node)) reorder(What::tangent, item.node, work);
      return;
    case Item::Kind::mask: return;
  }
}

/// d(b + sum x W) = db + sum (x dW + dx W)
template <class T>
void Unfolding<T>::Body::tangent_affine(const Item& item, const Work& work, const T* direction) {
  const Node& n = node(item.node);
  constexpr Index kPanel = PackedMatrix<T>::kPanel;
  const bool whole = whole_item(item, work);
  if (whole && work.by_columns && work.member->id() != 0) return;
  const Range panels =
      whole ? Range{0, (n.size + kPanel - 1) / kPanel} : work.panels(n.size, kPanel).range;  // never by units
  if (panels.empty()) return;
  const Range columns{panels.begin * kPanel, std::min(n.size, panels.end * kPanel)};
  Matrix<T> y = matrix(What::tangent, item.node, work.step, work.rows);
  const T* bias = n.bias >= 0 ? parameters->view(direction, n.bias).data : nullptr;
  Start start = !item.start ? Start::accumulate : bias != nullptr ? Start::bias : Start::zero;
  for (const auto& part : item.parts) {
    const auto& term = n.terms[at(part.term)];
    if (const Symbol* read = lookup(term.source)) {
      add_rows<T>(parameters->view(direction, term.parameter), read + work.rows.begin, y, columns, start, bias);
    } else if (!term.dense()) {
      start_rows(y, start, bias);
      const Matrix<const T> moved = plan->needs_adjoint(term.source)
                                        ? Matrix<const T>(matrix(What::tangent, term.source, work.step, work.rows))
                                        : Matrix<const T>{};
      term.op->tangent(operator_rows(*work.member, term, work.step, work.rows),
                       parameters->view(direction, term.parameter), moved, y);
    } else {
      multiply<T>(matrix(What::value, term.source, work.step, work.rows), packed_direction[at(term.parameter)], y,
                  panels, start, bias);
      if (plan->needs_adjoint(term.source))
        multiply<T>(matrix(What::tangent, term.source, work.step, work.rows), packed[at(term.parameter)], y, panels,
                    Start::accumulate);
    }
    start = Start::accumulate;
  }
}

template void Unfolding<float>::Body::tangent(Member&, const float*);
template void Unfolding<double>::Body::tangent(Member&, const double*);

}  // namespace unfold
