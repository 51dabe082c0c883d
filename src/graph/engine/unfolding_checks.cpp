#include "graph/engine/unfolding_checks.h"

#include <algorithm>
#include <functional>

namespace unfold {

void refuse_shared_memory(const Plan& plan, const Structure& structure) {
  if (!structure.shares_sources()) return;
  for (const Node& n : plan.nodes())
    for (const auto& term : n.terms())
      if (term.keys >= 0)
        throw UsageError("backward pass: sequences share a source that " + n.name +
                         " reads with attention; give each sequence a separate source");
}

void check_slots(const Structure& structure, std::span<const Index> slots) {
  if (slots.empty()) return;
  require_length("unfolding: the list of state slots", slots.size(), structure.sequences());
  const bool rising = std::adjacent_find(slots.begin(), slots.end(), std::greater_equal<>()) == slots.end();
  if (rising && slots.front() >= 0) return;  // the usual case
  std::vector<Index> sorted(slots.begin(), slots.end());
  std::sort(sorted.begin(), sorted.end());
  if (sorted.front() < 0) throw UsageError("unfolding: state slot " + std::to_string(sorted.front()) + " is negative");
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) throw UsageError("unfolding: two sequences have the state slot " + std::to_string(*twice));
}

template <class T>
void UnfoldingChecks<T>::require_state(const State<T>& state) const {
  if (state.width() != this->plan->state_width())
    throw UsageError("unfolding: the state belongs to a different plan: " + std::to_string(state.width()) +
                     " numbers per slot, but this plan has " + std::to_string(this->plan->state_width()));
  for (const Index slot : this->layout.slots())
    if (slot >= state.slots())
      throw UsageError("unfolding: state slot " + std::to_string(slot) + " does not exist; the state has " +
                       std::to_string(state.slots()));
}

template <class T>
bool UnfoldingChecks<T>::is_readable(What what, int i) const {
  const Place& place = position_in_total(*this->plan, what, i);
  if (what == What::value ? kept[at(i)] == 0 : place.scratch()) return false;
  if (this->plan->corner(i) != Corner::top_left) return false;
  if (place.shift == 0) return true;
  require_laid();
  return this->layout.rectangular(this->layout.part(i)) && this->layout.is_contiguous(place.root);
}

template <class T>
void UnfoldingChecks<T>::require_readable(What what, Signal signal, int i) const {
  if (is_readable(what, i)) return;
  const std::string& name = node(signal.id).name;
  if (node(signal.id).kind() == Node::Kind::symbols)
    throw UsageError("unfolding: " + name + " is not kept as numbers; read it with `symbols`");
  const std::string fault =
      "unfolding: " + std::string(what == What::value ? "" : "the tangent of ") + name + " is not kept; declare ";
  const int source = viewed(signal.id);
  throw UsageError(fault + (source == signal.id ? "it" : node(source).name + ", which it reads,") +
                   " an output of the circuit");
}

template <class T>
int UnfoldingChecks<T>::viewed(int i) const {
  const Node& n = node(i);
  if (n.kind() == Node::Kind::slice) return viewed(n.slice().operand);
  if (n.kind() == Node::Kind::reorder) return viewed(n.reorder().operand);
  if (this->plan->is_exit(i)) return viewed(n.pointwise().operands[0]);
  return n.kind() == Node::Kind::link && !n.link().delay.to_end() ? viewed(n.link().source) : i;
}

template <class T>
void UnfoldingChecks<T>::require_symbols() const {
  for (const int i : symbol_nodes) {
    const std::vector<Symbol>& symbols = this->layout.symbols(i);
    const auto size = static_cast<std::uint32_t>(node(i).size);
    std::uint32_t most = 0;
    for (const Symbol symbol : symbols) most = std::max(most, static_cast<std::uint32_t>(symbol) + 1);
    if (most <= size) continue;
    const auto wrong =
        std::ranges::find_if(symbols, [size](Symbol symbol) { return static_cast<std::uint32_t>(symbol) + 1 > size; });
    fail_symbol("unfolding: " + node(i).name + ", row " + std::to_string(wrong - symbols.begin()) + ": ", *wrong,
                node(i).size);
  }
}

template <class T>
void UnfoldingChecks<T>::require_seeds() const {
  for (const int i : this->plan->outputs())
    if (this->plan->needs_adjoint(i) && seeded[at(i)] == 0)
      throw UsageError("unfolding: backward: fill the adjoint of output " + node(i).name +
                       " first (or clear_adjoints)");
}

template <class T>
void UnfoldingChecks<T>::require_bindable(int i, const Matrix<T>& rows) const {
  require_laid();
  require_host("memory of the caller");
  if (rows.rows != this->layout.rows(this->layout.part(i)) || rows.cols != node(i).size || rows.stride < rows.cols)
    throw UsageError("unfolding: memory of " + std::to_string(rows.rows) + " x " + std::to_string(rows.cols) +
                     " numbers does not fit " + node(i).name + ", which has " +
                     std::to_string(this->layout.rows(this->layout.part(i))) + " x " + std::to_string(node(i).size));
}

template <class T>
int UnfoldingChecks<T>::input_with_derivative(Signal input) const {
  const int i = id_of(input);
  if (node(i).kind() != Node::Kind::input || !this->plan->live(i) || !this->plan->needs_adjoint(i))
    throw UsageError("unfolding: " + node(i).name +
                     " is not an input with derivatives; set PlanOptions::input_derivatives");
  return i;
}

template struct UnfoldingChecks<float>;
template struct UnfoldingChecks<double>;

}  // namespace unfold
