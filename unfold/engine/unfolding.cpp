#include "unfold/engine/unfolding.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "unfold/engine/unfolding_body.h"
#include "unfold/numerics/bf16.h"

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

// ---------------------------------------------------------------------------------------------------------- set-up

template <class T>
Unfolding<T>::Body::Body(std::shared_ptr<const Plan> plan_, Team& team_, Precision precision_)
    : plan(std::move(plan_)), team(team_), precision(available(precision_)) {
  if (precision_ == Precision::bf16 && sizeof(T) != sizeof(float))
    throw UsageError("unfolding: bfloat16 products have sums in float; this one computes in double");
  const std::size_t n = plan->nodes().size(), p = plan->parameters().size();
  values.resize(n), adjoints.resize(n), tangents.resize(n);
  symbols.resize(n), predecessors.resize(n), reorder_from.resize(n), kept.resize(n), kept_adjoints.resize(n);
  packed.resize(p), packed_transposed.resize(p), packed_squared.resize(p), packed_direction.resize(p);
  dirty.assign(p, 1), dirty_transposed.assign(p, 1), dirty_squared.assign(p, 1), dirty_direction.assign(p, 1);
  dense.assign(p, 0);
  for (std::size_t i = 0; i < n; ++i)
    if (plan->live(static_cast<int>(i)))
      for (const auto& term : plan->nodes()[i].terms) {
        int s = term.source;
        while (node(s).kind == Node::Kind::reorder) s = node(s).operands[0];
        if (node(s).kind != Node::Kind::symbols && term.dense()) dense[at(term.parameter)] = 1;
      }
  tail_roots.resize(plan->segments().size());
  for (std::size_t g = 0; g < plan->segments().size(); ++g)
    for (const Item& item : plan->segments()[g].items) {
      const auto add = [&](int i) {
        if (plan->segments()[g].loop && plan->adjoint_buffer(i).exists && plan->adjoint_buffer(i).tail > 0)
          tail_roots[g].push_back(i);
      };
      for (int i : item.nodes) add(i);
      if (item.kind == Item::Kind::affine && !item.parts.empty() &&
          (tail_roots[g].empty() || tail_roots[g].back() != item.node))
        add(item.node);
    }
  scratch.resize(at(team.size())), operands.resize(at(team.size()));
  find_chain_loops();
  prepare_operators();
  make_programs();
}

