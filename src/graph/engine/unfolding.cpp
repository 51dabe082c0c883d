#include "unfold/graph/engine/unfolding.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <utility>

#include "base/interruptible.h"
#include "graph/engine/step_program.h"
#include "graph/engine/unfolding_checks.h"
#include "graph/plan/kept_values.h"
#include "unfold/graph/engine/stored_activations.h"

namespace unfold {
namespace {

std::shared_ptr<const Plan> given(std::shared_ptr<const Plan> plan) {
  if (plan == nullptr) throw UsageError("unfolding: the plan is null");
  return plan;
}

bool same_block(const ParameterInfo& a, const ParameterInfo& b) {
  return a.rows == b.rows && a.cols == b.cols && a.offset == b.offset;
}

bool same_source(const Structure* a, const Structure* b) {
  return a != nullptr && b != nullptr && (a == b || a->same_layout(*b));
}

/// Returns whether threads that share a step would wait for each other longer than a single thread needs for the step.
bool too_small_to_share(const Plan& plan, std::size_t number_bytes) {
  constexpr double kBytes = 512 << 10;
  return plan.flops_per_position() / 2 * static_cast<double>(number_bytes) < kBytes;
}

}  // namespace

template <class T>
struct Unfolding<T>::Body : UnfoldingChecks<T> {
  using UnfoldingChecks<T>::UnfoldingChecks;

