#include "graph/engine/schedule.h"

#include <algorithm>

#include "graph/engine/packed_weights.h"

namespace unfold {

Schedule::Schedule(const Plan& plan, const Programs& programs, int members, Index number_bytes)
    : plan_(plan), programs_(programs), members_(members), number_bytes_(number_bytes) {
  find_tails();
  for (std::size_t g = 0; g < plan.segments().size(); ++g) units_.push_back(unit_of(g));
}

void Schedule::find_tails() {
  tail_roots_.resize(plan_.segments().size());
  for (std::size_t g = 0; g < plan_.segments().size(); ++g)
    for (const Item& item : plan_.segments()[g].items) {
      auto& roots = tail_roots_[g];
      const auto add = [&](int i) {
        const AdjointBuffer& buffer = plan_.adjoint_buffer(i);
        if (plan_.segments()[g].loop && buffer.exists && buffer.tail > 0) roots.push_back(i);
      };
      for (int i : item.nodes) add(i);
      if (item.kind == Item::Kind::affine && !item.parts.empty() && (roots.empty() || roots.back() != item.node))
        add(item.node);
    }
}

void Schedule::choose_ways() {
  for (auto* of_places : {&forward_, &backward_}) {
    Choices& segments = (*of_places)[laid_[0].places];
    if (!segments.empty()) continue;
    segments.resize(plan_.segments().size());
    for (std::size_t g = 0; g < segments.size(); ++g) {
      segments[g].candidates = candidates(g);
      segments[g].trial = Trial(segments[g].candidates.size());
    }
  }
}

/// Divides the sequences so that every thread has about the same number of positions.
void Schedule::lay(Laid& part, const Structure& structure) const {
  part.structure = &structure;
  part.rows = structure.positions();
  part.places = structure.sequences();
  part.rectangular = structure.rectangular();
  const Index members = members_;
  part.place_bounds.assign(at(members + 1), part.places);
  part.place_bounds[0] = 0;
  Index done = 0, member = 1;
  for (Index p = 0; p < part.places && member < members; ++p) {
    done += structure.size(structure.sequence_at(p));
    while (member < members && done * members >= part.rows * member) part.place_bounds[at(member++)] = p + 1;
  }
}

/// Operators cannot be divided by columns: one thread would do the work while the others wait.
bool Schedule::has_operators(const Segment& segment) const {
  return std::any_of(segment.items.begin(), segment.items.end(), [&](const Item& item) {
    return std::any_of(item.parts.begin(), item.parts.end(),
                       [&](const auto& part) { return !node(item.node).terms()[at(part.term)].dense(); });
  });
}

/// Sequences are independent, so threads that own sequences need no synchronization. However, each thread then reads
/// all loop weights, which is worthwhile only if they fit into the second-level cache and every thread has enough rows
/// to fill a tile.
Division Schedule::division(const Segment& segment) const {
  constexpr Index kCacheBytes = 1 << 20, kTileRows = 4;
  if (members_ == 1) return Division::rows;
  if (!segment.loop) {
    if (laid(segment).rows < members_ * kTileRows) return Division::columns;
    // Items that read and write rows of other threads do so within columns; threads that owned rows would conflict in
    // those rows.
    return segment.rows_independent ? Division::rows : Division::columns;
  }
  if (!segment.rows_independent) return Division::columns;
  if (has_operators(segment)) return Division::rows;
  const bool fits = plan_.loop_weights() * number_bytes_ <= kCacheBytes;
  return laid(segment).places >= members_ * kTileRows && fits ? Division::rows : Division::columns;
}

/// Returns the width of all maps of a loop if the data exchanged by its maps and products lies in blocks of this width:
/// then a map finds every operand in columns that its own thread computed. Otherwise 0.
Index Schedule::unit_of(std::size_t segment) const {
  const Segment& s = plan_.segments()[segment];
  if (!s.loop || !s.rows_independent) return 0;
  Index unit = 0;
  for (const Item& item : s.items)
    if (item.kind == Item::Kind::pointwise) unit = node(item.nodes[0]).size;
  if (unit == 0 || unit % Work::kUnitGrain != 0) return 0;
  for (std::size_t k = 0; k < s.items.size(); ++k) {
    if (!in_data_units(s.items[k], unit)) return 0;
    for (const Program* program : {&programs_.forward(segment, k), &programs_.backward(segment, k, false),
                                   &programs_.backward(segment, k, true)})
      if (!in_data_units(*program, unit)) return 0;
  }
  for (const int root : tail_roots_[segment])
    if (node(root).size != unit) return 0;
  return unit;
}

bool Schedule::in_data_units(const Item& item, Index unit) const {
  if (item.kind == Item::Kind::pointwise) return true;
  if (item.kind != Item::Kind::affine || node(item.node).size % unit != 0) return false;
  return std::all_of(item.parts.begin(), item.parts.end(), [&](const auto& part) {
    const auto& term = node(item.node).terms()[at(part.term)];
    return !is_product(plan_, term) || node(term.source).size % unit == 0;
  });
}

bool Schedule::in_data_units(const Program& program, Index unit) const {
  return !program.overlaps && std::all_of(program.slots.begin(), program.slots.end(), [&](const Program::Slot& slot) {
    const Place where = position_in_total(plan_, slot.what, slot.node);
    return node(slot.node).size == unit && (where.scratch() || where.column % unit == 0);
  });
}

std::vector<Division> Schedule::candidates(std::size_t segment) const {
  const Segment& s = plan_.segments()[segment];
  if (members_ == 1 || !s.loop || has_operators(s)) return {division(s)};
  std::vector<Division> ways = {Division::columns, Division::alone};
  if (s.rows_independent && laid(s).places >= members_) ways.push_back(Division::rows);
  if (units_[segment] > 0) ways.push_back(Division::units);
  return ways;
}

void Schedule::choose(Pass pass) {
  for (Choice& choice : choices(pass)) choice.trial.choose();
}

/// Records the time of a segment per row, so that windows of slightly different length can be compared.
void Schedule::note(Choice& choice, double seconds, Index rows) {
  choice.trial.note(seconds / static_cast<double>(std::max<Index>(rows, 1)));
}

bool Schedule::settled() const {
  const auto known = [&](const std::map<Index, Choices>& of_places) {
    return std::ranges::none_of(of_places.at(laid_[0].places),
                                [](const Choice& choice) { return choice.trial.learning(); });
  };
  return known(forward_) && known(backward_);
}

Range Schedule::my_rows(const Segment& segment, Division how, Member& me, Range step) const {
  if (how != Division::rows || me.size() == 1) return step;
  if (!segment.loop) {
    const Range mine = me.share(step.size(), 8);
    return {step.begin + mine.begin, step.begin + mine.end};
  }
  const Range mine = my_places(me, segment.part);
  return {step.begin + std::min(mine.begin, step.size()), step.begin + std::min(mine.end, step.size())};
}

}  // namespace unfold