template <class T>
void Unfolding<T>::Body::lay(const Structure& laid, std::span<const Index> given_slots) {
  const auto same = [&] {
    if (!structure || structure->kind() != laid.kind() || structure->sequences() != laid.sequences()) return false;
    if (laid.kind() != Structure::Kind::chains) return false;
    for (Index s = 0; s < laid.sequences(); ++s)
      if (structure->size(s) != laid.size(s)) return false;
    return true;
  };
  const bool unchanged = same();
  if (!unchanged) structure = std::make_unique<Structure>(laid);
  slots.resize(at(structure->sequences()));
  for (Index p = 0; p < structure->sequences(); ++p) {
    const Index s = structure->sequence_at(p);
    slots[at(p)] = given_slots.empty() ? s : given_slots[at(s)];
  }
  if (unchanged) return;
  const bool chains = structure->kind() == Structure::Kind::chains;
  rows = structure->positions();
  places = structure->sequences();
  steps = structure->order().steps();
  rectangular =
      chains && structure->size(structure->sequence_at(0)) == structure->size(structure->sequence_at(places - 1));
  fresh.assign(at(places), 1);
  adjoint_rows = tangent_rows = -1;
  allocate(values, What::value);
  const int n = static_cast<int>(plan->nodes().size());
  for (int i = 0; i < n; ++i) {
    if (!plan->live(i)) continue;
    const Node& it = node(i);
    if (it.kind == Node::Kind::symbols) symbols[at(i)].assign(at(rows), kNoSymbol);
    if (it.kind == Node::Kind::reorder) {
      const auto &to = order(plan->corner(i)), &from = order(plan->corner(it.operands[0]));
      reorder_from[at(i)].resize(at(rows));
      for (Index r = 0; r < rows; ++r) reorder_from[at(i)][at(r)] = from.rows[at(to.items[at(r)])];
      symbols[at(i)].assign(at(rows), kNoSymbol);
    }
    if (it.kind != Node::Kind::link) continue;
    if (it.delay.along == Delay::Along::previous) {
      if (!chains) (void)structure->predecessors(it.delay, plan->corner(i));  // says what does not fit
    } else {
      predecessors[at(i)] = structure->predecessors(it.delay, plan->corner(i));
    }
  }
  for (const Plan::Kept& k : plan->kept())
    for (auto* buffer : {&kept[at(k.link)], &kept_adjoints[at(k.link)]})
      if (const Index size = places * node(k.link).size; buffer->size() < size) buffer->resize(size);
  mask_keys.resize(at(rows));
  for (auto* divisions : {&forward_divisions, &backward_divisions}) {
    auto& segments = (*divisions)[places].segments;
    if (!segments.empty()) continue;
    segments.resize(plan->segments().size());
    for (std::size_t g = 0; g < segments.size(); ++g) {
      segments[g].candidates = candidates(g);
      segments[g].trial = Trial(segments[g].candidates.size());
    }
  }
  // Sequences are divided so that every member has about the same number of positions.
  const Index members = team.size();
  place_bounds.assign(at(members + 1), places);
  place_bounds[0] = 0;
  Index done = 0, member = 1;
  for (Index p = 0; p < places && member < members; ++p) {
    done += structure->size(structure->sequence_at(p));
    while (member < members && done * members >= rows * member) place_bounds[at(member++)] = p + 1;
  }
}

/// Buffers of the roots: history rows first, then one row per position (adjoint rings: 1 + history steps).
template <class T>
void Unfolding<T>::Body::allocate(std::vector<Buffer<T>>& into, What what) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    const int root = static_cast<int>(i);
    if (!plan->live(root) || place(what, root).root != root) continue;
    if (what == What::value && (node(root).kind == Node::Kind::symbols)) continue;
    if (what != What::value && !plan->needs_adjoint(root)) continue;
    const bool ring = what == What::adjoint && plan->adjoint_buffer(root).ring;
    const Index count = ring ? (1 + plan->history(root)) * places : plan->history(root) * places + rows;
    if (into[i].size() < count * node(root).size) into[i].resize(count * node(root).size);
  }
}

template <class T>
void Unfolding<T>::Body::pack(Member& me, const T* flat, std::vector<PackedMatrix<T>>& into, std::vector<char>& stale,
                              bool transposed, bool squared) {
  for (std::size_t p = 0; p < into.size(); ++p) {
    if (!dense[p] || !stale[p]) continue;
    Matrix<const T> w = parameters->view(flat, static_cast<int>(p));
    if (squared) {
      if (me.id() == 0) {
        if (squares.size() < w.rows * w.cols) squares.resize(w.rows * w.cols);
        for (Index i = 0; i < w.rows * w.cols; ++i) squares[i] = w.data[i] * w.data[i];
      }
      me.sync();
      w.data = squares.data();
    }
    const Precision of_product = squared ? Precision::exact : precision;
    if (me.id() == 0)
      transposed ? into[p].resize(w.cols, w.rows, of_product) : into[p].resize(w.rows, w.cols, of_product);
    me.sync();
    const StageTimer timer(account, me.id(), Stage::pack);
    const Range panels = me.share(into[p].panels());
    transposed ? into[p].pack_transposed(w, panels) : into[p].pack(w, panels);
    if (squared) me.sync();
  }
  sync(me);
  if (me.id() == 0) std::fill(stale.begin(), stale.end(), char{0});
  me.sync();
}

// ---------------------------------------------------------------------------------------------------------- where

template <class T>
Index Unfolding<T>::Body::step_rows(Index step, Corner corner) const {
  return step < order(corner).steps() ? order(corner).step(step).size() : 0;
}

