/// The forward pass: values of all signals, in the order of the plan.

#include <algorithm>

#include "graph/engine/passes.h"

namespace unfold {

template <class T>
void ForwardPass<T>::run(Member& me, const State<T>* state) {
  Account* account = schedule_.account();
  parts_.weights.pack(me, PackedWeights<T>::Form::plain, parameters(), parameters().flat().data(), account);
  {
    const StageTimer timer(account, me.id(), Stage::moves);
    parts_.boundary.load(me, state, parameters());
    parts_.masks.number(me, layout_);
  }
  schedule_.sync(me);
  for (std::size_t g = 0; g < plan_.segments().size(); ++g) {
    if (source_stays_ && segment(g).part > 0) continue;
    const auto run = [&](std::size_t index, const Work& work) { run_item(g, index, work); };
    if (parts_.chains.run(g, layout_.structure()))
      ChainPass<T>(parts_, g).forward(me);
    else if (segment(g).loop)
      schedule_.walk_timed(me, g, Pass::forward, run, [](Index, Division) {});
    else
      schedule_.walk_batched(me, segment(g), false, run);
  }
}

template <class T>
void ForwardPass<T>::run_item(std::size_t g, std::size_t index, const Work& work) {
  const Item& item = segment(g).items[index];
  const StageTimer timer(schedule_.account(), work.member->id(), stage_of(segment(g), item));
  switch (item.kind) {
    case Item::Kind::affine:
      return for_each_active_range(node(item.node), work, [&](const Work& run, bool awake) {
        awake ? affine(segment(g), item, run) : leave_out(item, run);
      });
    case Item::Kind::pointwise: return run_program(parts_.programs.forward(g, index), work);
    case Item::Kind::gather: {
      const int initial = node(item.node).link().initial;
      const T* beyond = initial >= 0 ? parameters()[initial].data : nullptr;
      return LinkPass<T>(parts_).gather(What::value, item.node, work, beyond);
    }
    case Item::Kind::reorder: return LinkPass<T>(parts_).reorder(What::value, item.node, work);
    case Item::Kind::mask:
      if (work.by_columns && work.member->id() != 0) return;
      parts_.masks.fill(node(item.node), work.rows.begin, matrix(What::value, item.node, work));
  }
}

template <class T>
void ForwardPass<T>::affine(const Segment& in, const Item& item, const Work& work) {
  const Node& n = node(item.node);
  constexpr Index kPanel = PackedMatrix<T>::kPanel;
  const bool whole = is_whole(item, work);
  if (whole && work.by_columns && work.member->id() != 0) return;
  const Panels panels = whole ? Panels{Range{0, (n.size + kPanel - 1) / kPanel}} : work.panels(n.size, kPanel);
  if (panels.range.empty()) return;
  Matrix<T> y = matrix(What::value, item.node, work);
  const int bias_parameter = n.affine().bias;
  const T* bias = bias_parameter >= 0 ? parameters()[bias_parameter].data : nullptr;
  Start start = !item.start ? Start::accumulate : bias != nullptr ? Start::bias : Start::zero;
  for (const auto& part : item.parts) {
    const auto& t = term_of(item, part);
    if (is_leaf_step(in, work, t)) {
      whole ? start_rows(y, start, bias) : start_panels<T>(y, panels, start, bias);
    } else if (!t.dense()) {
      start_rows(y, start, bias);
      t.op->apply(operator_rows(t, work), y);
    } else if (const Symbol* read = layout_.lookup(t.source)) {
      look_up(t, read, y, panels, work, start, bias);
    } else {
      const auto& w = parts_.weights(PackedWeights<T>::Form::plain, t.parameter);
      multiply<T>(matrix(What::value, t.source, work), w, y, panels, start, bias);
    }
    start = Start::accumulate;
  }
}

/// Handles the rows at which an affine map is not computed.
template <class T>
void ForwardPass<T>::leave_out(const Item& item, const Work& work) {
  if (item.start)
    start_panels<T>(matrix(What::value, item.node, work), work.panels(node(item.node).size, PackedMatrix<T>::kPanel),
                    Start::zero, nullptr);
}

template <class T>
void ForwardPass<T>::look_up(const Node::AffineTerm& term, const Symbol* read, Matrix<T> y, const Panels& panels,
                             const Work& work, Start start, const T* bias) {
  constexpr Index kPanel = PackedMatrix<T>::kPanel;
  for (Index block = 0; block < panels.blocks; ++block) {
    const Index shift = block * panels.every;
    const Range columns{(panels.range.begin + shift) * kPanel, std::min(y.cols, (panels.range.end + shift) * kPanel)};
    add_rows<T>(parameters()[term.parameter], read + work.rows.begin, y, columns, start, bias);
  }
}

template class ForwardPass<float>;
template class ForwardPass<double>;

}  // namespace unfold
