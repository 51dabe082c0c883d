#include "unfold/engine/unfolding.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "unfold/engine/backend.h"
#include "unfold/engine/kept_values.h"
#include "unfold/engine/passes.h"
#include "unfold/engine/step_program.h"

namespace unfold {
// ---------------------------------------------------------------------------------------------------------- state

template <class T>
State<T>::State(const Plan& plan, Index slots)
    : slots_(slots), width_(plan.state_width()), values_(slots * plan.state_width()), fresh_(at(slots), 1) {}

template <class T>
void State<T>::copy_slot(const State& from, Index from_slot, Index to_slot) {
  std::copy_n(from.row(from_slot), width_, row(to_slot));
  fresh_[at(to_slot)] = from.fresh_[at(from_slot)];
}

namespace {

/// Members of a team own sequences: two sequences that refer to one chain would write to the same memory.
void refuse_shared_memory(const Plan& plan, const Structure& structure) {
  if (!structure.shares_sources()) return;
  for (const Node& n : plan.nodes())
    for (const auto& term : n.terms)
      if (term.keys >= 0)
        throw UsageError("backward pass: sequences share a source that " + n.name +
                         " looks at with attention; give each sequence a source of its own");
}

/// Returns whether members that share a step would wait for each other longer than one member needs for the whole step.
bool too_small_to_share(const Plan& plan, std::size_t number_bytes) {
  constexpr double kBytes = 512 << 10;
  return plan.flops_per_position() / 2 * static_cast<double>(number_bytes) < kBytes;
}

}  // namespace

template <class T>
struct Unfolding<T>::Body : Parts<T> {
  using Parts<T>::Parts;
  const Node& node(int i) const { return this->layout.node(i); }
  std::unique_ptr<StepProgram<T>> step;
  std::shared_ptr<const Offload> offload;
  std::unique_ptr<Backend<T>> backend;  // null if passes run on the team
};

// ---------------------------------------------------------------------------------------------------------- interface

template <class T>
Unfolding<T>::Unfolding(std::shared_ptr<const Plan> plan, Team& team, Precision precision,
                        std::shared_ptr<const Offload> offload)  // NOLINT(performance-unnecessary-value-param): moved
    : body_(std::make_unique<Body>(std::move(plan), team, precision)) {
  body_->offload = std::move(offload);
  if (body_->offload != nullptr) body_->backend = body_->offload->backend(*body_);
}
template <class T>
Unfolding<T>::~Unfolding() = default;
template <class T>
Unfolding<T>::Unfolding(Unfolding&&) noexcept = default;

template <class T>
const Plan& Unfolding<T>::plan() const {
  return *body_->plan;
}
template <class T>
const Structure& Unfolding<T>::structure() const {
  return body_->layout.structure();
}
template <class T>
void Unfolding<T>::lay(const Structure& structure, std::span<const Index> slots) {
  body_->lay(structure, slots);
  if (body_->backend != nullptr) body_->backend->lay();
  body_->step.reset();
}

template <class T>
void Unfolding<T>::set_parameters(const Parameters<T>& parameters) {
  if (parameters.size() != body_->plan->parameter_count())
    throw UsageError("unfolding: parameters of another circuit: " + std::to_string(parameters.size()) +
                     " numbers, the plan has " + std::to_string(body_->plan->parameter_count()));
  body_->parameters = &parameters;
  body_->weights.mark_changed();
  if (body_->backend != nullptr)
    body_->backend->parameters_changed();
  else
    static_cast<void>(parameters.flat());  // copied to the host before threads read them
  body_->step.reset();
}

template <class T>
void Unfolding<T>::set_dropout_seed(std::uint64_t seed, Index first_position) {
  body_->masks.draw(seed, first_position);
}
template <class T>
void Unfolding<T>::disable_dropout() {
  body_->masks.switch_off();
}

template <class T>
Matrix<T> Unfolding<T>::input(Signal signal) {
  Body& b = *body_;
  if (b.node(signal.id).kind != Node::Kind::input)
    throw UsageError("unfolding: " + b.node(signal.id).name + " is not an input");
  if (!b.plan->live(signal.id)) throw UsageError("unfolding: no output depends on input " + b.node(signal.id).name);
  if (b.backend != nullptr) b.backend->expect(What::value, signal.id);
  return b.layout.matrix(What::value, signal.id);
}
template <class T>
std::span<Symbol> Unfolding<T>::symbols(Signal signal) {
  Body& b = *body_;
  if (b.node(signal.id).kind != Node::Kind::symbols)
    throw UsageError("unfolding: " + b.node(signal.id).name + " holds no symbols");
  return b.layout.symbols(signal.id);
}

template <class T>
Matrix<const T> Unfolding<T>::value(Signal signal) const {
  Body& b = *body_;
  const int i = b.plan->outside(signal.id);
  if (b.plan->value_place(i).scratch() || !b.plan->live(i))
    throw UsageError("unfolding: " + b.node(i).name + " is not kept; declare it an output of the circuit");
  if (b.backend != nullptr) b.backend->fetch(What::value, i);
  return b.layout.matrix(What::value, i);
}

template <class T>
Matrix<T> Unfolding<T>::adjoint(Signal output) {
  Body& b = *body_;
  const int i = b.plan->outside(output.id);
  const auto& outputs = b.plan->outputs();
  if (std::find(outputs.begin(), outputs.end(), i) == outputs.end())
    throw UsageError("unfolding: " + b.node(i).name + " is not an output, so it takes no adjoint");
  if (!b.plan->needs_adjoint(i)) throw UsageError("unfolding: output " + b.node(i).name + " depends on no parameter");
  b.layout.make_room(What::adjoint);
  if (b.backend != nullptr) b.backend->expect(What::adjoint, i);
  return b.layout.matrix(What::adjoint, i);
}

template <class T>
void Unfolding<T>::clear_adjoints() {
  Body& b = *body_;
  b.layout.make_room(What::adjoint);
  for (int i : b.plan->outputs())
    if (b.plan->needs_adjoint(i)) {
      if (b.backend != nullptr) b.backend->expect(What::adjoint, i);
      Matrix<T> m = b.layout.matrix(What::adjoint, i);
      std::fill_n(m.data, m.rows * m.cols, T{0});
    }
}

template <class T>
bool Unfolding<T>::softmax(Signal output, std::span<const Symbol> targets, T scale, bool seed, T* nats) {
  Body& b = *body_;
  if (b.backend == nullptr) return false;
  const int i = b.plan->outside(output.id);
  if (seed) b.layout.make_room(What::adjoint);
  return b.backend->softmax(i, targets, scale, seed, nats);
}

template <class T>
Resident<T>* Unfolding<T>::resident() {
  return body_->backend == nullptr ? nullptr : body_->backend->resident();
}

template <class T>
void Unfolding<T>::forward(State<T>* state, bool source_stays) {
  Body& b = *body_;
  if (!b.layout.laid()) throw UsageError("unfolding: lay it over a structure first");
  if (b.parameters == nullptr) throw UsageError("unfolding: set its parameters first");
  if (state != nullptr)
    for (Index slot : b.layout.slots())
      if (slot < 0 || slot >= state->slots())
        throw UsageError("unfolding: state slot " + std::to_string(slot) + " of " + std::to_string(state->slots()));
  if (b.backend != nullptr) {
    if (source_stays) throw UsageError("unfolding: a decoder steps on the host, not on a device");
    return b.backend->forward(state);
  }
  b.schedule.choose(Pass::forward);
  b.team.run([&](Member& me) { ForwardPass<T>(b, source_stays).run(me, state); });
  if (state != nullptr) b.boundary.store(*state);
}

template <class T>
void Unfolding<T>::keep(KeptValues<T>& into) const {
  into.take(*body_->plan, body_->layout, body_->team);
}

template <class T>
void Unfolding<T>::recall(const KeptValues<T>& from, const State<T>* state) {
  Body& b = *body_;
  b.team.run([&](Member& me) {
    // Determines which sequences start from the initial values; the values themselves are copied with the others.
    b.boundary.load(me, state, *b.parameters);
    b.masks.number(me, b.layout);
    me.sync();
    for (int i = 0; i < static_cast<int>(b.plan->nodes().size()); ++i) {
      if (b.node(i).kind != Node::Kind::mask || !b.plan->live(i)) continue;
      const Range mine = me.share(b.layout.rows(b.layout.part(i)));
      b.masks.fill(b.node(i), mine.begin, b.layout.matrix(What::value, i, 0, mine));
    }
  });
  from.give(b.layout, b.team);
}

template <class T>
void Unfolding<T>::step(State<T>& state) {
  Body& b = *body_;
  if (b.backend != nullptr || (b.team.size() > 1 && !too_small_to_share(*b.plan, sizeof(T)))) return forward(&state);
  if (b.step == nullptr) b.step = std::make_unique<StepProgram<T>>(b);
  b.step->run(state);
}

template <class T>
void Unfolding<T>::backward(std::span<T> gradient, const BackwardOptions& options, const State<T>* end,
                            State<T>* start) {
  Body& b = *body_;
  if (static_cast<Index>(gradient.size()) != b.plan->parameter_count() && !options.gradient_stays)
    throw UsageError("unfolding: the gradient has " + std::to_string(gradient.size()) + " numbers, the plan " +
                     std::to_string(b.plan->parameter_count()));
  if (options.algebra == Algebra::squared)
    for (const Node& n : b.plan->nodes())
      for (const auto& term : n.terms)
        if (!term.dense() && !term.op->has_squared())
          throw UsageError("modulus pass: " + n.name + " has parameters of a " + std::string(term.op->name()) +
                           " map, which are no weights of units");
  refuse_shared_memory(*b.plan, b.layout.structure());
  b.layout.make_room(What::adjoint);
  if (b.backend != nullptr) return b.backend->backward(gradient, options, end, start);
  b.schedule.choose(Pass::backward);
  b.team.run([&](Member& me) { BackwardPass<T>(b, options, end).run(me, gradient.data()); });
  if (start != nullptr) b.boundary.store_adjoints(*start);
}

template <class T>
Matrix<const T> Unfolding<T>::affine_adjoint(Signal affine) const {
  Body& b = *body_;
  if (b.node(affine.id).kind != Node::Kind::affine)
    throw UsageError("unfolding: " + b.node(affine.id).name + " is not an affine map");
  if (b.backend != nullptr) b.backend->fetch(What::adjoint, affine.id);
  return b.layout.matrix(What::adjoint, affine.id);
}

template <class T>
const T* Unfolding<T>::source_row(int node, Index step, Index row) const {
  return body_->layout.address(What::value, node, step, row);
}

template <class T>
OperatorRows<T> Unfolding<T>::rows_read(const Node& affine, const Node::AffineTerm& term, Index step, Index row) const {
  Body& b = *body_;
  OperatorRows<T> result{.w = (*b.parameters)[term.parameter],
                         .x = b.layout.matrix(What::value, term.source, step, {row, row + 1})};
  if (term.keys < 0) return result;
  result.memory = b.layout.memory_of(affine.part, term, row);
  result.memory.keys = b.layout.matrix(What::value, term.keys);
  result.memory.values = b.layout.matrix(What::value, term.values);
  return result;
}

template <class T>
std::span<const Symbol> Unfolding<T>::symbols_read(int node) const {
  return body_->layout.symbols(node);
}

template <class T>
void Unfolding<T>::squares_at_starts(std::span<T> result) const {
  body_->boundary.initial_gradients(*body_->parameters, result.data(), false, true);
}

template <class T>
void Unfolding<T>::tangent(std::span<const T> direction) {
  Body& b = *body_;
  b.layout.make_room(What::tangent);
  if (b.backend != nullptr) return b.backend->tangent(direction);
  b.team.run([&](Member& me) { TangentPass<T>(b, direction.data()).run(me); });
}

template <class T>
Matrix<const T> Unfolding<T>::tangent_of(Signal output) const {
  Body& b = *body_;
  const int i = b.plan->outside(output.id);
  if (!b.plan->needs_adjoint(i))
    throw UsageError("unfolding: output " + b.node(i).name + " depends on no parameter: it has no tangent");
  if (b.backend != nullptr) b.backend->fetch(What::tangent, i);
  return b.layout.matrix(What::tangent, i);
}

template <class T>
void Unfolding<T>::set_account(Account* account) {
  body_->schedule.set_account(account);
}

template <class T>
bool Unfolding<T>::settled() const {
  return body_->schedule.settled();
}

template <class T>
std::size_t Unfolding<T>::memory_bytes() const {
  return body_->layout.memory_bytes() + body_->boundary.memory_bytes() + body_->weights.memory_bytes();
}

template <class T>
std::string Unfolding<T>::first_non_finite() const {
  Body& b = *body_;
  const auto position = [&](int i, Index row) {
    const int part = b.node(i).part;
    const Structure& structure = b.layout.structure(part);
    const Index item = b.layout.order(b.plan->corner(i), part).items[at(row)], s = structure.sequence_of_item(item);
    return b.node(i).name + " at position " + std::to_string(item - structure.item(s, 0)) + " of " +
           (part > 0 ? "source " : "") + "sequence " + std::to_string(s);
  };
  // Checks signals in plan order within a step, and steps in order: reports the first row that is not finite, and in it
  // the first signal. Deeper parts come before everything that reads them.
  std::string first;
  int deepest = b.layout.parts();
  Index earliest = 0;
  for (const Segment& segment : b.plan->segments()) {
    if (!first.empty() && segment.part < deepest) continue;
    if (segment.part != std::exchange(deepest, segment.part)) earliest = b.layout.rows(segment.part);
    for (const Item& item : segment.items) {
      std::vector<int> computed = item.nodes;
      if (item.node >= 0) computed.push_back(item.node);
      for (int i : computed) {
        const Place here = b.plan->value_place(i);
        if (here.scratch()) continue;
        if (b.backend != nullptr) b.backend->fetch(What::value, i);
        for (Index r = 0; r < earliest; ++r) {
          const T* row = b.layout.address(What::value, i, 0, r);
          const bool finite = std::all_of(row, row + b.node(i).size, [](T x) { return std::isfinite(x); });
          if (!finite) {
            earliest = r;
            first = position(i, r);
          }
        }
      }
    }
  }
  return first;
}

template class State<float>;
template class State<double>;
template class Unfolding<float>;
template class Unfolding<double>;

}  // namespace unfold