template <class T>
std::vector<Buffer<T>>& Unfolding<T>::Body::buffers(What what) {
  return what == What::value ? values : what == What::adjoint ? adjoints : tangents;
}

template <class T>
Index Unfolding<T>::Body::stride(What what, int i) const {
  return node(place(what, i).root).size;
}

template <class T>
T* Unfolding<T>::Body::address(What what, int i, Index step, Index row) {
  const Place here = place(what, i);
  if (here.scratch()) return nullptr;
  const Index width = node(here.root).size, history = plan->history(here.root);
  T* base = buffers(what)[at(here.root)].data() + here.column;
  if (what == What::adjoint && plan->adjoint_buffer(here.root).ring) {
    const Index within = row - first_row(step, Corner::top_left), count = 1 + history;
    const Index slot = (step - here.shift + count) % count;  // shifts reach no further than the history
    return base + (slot * places + within) * width;
  }
  if (here.shift > 0) {
    const Index within = row - first_row(step, Corner::top_left);
    const Index source =
        step >= here.shift ? first_row(step - here.shift, Corner::top_left) : (step - here.shift) * places;
    row = source + within;
  }
  return base + (history * places + row) * width;
}

template <class T>
Matrix<T> Unfolding<T>::Body::matrix(What what, int i, Index step, Range part) {
  return {address(what, i, step, part.begin), part.size(), node(i).size, stride(what, i)};
}

template <class T>
T* Unfolding<T>::Body::history_row(What what, int i, Index steps_back, Index at_place) {
  const Place here = place(what, i);
  const Index width = node(here.root).size, history = plan->history(here.root);
  T* base = buffers(what)[at(here.root)].data() + here.column;
  const Index count = 1 + history;
  const bool ring = what == What::adjoint && plan->adjoint_buffer(here.root).ring;
  const Index block = ring ? ((-steps_back) % count + count) % count : history - steps_back;
  return base + (block * places + at_place) * width;
}

template <class T>
void Unfolding<T>::Body::run_program(const Program& program, const Work& work) {
  if (program.instructions.empty()) return;
  auto& mine = operands[at(work.member->id())];
  Index width = 0;
  for (std::size_t s = 0; s < program.slots.size(); ++s) {
    const auto [what, i] = program.slots[s];
    T* base = address(what, i, work.step, work.rows.begin);
    mine[s] = {base, base == nullptr ? 0 : stride(what, i)};
    width = node(i).size;
  }
  Range columns = work.columns(width, 16);
  if (program.overlaps && work.by_columns) columns = {0, work.member->id() == 0 ? width : 0};
  run_pointwise<T>(program.instructions, std::span<const Operand<T>>(mine.data(), program.slots.size()),
                   work.rows.size(), columns, scratch[at(work.member->id())]);
}

// ---------------------------------------------------------------------------------------------------------- interface

template <class T>
Unfolding<T>::Unfolding(std::shared_ptr<const Plan> plan, Team& team, Precision precision)
    : body_(std::make_unique<Body>(std::move(plan), team, precision)) {}
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
  return *body_->structure;
}
template <class T>
void Unfolding<T>::lay(const Structure& structure, std::span<const Index> slots) {
  body_->lay(structure, slots);
}

template <class T>
void Unfolding<T>::set_parameters(const Parameters<T>& parameters) {
  if (parameters.size() != body_->plan->parameter_count())
    throw UsageError("unfolding: parameters of another circuit: " + std::to_string(parameters.size()) +
                     " numbers, the plan has " + std::to_string(body_->plan->parameter_count()));
  body_->parameters = &parameters;
  for (auto* stale : {&body_->dirty, &body_->dirty_transposed, &body_->dirty_squared})
    std::fill(stale->begin(), stale->end(), char{1});
}

template <class T>
void Unfolding<T>::set_dropout_seed(std::uint64_t seed, Index first_position) {
  body_->dropout = true;
  body_->dropout_seed = seed;
  body_->dropout_origin = first_position;
}
template <class T>
void Unfolding<T>::disable_dropout() {
  body_->dropout = false;
}

