#include "graph/engine/map_programs.h"

#include <algorithm>
#include <utility>

namespace unfold {

namespace {

int slot_of(Program& program, What what, int node) {
  for (std::size_t s = 0; s < program.slots.size(); ++s)
    if (program.slots[s].what == what && program.slots[s].node == node) return static_cast<int>(s);
  program.slots.push_back({what, node});
  return static_cast<int>(program.slots.size()) - 1;
}

/// out (=|+=) partial_i(values) [^2] * seed, reading only the values that the partial needs.
Instruction derivative(Program& program, const Node& n, int i, int input, Rule rule, int seed, int out,
                       bool accumulate) {
  const auto& [map, operands, constant] = n.pointwise();
  const MapInfo& info = map_info(map);
  Instruction instruction{
      .map = map, .rule = rule, .input = static_cast<unsigned char>(input), .accumulate = accumulate};
  instruction.k = constant;
  instruction.seed = seed;
  instruction.out = out;
  if (info.needs_input) {
    instruction.x0 = slot_of(program, What::value, operands[0]);
    if (info.arity == 2) instruction.x1 = slot_of(program, What::value, operands[1]);
  }
  if (info.needs_output) instruction.y = slot_of(program, What::value, i);
  return instruction;
}

/// Returns the only instruction that writes a slot, or -1.
int sole_writer(const Program& program, int slot) {
  int writer = -1;
  for (std::size_t k = 0; k < program.instructions.size(); ++k) {
    if (program.instructions[k].out != slot) continue;
    if (writer >= 0) return -1;
    writer = static_cast<int>(k);
  }
  return writer;
}

/// Returns whether an adjoint is the unchanged seed (1 * seed).
bool hands_on(const Instruction& i) {
  return !i.accumulate && (i.map == Map::add || i.map == Map::copy || (i.map == Map::sub && i.input == 0));
}

/// A sum passes its adjoint on unchanged. If this would be a copy within the tile, the readers of the copy read the
/// original instead, and the copy is omitted.
template <class InTile>
void pass_on_seeds(Program& program, const InTile& in_tile) {
  for (std::size_t k = 0; k < program.instructions.size();) {
    const Instruction copied = program.instructions[k];
    const auto later = program.instructions.begin() + static_cast<std::ptrdiff_t>(k) + 1;
    const bool written_later = std::any_of(later, program.instructions.end(),
                                           [&](const Instruction& other) { return other.out == copied.seed; });
    if (!hands_on(copied) || written_later || !in_tile(copied.out) ||
        sole_writer(program, copied.out) != static_cast<int>(k)) {
      ++k;
      continue;
    }
    std::for_each(later, program.instructions.end(), [&](Instruction& other) {
      if (other.seed == copied.out) other.seed = copied.seed;
    });
    program.instructions.erase(later - 1);
  }
}

/// Fuses a product whose adjoint stays in the tile and only seeds a sigmoid or tanh: one instruction instead of two.
template <class InTile>
void fuse_products(Program& program, const InTile& in_tile) {
  for (std::size_t k = 0; k < program.instructions.size(); ++k) {
    Instruction& gate = program.instructions[k];
    if ((gate.map != Map::sigmoid && gate.map != Map::tanh) || !in_tile(gate.seed)) continue;
    const int seed = gate.seed, writer = sole_writer(program, seed);
    if (writer < 0 || static_cast<std::size_t>(writer) > k) continue;
    const Instruction product = program.instructions[at(writer)];
    const auto readers = std::count_if(program.instructions.begin(), program.instructions.end(),
                                       [&](const Instruction& other) { return other.seed == seed; });
    if (product.map != Map::mul || product.accumulate || product.through != Map::copy || readers != 1) continue;
    Instruction fused = product;
    fused.through = gate.map;
    fused.y = gate.y;
    fused.out = gate.out;
    fused.accumulate = gate.accumulate;
    gate = fused;
    program.instructions.erase(program.instructions.begin() + writer);
    --k;
  }
}

/// Returns the number of instructions that read a slot.
std::ptrdiff_t readers(const Program& program, int slot) {
  return std::count_if(program.instructions.begin(), program.instructions.end(), [&](const Instruction& i) {
    return i.x0 == slot || i.x1 == slot || i.y == slot || i.seed == slot;
  });
}

/// Fuses a product with the next instruction if only this instruction reads it and adds it, and a sum with the next
/// instruction if it is a sigmoid or tanh and the only reader: one instruction each instead of two.
template <class InTile>
void fuse_values(Program& program, const InTile& in_tile) {
  const auto inner = [&](int slot) { return in_tile(slot) && readers(program, slot) == 1; };
  for (std::size_t k = 1; k < program.instructions.size();) {
    Instruction fused = program.instructions[k - 1];
    const Instruction& next = program.instructions[k];
    const bool sum = next.map == Map::add && (next.x0 == fused.out) != (next.x1 == fused.out);
    const bool gate = (next.map == Map::sigmoid || next.map == Map::tanh) && next.x0 == fused.out;
    const bool added = fused.map == Map::mul && fused.seed >= 0;
    if (inner(fused.out) && fused.through == Map::copy && sum && fused.map == Map::mul && !added) {
      fused.seed = next.x0 == fused.out ? next.x1 : next.x0;
    } else if (inner(fused.out) && fused.through == Map::copy && gate && (fused.map == Map::add || added)) {
      fused.through = next.map;
    } else {
      ++k;
      continue;
    }
    fused.out = next.out;
    program.instructions[k - 1] = fused;
    program.instructions.erase(program.instructions.begin() + static_cast<std::ptrdiff_t>(k));
  }
}

/// If an adjoint in the tile is copied to memory, the instruction that computes it writes to memory directly.
template <class InTile, class ShareMemory>
void write_through(Program& program, const InTile& in_tile, const ShareMemory& share_memory) {
  for (std::size_t k = 0; k < program.instructions.size();) {
    const Instruction copied = program.instructions[k];
    const int writer = hands_on(copied) && in_tile(copied.seed) ? sole_writer(program, copied.seed) : -1;
    const auto begin = program.instructions.begin();
    const bool kept = writer >= 0 && writer < static_cast<int>(k) && !in_tile(copied.out) &&
                      std::none_of(begin, program.instructions.end(), [&](const Instruction& other) {
                        const bool touches = share_memory(other.out, copied.out) ||
                                             (other.seed >= 0 && share_memory(other.seed, copied.out));
                        return touches && &other != &program.instructions[k];
                      });
    if (!kept) {
      ++k;
      continue;
    }
    program.instructions.erase(begin + static_cast<std::ptrdiff_t>(k));
    for (Instruction& i : program.instructions) {
      if (i.out == copied.seed) i.out = copied.out;
      if (i.seed == copied.seed) i.seed = copied.out;
    }
  }
}

/// Removes slots that no instruction names, because slots take up space in the tile.
void drop_unused_slots(Program& program) {
  std::vector<int> renamed(program.slots.size(), -1);
  const auto each = [&](const auto& visit) {
    for (Instruction& i : program.instructions)
      for (int* slot : {&i.out, &i.x0, &i.x1, &i.y, &i.seed})
        if (*slot >= 0) visit(*slot);
  };
  each([&](int& slot) { renamed[at(slot)] = 0; });
  std::vector<Program::Slot> kept;
  for (std::size_t s = 0; s < renamed.size(); ++s)
    if (renamed[s] == 0) renamed[s] = static_cast<int>(kept.size()), kept.push_back(program.slots[s]);
  each([&](int& slot) { slot = renamed[at(slot)]; });
  program.slots = std::move(kept);
}

}  // namespace

Programs::Programs(const Plan& plan) : plan_(plan) {
  const auto make = [&](const Item& item, auto&& of) { return item.kind == Item::Kind::pointwise ? of() : Program{}; };
  for (const Segment& segment : plan.segments()) {
    for (auto* set : {&forward_, &backward_, &squared_, &tangent_}) set->emplace_back();
    for (const Item& item : segment.items) {
      forward_.back().push_back(make(item, [&] { return forward_program(item); }));
      backward_.back().push_back(make(item, [&] { return backward_program(item, Rule::linear); }));
      squared_.back().push_back(make(item, [&] { return backward_program(item, Rule::squared); }));
      tangent_.back().push_back(make(item, [&] { return tangent_program(item); }));
    }
  }
  for (auto* set : {&forward_, &backward_, &squared_, &tangent_})
    for (auto& segment : *set)
      for (Program& program : segment) {
        program.number = count_++;
        most_slots_ = std::max(most_slots_, program.slots.size());
        for (const Program::Slot& a : program.slots)
          for (const Program::Slot& b : program.slots) program.overlaps |= overlap(a, b);
      }
}

/// Returns whether two slots have columns of one buffer in common, possibly in different rows.
bool Programs::share_memory(const Program::Slot& a, const Program::Slot& b) const {
  const Place x = position_in_total(plan_, a.what, a.node), y = position_in_total(plan_, b.what, b.node);
  return a.what == b.what && !x.scratch() && x.root == y.root && x.column < y.column + node(b.node).size &&
         y.column < x.column + node(a.node).size;
}

bool Programs::overlap(const Program::Slot& a, const Program::Slot& b) const {
  return share_memory(a, b) &&
         position_in_total(plan_, a.what, a.node).column != position_in_total(plan_, b.what, b.node).column;
}

Program Programs::forward_program(const Item& item) const {
  Program program;
  for (int i : item.nodes) {
    const auto& [map, operands, constant] = node(i).pointwise();
    const Place &mine = plan_.value_place(i), &operand = plan_.value_place(operands[0]);
    const bool same_memory =
        !mine.scratch() && mine.root == operand.root && mine.column == operand.column && mine.shift == operand.shift;
    if (map == Map::copy && same_memory) continue;
    Instruction instruction{.map = map, .rule = Rule::value};
    instruction.k = constant;
    instruction.x0 = slot_of(program, What::value, operands[0]);
    if (operands[1] >= 0) instruction.x1 = slot_of(program, What::value, operands[1]);
    instruction.out = slot_of(program, What::value, i);
    program.instructions.push_back(instruction);
  }
  fuse_values(program, [&](int slot) { return plan_.value_place(program.slots[at(slot)].node).scratch(); });
  drop_unused_slots(program);
  return program;
}

Program Programs::backward_program(const Item& item, Rule rule) const {
  Program program;
  for (std::size_t k = item.nodes.size(); k-- > 0;) {
    const int i = item.nodes[k];
    if (!plan_.needs_adjoint(i)) continue;
    for (int input = 0; input < 2; ++input) {
      const int operand = node(i).pointwise().operands[at(input)];
      if (operand < 0 || !plan_.needs_adjoint(operand)) continue;
      const int seed = slot_of(program, What::adjoint, i), out = slot_of(program, What::adjoint, operand);
      program.instructions.push_back(derivative(program, node(i), i, input, rule, seed, out, !item.sets[k][at(input)]));
    }
  }
  const auto in_tile = [&](int slot) {
    const auto [what, i] = program.slots[at(slot)];
    return what == What::adjoint && plan_.adjoint_place(i).scratch();
  };
  pass_on_seeds(program, in_tile);
  if (rule == Rule::linear) fuse_products(program, in_tile);
  write_through(program, in_tile,
                [&](int a, int b) { return share_memory(program.slots[at(a)], program.slots[at(b)]); });
  drop_unused_slots(program);
  return program;
}

Program Programs::tangent_program(const Item& item) const {
  Program program;
  for (int i : item.nodes) {
    bool first = true;
    for (int input = 0; input < 2; ++input) {
      const int operand = node(i).pointwise().operands[at(input)];
      if (operand < 0 || !plan_.needs_adjoint(operand)) continue;
      const int seed = slot_of(program, What::tangent, operand), out = slot_of(program, What::tangent, i);
      program.instructions.push_back(
          derivative(program, node(i), i, input, Rule::linear, seed, out, !std::exchange(first, false)));
    }
  }
  return program;
}

template <class T>
ProgramRunner<T>::ProgramRunner(int members, const Plan& plan, const Programs& programs)
    : plan_(plan), members_(at(members)) {
  for (OfMember& mine : members_) mine.operands.resize(programs.most_slots()), mine.bound.resize(programs.count());
}

template <class T>
Track<T> ProgramRunner<T>::track(Layout<T>& layout, const Program::Slot& slot) const {
  const Place& here = position_in_total(plan_, slot.what, slot.node);
  if (here.scratch()) return {};
  const int part = layout.part(here.root);
  const Index places = layout.places(part), stride = layout.stride(slot.what, slot.node);
  const bool even = layout.structure(part).kind() == Structure::Kind::chains && layout.rectangular(part);
  Track<T> track{.base = layout.address(slot.what, slot.node, 0, 0), .stride = stride};
  if (slot.what == What::adjoint && plan_.adjoint_buffer(here.root).ring) {
    track.ring = 1 + plan_.history(here.root);
    track.places = places;
    track.shift = here.shift;
    track.base -= (track.ring - here.shift) % track.ring * places * stride;  // to the first row of the ring
    track.general = !even;
  } else if (here.shift > 0) {
    // Rows before the first step are in the history, which may be in different memory.
    const Index steps = std::min(here.shift, layout.steps(part) - 1);
    track.general =
        !even || layout.address(slot.what, slot.node, steps, steps * places) != track.base + steps * places * stride;
  }
  return track;
}

template <class T>
void ProgramRunner<T>::run(const Program& program, Layout<T>& layout, const Work& work) {
  if (program.instructions.empty()) return;
  OfMember& mine = members_[at(work.member->id())];
  Bound& bound = mine.bound[program.number];
  if (bound.pass != pass_) {
    bound.slots.clear();
    for (const Program::Slot& slot : program.slots) bound.slots.push_back(track(layout, slot));
    bound.pass = pass_;
  }
  for (std::size_t s = 0; s < program.slots.size(); ++s) {
    const Track<T>& slot = bound.slots[s];
    T* base = nullptr;
    if (slot.general)
      base = layout.address(program.slots[s].what, program.slots[s].node, work.step, work.rows.begin);
    else if (slot.base != nullptr)
      base = slot.at(work.step, work.rows.begin);
    mine.operands[s] = {base, base == nullptr ? 0 : slot.stride};
  }
  const Index width = layout.node(program.slots.back().node).size;
  Range columns = work.columns(width, 16);
  if (program.overlaps && work.by_columns) columns = {0, work.member->id() == 0 ? width : 0};
  run_pointwise<T>(program.instructions, std::span<const Operand<T>>(mine.operands.data(), program.slots.size()),
                   work.rows.size(), columns, mine.scratch);
}

template class ProgramRunner<float>;
template class ProgramRunner<double>;

}  // namespace unfold
