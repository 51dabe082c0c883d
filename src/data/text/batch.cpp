#include "unfold/data/text/batch.h"

#include <algorithm>
#include <numeric>

#include "base/options/suggestions.h"
#include "unfold/base/checks.h"

namespace unfold {
namespace {

[[noreturn]] void refuse(const std::string& field, const std::string& what) {
  throw UsageError("field " + field + " " + what);
}

template <class T>
void give_symbols(const Field& field, const std::string& name, Range rows, std::span<Symbol> to) {
  const auto* from = std::get_if<SymbolRows>(&field);
  if (from == nullptr) refuse(name, "contains vectors, but the network reads symbols");
  std::copy_n(from->symbols.begin() + rows.begin, rows.size(), to.begin());
}

template <class T>
void give_values(const Field& field, const std::string& name, Range rows, Matrix<T> to) {
  const auto* from = std::get_if<ValueRows>(&field);
  if (from == nullptr) refuse(name, "contains symbols, but the network reads vectors");
  if (from->cols() != to.cols)
    refuse(name, "has " + std::to_string(from->cols()) + " numbers per row, but the network reads " +
                     std::to_string(to.cols));
  const Matrix<const T> values = from->values<T>(rows.begin, rows.size());
  for (Index r = 0; r < values.rows; ++r) std::copy_n(values.row(r), values.cols, to.row(r));
}

}  // namespace

const Field& Batch::field(std::string_view name) const {
  const auto found = fields.find(name);
  if (found != fields.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, rows] : fields) names.push_back(known);
  throw UsageError("the data has no field \"" + std::string(name) + "\"" + did_you_mean(name, names));
}

void Batch::reset_all_chains() {
  const Index chains = structure.sequences();
  carry.slots.resize(static_cast<std::size_t>(chains));
  std::iota(carry.slots.begin(), carry.slots.end(), Index{0});
  carry.fresh = carry.slots;
  carry.moves.clear();
  carry.slots_needed = chains;
  whole = true;
}

template <class T>
void enter_batch(const Batch& batch, const Plan& plan, State<T>& state) {
  require_range("batch: number of state slots", 0, batch.carry.slots_needed, Index{1} << 40);
  if (state.width() != plan.state_width() && state.slots() > 0)
    throw UsageError("batch: the state belongs to a different plan");
  if (state.slots() < batch.carry.slots_needed) {
    State<T> larger(plan, batch.carry.slots_needed);
    for (Index s = 0; s < state.slots(); ++s) larger.copy_slot(state, s, s);
    state = std::move(larger);
  }
  for (const Index slot : batch.carry.fresh) state.reset(slot);
}

template <class T>
void leave_batch(const Batch& batch, State<T>& state) {
  for (const auto& [from, to] : batch.carry.moves) state.copy_slot(state, from, to);
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

namespace {

int part_of(const Plan& plan, const NetworkInput& input) {
  require_index("batch: input signal", input.signal.id, static_cast<Index>(plan.nodes().size()));
  return plan.nodes()[at(input.signal.id)].part;
}

template <class T>
void give(const Batch& batch, const NetworkInput& input, Range rows, Unfolding<T>& unfolding) {
  const Field& field = batch.field(input.field);
  if (rows_of(field) < rows.end)
    refuse(input.field,
           "has " + std::to_string(rows_of(field)) + " rows, but the network reads " + std::to_string(rows.end));
  if (unfolding.plan().nodes()[at(input.signal.id)].kind() == Node::Kind::symbols)
    give_symbols<T>(field, input.field, rows, unfolding.symbols(input.signal));
  else
    give_values<T>(field, input.field, rows, unfolding.input(input.signal));
}

}  // namespace

template <class T>
void set_source_inputs(const Batch& batch, const Network<T>& network, Unfolding<T>& unfolding) {
  for (const NetworkInput& input : network.inputs) {
    const int part = part_of(unfolding.plan(), input);
    if (part > 0 && unfolding.plan().live(input.signal.id))
      give(batch, input, {0, unfolding.structure().part(part).positions()}, unfolding);
  }
}

template <class T>
void upload_inputs(const Batch& batch, Index first_row, Index rows, const Network<T>& network,
                   Unfolding<T>& unfolding) {
  for (const NetworkInput& input : network.inputs)
    if (part_of(unfolding.plan(), input) == 0 && unfolding.plan().live(input.signal.id))
      give(batch, input, {first_row, first_row + rows}, unfolding);
  set_source_inputs(batch, network, unfolding);
}

template void set_source_inputs(const Batch&, const Network<float>&, Unfolding<float>&);
template void set_source_inputs(const Batch&, const Network<double>&, Unfolding<double>&);
template void enter_batch(const Batch&, const Plan&, State<float>&);
template void enter_batch(const Batch&, const Plan&, State<double>&);
template void copy_state(const State<float>&, State<float>&);
template void copy_state(const State<double>&, State<double>&);
template void leave_batch(const Batch&, State<float>&);
template void leave_batch(const Batch&, State<double>&);
template void upload_inputs(const Batch&, Index, Index, const Network<float>&, Unfolding<float>&);
template void upload_inputs(const Batch&, Index, Index, const Network<double>&, Unfolding<double>&);

}  // namespace unfold
