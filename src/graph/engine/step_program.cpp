#include "graph/engine/step_program.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "numerics/bound_affine.h"
#include "numerics/bound_program.h"

namespace unfold {

void require_steppable(const Plan& plan) {
  for (const Node& node : plan.nodes())
    if (node.kind() == Node::Kind::link && node.link().delay.along != Delay::Along::previous &&
        node.link().delay.along != Delay::Along::first)
      throw UsageError("stepper: " + node.name + " reads along " + describe(node.link().delay) +
                       "; a circuit can be stepped only if all its links read earlier positions");
}

template <class T>
StepProgram<T>::StepProgram(Parts<T>& parts) : PassBase<T>(parts), width_(plan_.state_width()) {
  require_steppable(plan_);
  if (layout_.parts() > 1 || layout_.structure().positions() != 1 ||
      layout_.structure().kind() != Structure::Kind::chains)
    throw UsageError("stepper: the unfolding must be over one chain of one position, without a source");
  if (parts.masks.drawn()) throw UsageError("stepper: dropout is not supported; call disable_dropout");
  find_reads();
  find_history();
  parts.team.run([&](Member& me) {
    if (me.id() != 0) return;
    for (std::size_t g = 0; g < plan_.segments().size(); ++g)
      for (std::size_t k = 0; k < plan_.segments()[g].items.size(); ++k) compile(me, g, k);
  });
}

template <class T>
void StepProgram<T>::run(State<T>& state) {
  check(state);
  state_row_ = state.values().data();
  begins_ = state.fresh_flags()[0] != 0;
  load();
  for (const Step& step : steps_) step();
  store();
  state.fresh_flags()[0] = 0;
}

/// The first symbol is checked before every step; other symbols are checked by separate steps.
template <class T>
void StepProgram<T>::find_reads() {
  for (int i = 0; i < static_cast<int>(plan_.nodes().size()); ++i) {
    if (node(i).kind() != Node::Kind::symbols || !plan_.live(i)) continue;
    const Read read{layout_.symbols(i).data(), static_cast<std::uint32_t>(node(i).size), i};
    if (read_.node < 0)
      read_ = read;
    else
      steps_.push_back([this, read] {
        if (!read.is_valid()) refuse(read);
      });
  }
}

template <class T>
void StepProgram<T>::refuse(const Read& read) const {
  fail_symbol("unfolding: " + node(read.node).name + ": ", *read.symbol, read.alphabet);
}

template <class T>
void StepProgram<T>::refuse(const State<T>& state) const {
  if (state.width() == width_) fail_index("state: slot", 0, state.slots());
  throw UsageError("unfolding: the state belongs to a different plan: " + std::to_string(state.width()) +
                   " numbers per slot, but this plan has " + std::to_string(width_));
}

/// Finds the state entries of each source; the most recent value comes first.
template <class T>
void StepProgram<T>::find_history() {
  for (const Plan::Carried& c : plan_.carried()) {
    const Index n = node(c.source).size;
    const T* next = row(c.source);
    for (Index back = 1; back <= c.steps; ++back) {
      T* const mine = layout_.history_row(What::value, c.source, back, 0);
      const T* const initial = c.initial >= 0 ? parameters()[c.initial].data : nullptr;
      history_.push_back(
          {.row = mine, .offset = c.offset + (back - 1) * n, .size = n, .initial = initial, .next = next});
      next = mine;
    }
  }
}

template <class T>
void StepProgram<T>::load() {
  for (const History& h : history_) {
    const T* from = begins_ ? h.initial : state_row_ + h.offset;
    if (from != nullptr)
      std::copy_n(from, h.size, h.row);
    else
      std::fill_n(h.row, h.size, T{0});
  }
}

template <class T>
void StepProgram<T>::store() {
  for (const History& h : history_) std::copy_n(h.next, h.size, state_row_ + h.offset);
}

template <class T>
void StepProgram<T>::compile(const Member& me, std::size_t g, std::size_t k) {
  const Item& item = plan_.segments()[g].items[k];
  switch (item.kind) {
    case Item::Kind::affine:
      for (const auto& part : item.parts) waiting_[item.node].push_back(&term_of(item, part));
      if (plan_.last_segment(item.node) == static_cast<int>(g)) affine(me, item.node);
      return;
    case Item::Kind::pointwise: return maps(parts_.programs.forward(g, k));
    case Item::Kind::gather: return keep_first(item.node);
    case Item::Kind::mask:  // nothing else writes to this buffer
      std::fill_n(row(item.node), node(item.node).size, T{1});
      return;
    case Item::Kind::reorder: return;  // for grids, and for chains that are read from their end
  }
}

/// Computes the whole map at once, at the position of its last term: no earlier item reads it or writes its operands.
template <class T>
void StepProgram<T>::affine(const Member& me, int i) {
  const Node& n = node(i);
  Steps steps = terms(me, i, waiting_[i]);
  if (n.affine().awake < 0) {
    std::move(steps.begin(), steps.end(), std::back_inserter(steps_));
    return;
  }
  steps_.push_back([awake = row(n.affine().awake), y = row(i), size = n.size, steps = std::move(steps)] {
    if (*awake == 0) return static_cast<void>(std::fill_n(y, size, T{0}));
    for (const Step& step : steps) step();
  });
}

/// Compiles the terms in order. Adjacent matrix terms form one step, together with the lookups before them.
template <class T>
typename StepProgram<T>::Steps StepProgram<T>::terms(const Member& me, int i,
                                                     const std::vector<const Node::AffineTerm*>& terms) {
  const Index n = node(i).size;
  T* const y = row(i);
  const T* start = node(i).affine().bias >= 0 ? parameters()[node(i).affine().bias].data : nullptr;
  Steps steps;
  std::vector<BoundLookup<T>> lookups;
  std::vector<BoundTerm<T>> products;
  const auto flush = [&] {
    if (lookups.empty() && products.empty()) return;
    const auto map = std::make_shared<BoundAffine<T>>(std::exchange(start, y), std::exchange(lookups, {}),
                                                      std::exchange(products, {}), y, n);
    steps.push_back([map] { (*map)(); });
  };
  for (const Node::AffineTerm* t : terms) {
    const Matrix<const T> w = parameters()[t->parameter];
    const Symbol* const read = t->dense() ? layout_.lookup(t->source) : nullptr;
    if (!t->dense() || (read != nullptr && !products.empty())) flush();
    if (!t->dense())
      steps.push_back(apply(me, *t, {y, 1, n, n}, std::exchange(start, y)));
    else if (read != nullptr)
      lookups.push_back({read, w});
    else
      products.push_back({row(t->source), w});
  }
  flush();
  return steps;
}

/// y = start + f(w, x) for an operator.
template <class T>
typename StepProgram<T>::Step StepProgram<T>::apply(const Member& me, const Node::AffineTerm& t, Matrix<T> y,
                                                    const T* start) {
  const Start how = start == y.data ? Start::accumulate : start != nullptr ? Start::bias : Start::zero;
  return [=, &op = *t.op, rows = operator_rows(me, t, 0, {0, 1})] {
    start_rows(y, how, start);
    op.apply(rows, y);
  };
}

template <class T>
void StepProgram<T>::maps(const Program& program) {
  if (program.instructions.empty()) return;
  std::vector<Operand<T>> operands;
  for (const auto& [what, i] : program.slots) operands.push_back({row(i), 0});
  const Index columns = node(program.slots.front().node).size;
  const auto bound = std::make_shared<const BoundProgram<T>>(program.instructions, operands, columns);
  steps_.push_back([bound] { (*bound)(); });
}

/// Compiles a link along `first`: the state keeps the value read at the first position.
template <class T>
void StepProgram<T>::keep_first(int link) {
  const auto kept =
      std::find_if(plan_.kept().begin(), plan_.kept().end(), [&](const auto& k) { return k.link == link; });
  steps_.push_back(
      [this, offset = kept->offset, size = node(link).size, from = row(node(link).link().source), to = row(link)] {
        std::copy_n(begins_ ? from : state_row_ + offset, size, to);
        std::copy_n(to, size, state_row_ + offset);
      });
}

template class StepProgram<float>;
template class StepProgram<double>;

}  // namespace unfold
