#include "graph/engine/boundary.h"

#include <algorithm>

namespace unfold {

template <class T>
Boundary<T>::Boundary(const Plan& plan, Layout<T>& layout)
    : plan_(plan),
      layout_(layout),
      kept_(plan.nodes().size()),
      kept_adjoints_(plan.nodes().size()),
      ends_(plan.nodes().size()) {}

template <class T>
void Boundary<T>::lay() {
  fresh_.assign(at(layout_.places()), 1);
  for (const Plan::Kept& k : plan_.kept())
    for (auto* buffer : {&kept_[at(k.link)], &kept_adjoints_[at(k.link)]})
      if (const Index size = layout_.places() * node(k.link).size; buffer->size() < size) buffer->resize(size);
}

template <class T>
Index Boundary<T>::place_begun_earlier(int link, Index row) const {
  if (node(link).link().delay.along != Delay::Along::first || node(link).part > 0) return -1;
  const Structure& structure = layout_.structure();
  const Index place = structure.place(structure.sequence_of_item(layout_.order().items[at(row)]));
  return fresh(place) ? -1 : place;
}

template <class T>
void Boundary<T>::load(Member& me, const State<T>* state, const Parameters<T>& parameters) {
  const Range mine = me.share(layout_.places());
  for (Index p = mine.begin; p < mine.end; ++p) {
    const bool starts = state == nullptr || state->fresh(layout_.slot(p));
    fresh_[at(p)] = starts ? 1 : 0;
    const T* carried = starts ? nullptr : state->row(layout_.slot(p));
    for (const Plan::Carried& c : plan_.carried())
      if (part(c) == 0) load_history(c, p, carried, parameters);
    for (const Plan::Kept& k : plan_.kept())
      if (carried != nullptr) std::copy_n(carried + k.offset, node(k.link).size, kept(k.link, p));
  }
  for (const Plan::Carried& c : plan_.carried()) {
    if (part(c) == 0) continue;
    const Range own = me.share(layout_.places(part(c)));
    for (Index p = own.begin; p < own.end; ++p) load_history(c, p, nullptr, parameters);
  }
}

/// If `state` is null, the initial values are used.
template <class T>
void Boundary<T>::load_history(const Plan::Carried& c, Index place, const T* state, const Parameters<T>& parameters) {
  const Index n = node(c.source).size;
  for (Index back = 1; back <= c.steps; ++back) {
    T* row = layout_.history_row(What::value, c.source, back, place);
    if (state != nullptr)
      std::copy_n(state + c.offset + (back - 1) * n, n, row);
    else if (c.initial >= 0)
      std::copy_n(parameters[c.initial].data, n, row);
    else
      std::fill_n(row, n, T{0});
  }
}

template <class T>
void Boundary<T>::mark(const State<T>* state) {
  for (Index p = 0; p < layout_.places(); ++p)
    fresh_[at(p)] = state == nullptr || state->fresh(layout_.slot(p)) ? 1 : 0;
}

template <class T>
void Boundary<T>::store(State<T>& state) {
  store_rows(What::value, state);
}

template <class T>
void Boundary<T>::store_tangents(State<T>& state) {
  store_rows(What::tangent, state);
}

template <class T>
void Boundary<T>::store_rows(What what, State<T>& state) {
  for (Index p = 0; p < layout_.places(); ++p) {
    const Index length = layout_.length(p);
    T* to = state.row(layout_.slot(p));
    const auto put = [&](int i, Index offset, const auto& address) {
      const bool moves = what == What::value || plan_.needs_adjoint(i);
      moves ? std::copy_n(address(), node(i).size, to + offset) : std::fill_n(to + offset, node(i).size, T{0});
    };
    for (const Plan::Carried& c : plan_.carried()) {
      if (part(c) > 0) continue;
      for (Index back = 1; back <= c.steps; ++back) {
        const Index step = length - back;
        put(c.source, c.offset + (back - 1) * node(c.source).size, [&] {
          return step >= 0 ? layout_.address(what, c.source, step, layout_.first_row(step) + p)
                           : layout_.history_row(what, c.source, back - length, p);
        });
      }
    }
    for (const Plan::Kept& k : plan_.kept()) put(k.link, k.offset, [&] { return layout_.address(what, k.link, 0, p); });
    state.mark_carried(layout_.slot(p));
  }
}

template <class T>
void Boundary<T>::load_adjoints(const State<T>* end) {
  for (const Plan::Carried& c : plan_.carried()) {
    if (!plan_.needs_adjoint(c.source)) continue;
    const int root = plan_.adjoint_place(c.source).root;
    const Index tail = plan_.adjoint_buffer(root).tail, n = node(c.source).size;
    const int of = part(c);
    for (Index p = 0; p < layout_.places(of); ++p) {
      const T* from = end != nullptr && of == 0 ? end->row(layout_.slot(p)) + c.offset : nullptr;
      for (Index back = 1; back <= c.steps; ++back) {
        const Index step = layout_.length(p, of) - back;
        if (tail > 0 && step >= 0) continue;  // tail rows start with these adjoints
        const Index first = step >= 0 ? layout_.first_row(step, Corner::top_left, of) : 0;
        T* row = step >= 0 ? layout_.address(What::adjoint, c.source, step, first + p)
                           : layout_.history_row(What::adjoint, c.source, -step, p);
        if (tail > 0) std::fill_n(row, n, T{0});
        if (from != nullptr)
          for (Index j = 0; j < n; ++j) row[j] += from[(back - 1) * n + j];
      }
    }
  }
  load_kept_adjoints(end);
}

/// Passes the adjoints from later windows for links along `first` to the first position, or on to the window that
/// contains it.
template <class T>
void Boundary<T>::load_kept_adjoints(const State<T>* end) {
  for (const Plan::Kept& k : plan_.kept()) {
    const int source = node(k.link).link().source;
    const Index n = node(k.link).size;
    for (Index p = 0; p < layout_.places() && plan_.needs_adjoint(source); ++p) {
      T* row = fresh(p) ? layout_.address(What::adjoint, source, 0, p) : kept_adjoint(k.link, p);
      if (!fresh(p)) std::fill_n(row, n, T{0});
      const T* from = end != nullptr ? end->row(layout_.slot(p)) + k.offset : nullptr;
      for (Index j = 0; j < n && from != nullptr; ++j) row[j] += from[j];
    }
  }
}

template <class T>
void Boundary<T>::store_adjoints(State<T>& start) {
  for (Index p = 0; p < layout_.places(); ++p) {
    const auto put = [&](const T* row, Index n, T* to) {
      if (row != nullptr)
        std::copy_n(row, n, to);
      else
        std::fill_n(to, n, T{0});
    };
    T* to = start.row(layout_.slot(p));
    for (const Plan::Carried& c : plan_.carried()) {
      if (part(c) > 0) continue;
      const Index n = node(c.source).size;
      const bool moves = !fresh(p) && plan_.needs_adjoint(c.source);
      for (Index back = 1; back <= c.steps; ++back)
        put(moves ? layout_.history_row(What::adjoint, c.source, back, p) : nullptr, n, to + c.offset + (back - 1) * n);
    }
    for (const Plan::Kept& k : plan_.kept()) {
      const bool moves = !fresh(p) && plan_.needs_adjoint(node(k.link).link().source);
      put(moves ? kept_adjoint(k.link, p) : nullptr, node(k.link).size, to + k.offset);
    }
  }
}

template <class T>
void Boundary<T>::load_tangents(const Parameters<T>& parameters, const T* direction, const State<T>* state) {
  for (const Plan::Carried& c : plan_.carried()) {
    if (!plan_.needs_adjoint(c.source)) continue;
    const Index n = node(c.source).size;
    const auto moves = [&](int operand) { return operand >= 0 && plan_.needs_adjoint(operand); };
    if (node(c.source).kind() == Node::Kind::pointwise &&
        std::ranges::none_of(node(c.source).pointwise().operands, moves))
      // Only the trained initial value depends on parameters, so no item writes the tangent.
      layout_.buffer(What::tangent, c.source).fill_zero();
    for (Index p = 0; p < layout_.places(part(c)); ++p)
      for (Index back = 1; back <= c.steps; ++back) {
        T* row = layout_.history_row(What::tangent, c.source, back, p);
        if (c.initial >= 0 && fresh(p, part(c)))
          std::copy_n(parameters.view(direction, c.initial).data, n, row);
        else if (state != nullptr && part(c) == 0 && !fresh(p))
          std::copy_n(state->row(layout_.slot(p)) + c.offset + (back - 1) * n, n, row);
        else
          std::fill_n(row, n, T{0});
      }
  }
}

template <class T>
void Boundary<T>::initial_gradients(const Parameters<T>& parameters, T* gradient, bool accumulate, bool squared) {
  for (int i = 0; i < static_cast<int>(plan_.nodes().size()); ++i) {
    if (node(i).kind() != Node::Kind::link || node(i).link().initial < 0) continue;
    const Node& node = this->node(i);
    const Node::Link& link = node.link();
    T* g = parameters.view(gradient, link.initial).data;
    if (!accumulate) std::fill_n(g, node.size, T{0});
    if (!plan_.live(i)) continue;
    const auto add = [&](const T* row) {
      for (Index j = 0; j < node.size; ++j) g[j] += squared ? row[j] * row[j] : row[j];
    };
    if (link.delay.along != Delay::Along::previous) {
      for (Index r = layout_.rows(node.part); r-- > 0;)
        if (layout_.predecessors(i)[at(r)] < 0) add(layout_.address(What::adjoint, i, 0, r));
    } else if (plan_.needs_adjoint(link.source)) {
      for (Index back = 1; back <= link.delay.steps; ++back)
        for (Index p = layout_.places(node.part); p-- > 0;)
          if (fresh(p, node.part)) add(layout_.history_row(What::adjoint, link.source, back, p));
    }
  }
}

template <class T>
std::size_t Boundary<T>::memory_bytes() const {
  Index numbers = 0;
  for (const auto* group : {&kept_, &kept_adjoints_})
    for (const auto& buffer : *group) numbers += buffer.size();
  return at(numbers) * sizeof(T);
}

template class Boundary<float>;
template class Boundary<double>;

}  // namespace unfold