template <class T>
Matrix<T> Unfolding<T>::input(Signal signal) {
  Body& b = *body_;
  if (b.node(signal.id).kind != Node::Kind::input)
    throw UsageError("unfolding: " + b.node(signal.id).name + " is not an input");
  if (!b.plan->live(signal.id)) throw UsageError("unfolding: no output depends on input " + b.node(signal.id).name);
  return b.matrix(What::value, signal.id, 0, {0, b.rows});
}
template <class T>
std::span<Symbol> Unfolding<T>::symbols(Signal signal) {
  Body& b = *body_;
  if (b.node(signal.id).kind != Node::Kind::symbols)
    throw UsageError("unfolding: " + b.node(signal.id).name + " holds no symbols");
  return b.symbols[at(signal.id)];
}

template <class T>
Matrix<const T> Unfolding<T>::value(Signal signal) const {
  Body& b = *body_;
  const int i = b.plan->outside(signal.id);
  if (b.plan->value_place(i).scratch() || !b.plan->live(i))
    throw UsageError("unfolding: " + b.node(i).name + " is not kept; declare it an output of the circuit");
  return b.matrix(What::value, i, 0, {0, b.rows});
}

template <class T>
Matrix<T> Unfolding<T>::adjoint(Signal output) {
  Body& b = *body_;
  const int i = b.plan->outside(output.id);
  const auto& outputs = b.plan->outputs();
  if (std::find(outputs.begin(), outputs.end(), i) == outputs.end())
    throw UsageError("unfolding: " + b.node(i).name + " is not an output, so it takes no adjoint");
  if (!b.plan->needs_adjoint(i)) throw UsageError("unfolding: output " + b.node(i).name + " depends on no parameter");
  if (b.adjoint_rows != b.rows) b.allocate(b.adjoints, What::adjoint), b.adjoint_rows = b.rows;
  return b.matrix(What::adjoint, i, 0, {0, b.rows});
}

template <class T>
void Unfolding<T>::clear_adjoints() {
  Body& b = *body_;
  if (b.adjoint_rows != b.rows) b.allocate(b.adjoints, What::adjoint), b.adjoint_rows = b.rows;
  for (int i : b.plan->outputs())
    if (b.plan->needs_adjoint(i)) {
      Matrix<T> m = b.matrix(What::adjoint, i, 0, {0, b.rows});
      std::fill_n(m.data, m.rows * m.cols, T{0});
    }
}

template <class T>
void Unfolding<T>::forward(State<T>* state) {
  Body& b = *body_;
  if (!b.structure) throw UsageError("unfolding: lay it over a structure first");
  if (b.parameters == nullptr) throw UsageError("unfolding: set its parameters first");
  if (state != nullptr)
    for (Index slot : b.slots)
      if (slot < 0 || slot >= state->slots())
        throw UsageError("unfolding: state slot " + std::to_string(slot) + " of " + std::to_string(state->slots()));
  b.choose(b.forward_divisions);
  b.team.run([&](Member& me) { b.forward(me, state); });
  if (state != nullptr) b.store_state(*state);
}

template <class T>
void Unfolding<T>::backward(std::span<T> gradient, const BackwardOptions& options, const State<T>* end,
                            State<T>* start) {
  Body& b = *body_;
  if (static_cast<Index>(gradient.size()) != b.plan->parameter_count())
    throw UsageError("unfolding: the gradient has " + std::to_string(gradient.size()) + " numbers, the plan " +
                     std::to_string(b.plan->parameter_count()));
  if (options.algebra == Algebra::squared)
    for (const Node& n : b.plan->nodes())
      for (const auto& term : n.terms)
        if (!term.dense() && !term.op->has_squared())
          throw UsageError("modulus pass: " + n.name + " has parameters of a " + std::string(term.op->name()) +
                           " map, which are no weights of units");
  if (b.adjoint_rows != b.rows) b.allocate(b.adjoints, What::adjoint), b.adjoint_rows = b.rows;
  b.choose(b.backward_divisions);
  b.team.run([&](Member& me) { b.backward(me, gradient.data(), options, end); });
  if (start != nullptr) b.store_start(*start);
}

