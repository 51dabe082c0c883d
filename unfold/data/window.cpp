#include "unfold/data/window.h"

#include <algorithm>

namespace unfold {

template <class T>
void enter_window(const Window& window, const Plan& plan, State<T>& state) {
  if (state.slots() < window.slots_needed) {
    State<T> larger(plan, window.slots_needed);
    for (Index s = 0; s < state.slots(); ++s) larger.copy_slot(state, s, s);
    state = std::move(larger);
  }
  for (const Index slot : window.fresh) state.reset(slot);
}

template <class T>
void leave_window(const Window& window, State<T>& state) {
  for (const auto& [from, to] : window.moves) state.copy_slot(state, from, to);
}

template <class T>
void copy_state(const State<T>& from, State<T>& to) {
  if (to.slots() != from.slots() || to.width() != from.width()) {
    to = from;
    return;
  }
  std::copy(from.values().begin(), from.values().end(), to.values().begin());
  std::copy(from.fresh_flags().begin(), from.fresh_flags().end(), to.fresh_flags().begin());
}

template <class T>
void give_inputs(const Window& window, Index first_row, Index rows, const Network<T>& network,
                 Unfolding<T>& unfolding) {
  if (!network.reads_vectors()) {
    const auto symbols = unfolding.symbols(network.symbols);
    std::copy_n(window.inputs.begin() + first_row, rows, symbols.begin());
    return;
  }
  const Matrix<const T> from = window.input_values.rows<T>(first_row, rows);
  const Matrix<T> to = unfolding.input(network.vectors);
  for (Index r = 0; r < rows; ++r) std::copy_n(from.row(r), from.cols, to.row(r));
}

template void enter_window(const Window&, const Plan&, State<float>&);
template void enter_window(const Window&, const Plan&, State<double>&);
template void copy_state(const State<float>&, State<float>&);
template void copy_state(const State<double>&, State<double>&);
template void leave_window(const Window&, State<float>&);
template void leave_window(const Window&, State<double>&);
template void give_inputs(const Window&, Index, Index, const Network<float>&, Unfolding<float>&);
template void give_inputs(const Window&, Index, Index, const Network<double>&, Unfolding<double>&);

}  // namespace unfold