  std::unique_ptr<StepProgram<T>> step;
};

// ---------------------------------------------------------------------------------------------------------- interface

template <class T>
Unfolding<T>::Unfolding(std::shared_ptr<const Plan> plan, Team& team, Precision precision,
                        std::shared_ptr<const Offload> offload)  // NOLINT(performance-unnecessary-value-param): moved
    : body_(std::make_unique<Body>(given(std::move(plan)), team, precision)) {
  const auto nodes = static_cast<int>(body_->plan->nodes().size());
  body_->kept = kept_values(*body_->plan);
  body_->readable.assign(at(nodes), 0);
  for (int i = 0; i < nodes; ++i) {
    if (!body_->plan->is_exit(i) && body_->node(i).kind() != Node::Kind::reorder) body_->signals = i + 1;
    const bool is_unshifted = body_->plan->value_place(i).shift == 0;
    if (is_unshifted && body_->is_readable(What::value, i)) body_->readable[at(i)] = 1;
    if (body_->plan->live(i) && body_->node(i).kind() == Node::Kind::symbols) body_->symbol_nodes.push_back(i);
  }
  body_->seeded.assign(at(nodes), 0);
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
  check_slots(structure, slots);
  Body& b = *body_;
  const bool was_laid = b.layout.laid();
  const bool keeps_source = was_laid && same_source(b.layout.structure().source(), structure.source());
  if (!was_laid || !b.layout.structure().same_layout(structure)) std::fill(b.seeded.begin(), b.seeded.end(), 0);
  b.source_known = b.source_known && keeps_source;
  b.forwarded = b.went_back = b.moved = false;
  b.lay(structure, slots);
  if (body_->backend != nullptr) body_->backend->lay();
  body_->step.reset();
}

template <class T>
void Unfolding<T>::set_parameters(const Parameters<T>& parameters) {
  if (parameters.size() != body_->plan->parameter_count())
    throw UsageError("unfolding: the parameters belong to a different circuit: " + std::to_string(parameters.size()) +
                     " numbers, but the plan has " + std::to_string(body_->plan->parameter_count()));
  const std::vector<ParameterInfo>&info = parameters.info(), &planned = body_->plan->parameters();
  if (info.size() != planned.size() || !std::equal(info.begin(), info.end(), planned.begin(), same_block))
    throw UsageError(
        "unfolding: the parameters belong to a different circuit: their shapes differ from those in the plan");
  body_->parameters = &parameters;
  body_->forwarded = body_->source_known = body_->went_back = body_->moved = false;
  body_->weights.mark_changed();
  if (body_->backend != nullptr)
    body_->backend->parameters_changed();
  else
    static_cast<void>(parameters.flat());  // copied to the host before threads read them
  body_->step.reset();
}

template <class T>
void Unfolding<T>::set_dropout_seed(std::uint64_t seed, Index first_position) {
  if (first_position < 0)
    throw UsageError("unfolding: dropout from position " + std::to_string(first_position) + "; it must be at least 0");
  body_->masks.draw(seed, first_position);
  body_->step.reset();
}

template <class T>
void Unfolding<T>::disable_dropout() {
  body_->masks.switch_off();
}

template <class T>
Matrix<T> Unfolding<T>::input(Signal signal) {
  Body& b = *body_;
  b.id_of(signal);
  b.require_laid();
  if (b.node(signal.id).kind() != Node::Kind::input)
    throw UsageError("unfolding: " + b.node(signal.id).name + " is not an input");
  if (!b.plan->live(signal.id)) throw UsageError("unfolding: no output depends on input " + b.node(signal.id).name);
  if (b.backend != nullptr) b.backend->expect(What::value, signal.id);
  return b.layout.matrix(What::value, signal.id);
}

template <class T>
std::span<Symbol> Unfolding<T>::symbols(Signal signal) {
  Body& b = *body_;
  b.id_of(signal);
  b.require_laid();
  if (b.node(signal.id).kind() != Node::Kind::symbols)
    throw UsageError("unfolding: " + b.node(signal.id).name + " does not contain symbols");
  return b.layout.symbols(signal.id);
}

template <class T>
Matrix<const T> Unfolding<T>::value(Signal signal) const {
  Body& b = *body_;
  const int i = b.plan->outside(b.id_of(signal));
  if (b.readable[at(i)] == 0) [[unlikely]]
    b.require_readable(What::value, signal, i);
  if (!b.forwarded) [[unlikely]] {
    b.require_laid();
    if (b.node(i).kind() != Node::Kind::input) b.require_forward("unfolding: value");
  }
  if (b.backend != nullptr) b.backend->fetch(What::value, i);
  return b.layout.matrix(What::value, i);
}

template <class T>
Matrix<T> Unfolding<T>::adjoint(Signal output) {
  Body& b = *body_;
  const int i = b.plan->outside(b.id_of(output));
  b.require_laid();
  const auto& outputs = b.plan->outputs();
  if (std::find(outputs.begin(), outputs.end(), i) == outputs.end())
    throw UsageError("unfolding: " + b.node(i).name + " is not an output, so it takes no adjoint");
  if (!b.plan->needs_adjoint(i)) throw UsageError("unfolding: output " + b.node(i).name + " depends on no parameter");
  b.layout.make_room(What::adjoint);
  std::atomic_ref(b.seeded[at(i)]).store(1, std::memory_order_relaxed);  // several threads of a team may request
                                                                         // adjoints at the same time
  if (b.backend != nullptr) b.backend->expect(What::adjoint, i);
  return b.layout.matrix(What::adjoint, i);
}

template <class T>
void Unfolding<T>::clear_adjoints() {
  Body& b = *body_;
  b.require_laid();
  b.layout.make_room(What::adjoint);
  for (int i : b.plan->outputs())
    if (b.plan->needs_adjoint(i)) {
      if (b.backend != nullptr) b.backend->expect(What::adjoint, i);
      Matrix<T> m = b.layout.matrix(What::adjoint, i);
      std::fill_n(m.data, m.rows * m.cols, T{0});
      b.seeded[at(i)] = 1;
    }
}

template <class T>
bool Unfolding<T>::softmax(Signal output, std::span<const Symbol> targets, T scale, bool seed, T* nats) {
  Body& b = *body_;
  if (b.backend == nullptr) return false;
  const int i = b.plan->outside(b.id_of(output));
  b.require_forward("unfolding: softmax");
  require_length("unfolding: the list of targets", targets.size(), b.layout.rows(b.layout.part(i)));
  for (const Symbol target : targets)
    if (target != kNoSymbol) require_symbol(target, b.node(i).size, "unfolding: target ");
  if (seed) b.layout.make_room(What::adjoint);
  const bool done = b.backend->softmax(i, targets, scale, seed, nats);
  if (done && seed) b.seeded[at(i)] = 1;
  return done;
}

template <class T>
Resident<T>* Unfolding<T>::resident() {
  return body_->backend == nullptr ? nullptr : body_->backend->resident();
}

template <class T>
void Unfolding<T>::forward(State<T>* state, bool source_stays) {
  Body& b = *body_;
  b.require_laid();
  b.require_parameters();
  if (state != nullptr) b.require_state(*state);
  if (source_stays)
    require_order(b.source_known, "unfolding: forward", "the source can be kept only after a complete forward pass");
  b.require_symbols();
  b.require_memory();
  b.forwarded = b.source_known = true;
  b.went_back = b.moved = false;
  if (b.backend != nullptr) {
    if (source_stays) throw UsageError("unfolding: decoders run only on the host, not on a device");
    return b.backend->forward(state);
  }
  b.schedule.choose(Pass::forward);
  b.runner.begin_pass();
  b.team.run([&](Member& me) { ForwardPass<T>(b, source_stays).run(me, state); });
  if (state != nullptr) b.boundary.store(*state);
}

template <class T>
void Unfolding<T>::keep(StoredActivations<T>& into) const {
  body_->require_forward("unfolding: keep");
  if (body_->backend != nullptr) throw UsageError("unfolding: values can be kept only on the host, not on a device");
  into.take(*body_->plan, body_->layout, body_->team);
}

template <class T>
void Unfolding<T>::recall(const StoredActivations<T>& from, const State<T>* state) {
  Body& b = *body_;
  b.require_laid();
  b.require_parameters();
  if (state != nullptr) b.require_state(*state);
  b.require_symbols();
  from.require_for(*b.plan, b.layout);
  b.team.run([&](Member& me) {
    // Determines which sequences start from the initial values; the values themselves are copied with the others.
    b.boundary.load(me, state, *b.parameters);
    b.masks.number(me, b.layout);
    me.sync();
    for (int i = 0; i < static_cast<int>(b.plan->nodes().size()); ++i) {
      if (b.node(i).kind() != Node::Kind::mask || !b.plan->live(i)) continue;
      const Range mine = me.share(b.layout.rows(b.layout.part(i)));
      b.masks.fill(b.node(i), mine.begin, b.layout.matrix(What::value, i, 0, mine));
    }
  });
  from.give(b.layout, b.team);
  b.forwarded = b.source_known = true;
  b.went_back = b.moved = false;
}

template <class T>
void Unfolding<T>::step(State<T>& state) {
  if (const std::atomic<bool>* stop = Interruptible::flag(); stop != nullptr && stop->load(std::memory_order_relaxed))
    throw BrokenOff();  // a step has no parallel region, where a team would stop
  Body& b = *body_;
  if (b.step == nullptr) {
    if (b.backend != nullptr || (b.team.size() > 1 && !too_small_to_share(*b.plan, sizeof(T)))) return forward(&state);
    b.require_laid();
    b.require_parameters();
    b.step = std::make_unique<StepProgram<T>>(b);
    b.forwarded = b.source_known = true;
  }
  b.step->run(state);
}

template <class T>
void Unfolding<T>::backward(std::span<T> gradient, const BackwardOptions& options, const State<T>* end,
                            State<T>* start) {
  Body& b = *body_;
  b.require_forward("unfolding: backward");
  b.require_seeds();
  for (const State<T>* state : {end, static_cast<const State<T>*>(start)})
    if (state != nullptr) b.require_state(*state);
  if (options.keep_gradient_on_device && (b.backend == nullptr || b.backend->resident() == nullptr))
    throw UsageError("unfolding: backward: keep_gradient_on_device requires a device that holds the parameters");
  if (static_cast<Index>(gradient.size()) != b.plan->parameter_count() && !options.keep_gradient_on_device)
    throw UsageError("unfolding: the gradient has " + std::to_string(gradient.size()) + " numbers, but the plan has " +
                     std::to_string(b.plan->parameter_count()));
  if (options.algebra == Algebra::squared)
    for (const Node& n : b.plan->nodes())
      for (const auto& term : n.terms())
        if (!term.dense() && !term.op->has_squared())
          throw UsageError("modulus pass: " + n.name + " has parameters of a " + std::string(term.op->name()) +
                           " map, which are not weights of units");
  refuse_shared_memory(*b.plan, b.layout.structure());
  b.layout.make_room(What::adjoint);
  require_order(b.layout.is_complete(What::adjoint), "unfolding: backward",
                "bind the adjoints again after the structure has changed");
  b.went_back = true;
  if (b.backend != nullptr) return b.backend->backward(gradient, options, end, start);
  b.schedule.choose(Pass::backward);
  b.runner.begin_pass();
  b.team.run([&](Member& me) { BackwardPass<T>(b, options, end).run(me, gradient.data()); });
  if (start != nullptr) b.boundary.store_adjoints(*start);
}

template <class T>
Matrix<const T> Unfolding<T>::affine_adjoint(Signal affine) const {
  Body& b = *body_;
  if (b.node(b.id_of(affine)).kind() != Node::Kind::affine)
    throw UsageError("unfolding: " + b.node(affine.id).name + " is not an affine map");
  require_order(b.went_back, "unfolding: affine_adjoint", "call backward first");
  if (!b.plan->live(affine.id) || !b.plan->needs_adjoint(affine.id))
    throw UsageError("unfolding: " + b.node(affine.id).name + " has no adjoint: no output depends on it");
  if (b.backend != nullptr) b.backend->fetch(What::adjoint, affine.id);
  return b.layout.matrix(What::adjoint, affine.id);
}

template <class T>
const T* Unfolding<T>::source_row(int node, Index step, Index row) const {
  Body& b = *body_;
  b.require_node(node);
  b.require_kept(node);
  b.require_forward("unfolding: source_row");
  const int part = b.layout.part(node);
  require_index("unfolding: step", step, b.layout.steps(part));
  const Range rows = b.plan->value_place(node).shift > 0 ? b.layout.order(Corner::top_left, part).step(step)
                                                         : Range{0, b.layout.rows(part)};
  require_index("unfolding: row", row - rows.begin, rows.size());
  return b.layout.address(What::value, node, step, row);
}

template <class T>
OperatorRows<T> Unfolding<T>::rows_read(const Node& affine, const Node::AffineTerm& term, Index step, Index row) const {
  Body& b = *body_;
  b.require_node(term.source);
  b.require_forward("unfolding: rows_read");
  require_index("unfolding: step", step, b.layout.steps(b.layout.part(term.source)));
  require_index("unfolding: row", row, b.layout.rows(b.layout.part(term.source)));
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
  body_->require_node(node);
  if (body_->layout.lookup(node) == nullptr)
    throw UsageError("unfolding: " + body_->node(node).name + " does not contain symbols");
  return std::as_const(body_->layout).symbols(node);
}

template <class T>
void Unfolding<T>::squares_at_starts(std::span<T> result) const {
  require_length("unfolding: the result", result.size(), body_->plan->parameter_count());
  require_order(body_->went_back, "unfolding: squares_at_starts", "call backward first");
  body_->boundary.initial_gradients(*body_->parameters, result.data(), false, true);
}

template <class T>
void Unfolding<T>::tangent(std::span<const T> direction) {
  tangent(direction, nullptr, nullptr);
}

template <class T>
void Unfolding<T>::tangent(std::span<const T> direction, const State<T>* state, State<T>* end) {
  Body& b = *body_;
  for (const State<T>* given : {state, static_cast<const State<T>*>(end)})
    if (given != nullptr) b.require_state(*given);
  if (b.backend != nullptr && (state != nullptr || end != nullptr))
    throw UsageError("unfolding: tangent: a direction of the state is supported only on the host, not on a device");
  require_length("unfolding: the direction", direction.size(), b.plan->parameter_count());
  b.require_forward("unfolding: tangent");
  b.layout.make_room(What::tangent);
  b.moved = true;
  if (b.backend != nullptr) return b.backend->tangent(direction);
  b.runner.begin_pass();
  b.team.run([&](Member& me) { TangentPass<T>(b, direction.data(), state).run(me); });
  if (end != nullptr) b.boundary.store_tangents(*end);
}

template <class T>
Matrix<const T> Unfolding<T>::tangent_of(Signal output) const {
  Body& b = *body_;
  const int i = b.plan->outside(b.id_of(output));
  if (!b.plan->needs_adjoint(i))
    throw UsageError("unfolding: output " + b.node(i).name + " depends on no parameter: it has no tangent");
  require_order(b.moved, "unfolding: tangent_of", "call tangent first");
  b.require_readable(What::tangent, output, i);
  if (b.backend != nullptr) b.backend->fetch(What::tangent, i);
  return b.layout.matrix(What::tangent, i);
}

template <class T>
Matrix<const T> Unfolding<T>::input_adjoint(Signal input) const {
  Body& b = *body_;
  require_order(b.went_back, "unfolding: input_adjoint", "call backward first");
  return b.layout.matrix(What::adjoint, b.input_with_derivative(input));
}

template <class T>
Matrix<T> Unfolding<T>::input_tangent(Signal input) {
  Body& b = *body_;
  b.require_laid();
  const int i = b.input_with_derivative(input);
  b.layout.make_room(What::tangent);
  return b.layout.matrix(What::tangent, i);
}

// ------------------------------------------------------------------------------------- memory owned by the caller

template <class T>
bool Unfolding<T>::bind_value(Signal signal, Matrix<T> rows) {
  Body& b = *body_;
  const int i = b.plan->outside(b.id_of(signal));
  b.require_bindable(i, rows);
  if (b.readable[at(i)] == 0 || !b.layout.can_bind(What::value, i)) return false;
  b.layout.bind(What::value, i, rows);
  b.step.reset();
  return true;
}

template <class T>
bool Unfolding<T>::bind_adjoint(Signal signal, Matrix<T> rows) {
  Body& b = *body_;
  const int i = b.plan->outside(b.id_of(signal));
  b.require_bindable(i, rows);
  if (!b.plan->needs_adjoint(i) || !b.layout.can_bind(What::adjoint, i)) return false;
  b.layout.make_room(What::adjoint);
  b.layout.bind(What::adjoint, i, rows);
  b.seeded[at(i)] = 1;
  return true;
}

template <class T>
void Unfolding<T>::bind_weights(int parameter, Matrix<const T> weights, Matrix<T> gradient) {
  Body& b = *body_;
  b.require_host("bind_weights");
  require_index("unfolding: parameter", parameter, static_cast<Index>(b.plan->parameters().size()));
  const ParameterInfo& info = b.plan->parameters()[at(parameter)];
  if (!b.weights.is_packed(parameter)) throw UsageError("unfolding: bind_weights: no product reads " + info.name);
  const auto fits = [&](Index rows, Index cols) { return rows == info.cols && cols == info.rows; };
  if (!fits(weights.rows, weights.cols) || (gradient.data != nullptr && !fits(gradient.rows, gradient.cols)))
    throw UsageError("unfolding: bind_weights: " + info.name + " needs " + std::to_string(info.cols) + " x " +
                     std::to_string(info.rows) + " weights, one row per output");
  b.weights.bind(parameter, weights);
  b.weights.bind_gradient(parameter, gradient);
}

template <class T>
void Unfolding<T>::bind_end(Signal link, Matrix<const T> values, Matrix<T> adjoints, Matrix<const T> tangents) {
  Body& b = *body_;
  b.require_host("bind_end");
  const Node& node = b.node(b.id_of(link));
  if (node.kind() != Node::Kind::link || node.link().delay != Delay::next() || node.part != 0)
    throw UsageError("unfolding: bind_end: " + node.name + " is not a link to the next position");
  b.boundary.set_end(link.id, {values, adjoints, tangents});
}

template <class T>
void Unfolding<T>::keep_values_outside(bool on) {
  body_->require_host("keep_values_outside");
  body_->layout.keep_values_outside(on);
  body_->step.reset();
  body_->forwarded = false;
}

template <class T>
Index Unfolding<T>::outside_numbers() const {
  body_->require_laid();
  return body_->layout.outside_numbers();
}

template <class T>
void Unfolding<T>::bind_outside(std::span<T> block) {
  Body& b = *body_;
  b.require_laid();
  if (!b.layout.keeps_values_outside()) throw UsageError("unfolding: bind_outside: call keep_values_outside first");
  if (const Index numbers = b.layout.outside_numbers(); static_cast<Index>(block.size()) < numbers)
    throw UsageError("unfolding: bind_outside: the block has " + std::to_string(block.size()) + " of " +
                     std::to_string(numbers) + " numbers");
  b.layout.bind_outside(block.data());
  b.step.reset();
}

template <class T>
void Unfolding<T>::resume(const State<T>* state) {
  Body& b = *body_;
  b.require_laid();
  b.require_parameters();
  b.require_memory();
  if (state != nullptr) b.require_state(*state);
  b.boundary.mark(state);
  b.forwarded = b.source_known = true;
  b.went_back = b.moved = false;
}

template <class T>
void Unfolding<T>::set_account(Account* account) {
  if (account != nullptr && account->members() < body_->team.size())
    throw UsageError("unfolding: an account of " + std::to_string(account->members()) +
                     " entries is too small for a team of " + std::to_string(body_->team.size()));
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
  b.require_forward("unfolding: first_non_finite");
  const auto position = [&](int i, Index row) {
    const int part = b.node(i).part;
    const Structure& structure = b.layout.structure(part);
    const Index item = b.layout.order(b.plan->corner(i), part).items[at(row)], s = structure.sequence_of_item(item);
    return b.node(i).name + " at position " + std::to_string(item - structure.item(s, 0)) + " of " +
           (part > 0 ? "source " : "") + "sequence " + std::to_string(s);
  };
  // Checks signals in plan order within a step, and steps in order: reports the first row that is not finite and the
  // first signal in this row. Deeper parts come before everything that reads them.
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
        if (b.kept[at(i)] == 0) continue;
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

template class Unfolding<float>;
template class Unfolding<double>;

}  // namespace unfold