template <class T>
Matrix<const T> Unfolding<T>::affine_adjoint(Signal affine) const {
  Body& b = *body_;
  if (b.node(affine.id).kind != Node::Kind::affine)
    throw UsageError("unfolding: " + b.node(affine.id).name + " is not an affine map");
  return b.matrix(What::adjoint, affine.id, 0, {0, b.rows});
}

template <class T>
const T* Unfolding<T>::source_row(int node, Index step, Index row) const {
  return body_->address(What::value, node, step, row);
}

template <class T>
std::span<const Symbol> Unfolding<T>::symbols_read(int node) const {
  return body_->symbols[at(node)];
}

template <class T>
void Unfolding<T>::squares_at_starts(std::span<T> result) const {
  body_->initial_gradients(result.data(), false, true);
}

template <class T>
void Unfolding<T>::tangent(std::span<const T> direction) {
  Body& b = *body_;
  if (b.tangent_rows != b.rows) b.allocate(b.tangents, What::tangent), b.tangent_rows = b.rows;
  b.team.run([&](Member& me) { b.tangent(me, direction.data()); });
}

template <class T>
Matrix<const T> Unfolding<T>::tangent_of(Signal output) const {
  Body& b = *body_;
  const int i = b.plan->outside(output.id);
  if (!b.plan->needs_adjoint(i))
    throw UsageError("unfolding: output " + b.node(i).name + " depends on no parameter: it has no tangent");
  return b.matrix(What::tangent, i, 0, {0, b.rows});
}

template <class T>
void Unfolding<T>::set_account(Account* account) {
  body_->account = account;
}

template <class T>
bool Unfolding<T>::settled() const {
  const auto known = [&](const std::map<Index, Divisions>& of_places) {
    return std::ranges::none_of(of_places.at(body_->places).segments,
                                [](const Divisions::Choice& choice) { return choice.trial.learning(); });
  };
  return known(body_->forward_divisions) && known(body_->backward_divisions);
}

template <class T>
std::size_t Unfolding<T>::memory_bytes() const {
  const Body& b = *body_;
  Index numbers = b.squares.size();
  std::size_t weights = 0;
  for (const auto* group : {&b.values, &b.adjoints, &b.tangents, &b.kept, &b.kept_adjoints})
    for (const auto& buffer : *group) numbers += buffer.size();
  for (const auto* group : {&b.packed, &b.packed_transposed, &b.packed_squared, &b.packed_direction})
    for (const auto& matrix : *group) weights += matrix.bytes();
  return at(numbers) * sizeof(T) + weights;
}

template <class T>
std::string Unfolding<T>::first_non_finite() const {
  Body& b = *body_;
  const auto position = [&](int i, Index row) {
    const Index item = b.order(b.plan->corner(i)).items[at(row)], s = b.structure->sequence_of_item(item);
    return b.node(i).name + " at position " + std::to_string(item - b.structure->item(s, 0)) + " of sequence " +
           std::to_string(s);
  };
  // Plan order within a step, steps in order: the first row that blew up, and in it the first signal.
  std::string first;
  Index earliest = b.rows;
  for (const Segment& segment : b.plan->segments())
    for (const Item& item : segment.items) {
      std::vector<int> computed = item.nodes;
      if (item.node >= 0) computed.push_back(item.node);
      for (int i : computed) {
        const Place here = b.plan->value_place(i);
        if (here.scratch()) continue;
        for (Index r = 0; r < earliest; ++r) {
          const T* row = b.address(What::value, i, 0, r);
          const bool finite = std::all_of(row, row + b.node(i).size, [](T x) { return std::isfinite(x); });
          if (!finite) {
            earliest = r;
            first = position(i, r);
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
