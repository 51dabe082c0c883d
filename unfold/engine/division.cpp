/// Which member of the team does what: by rows, by columns, by units, or one member all. The results have the same bits
/// either way, so loops try every way that is possible (trial.h).

#include <algorithm>

#include "unfold/engine/unfolding_body.h"

namespace unfold {
/// A sparse product or a vector map is not divided: its members would only wait for each other.
template <class T>
bool Unfolding<T>::Body::has_whole_terms(const Segment& segment) const {
  return std::any_of(segment.items.begin(), segment.items.end(), [&](const Item& item) {
    return std::any_of(item.parts.begin(), item.parts.end(),
                       [&](const auto& part) { return !node(item.node).terms[at(part.term)].dense(); });
  });
}

/// Sequences are independent, so members can own sequences and never meet; but then each reads all loop weights, which
/// pays only while they stay in the second-level cache and every member has enough rows to fill a tile.
template <class T>
Division Unfolding<T>::Body::division(const Segment& segment, int members) const {
  constexpr Index kCacheBytes = 1 << 20, kTileRows = 4;
  if (members == 1) return Division::rows;
  if (!segment.loop) {
    if (rows < members * kTileRows) return Division::columns;
    // What reads and writes rows of others does so within columns: members that owned rows would meet in those rows.
    return segment.rows_independent ? Division::rows : Division::columns;
  }
  if (!segment.rows_independent) return Division::columns;
  if (has_whole_terms(segment)) return Division::rows;
  const bool fits = plan->loop_weights() * static_cast<Index>(sizeof(T)) <= kCacheBytes;
  return places >= members * kTileRows && fits ? Division::rows : Division::columns;
}

/// The width of all maps of a loop, if what maps and products of the loop exchange lies in blocks of this width: then a
/// map finds every operand in columns that its own member computed. 0 if not.
template <class T>
Index Unfolding<T>::Body::unit_of(std::size_t segment) const {
  const Segment& s = plan->segments()[segment];
  if (!s.loop || !s.rows_independent) return 0;
  Index unit = 0;
  for (const Item& item : s.items)
    if (item.kind == Item::Kind::pointwise) unit = node(item.nodes[0]).size;
  if (unit == 0 || unit % Work::kUnitGrain != 0) return 0;
  for (std::size_t k = 0; k < s.items.size(); ++k) {
    const Item& item = s.items[k];
    if (item.kind == Item::Kind::affine) {
      if (node(item.node).size % unit != 0) return 0;
      for (const auto& part : item.parts) {
        const auto& term = node(item.node).terms[at(part.term)];
        if (dense[at(term.parameter)] && node(term.source).size % unit != 0) return 0;
      }
    } else if (item.kind != Item::Kind::pointwise) {
      return 0;
    }
    for (const auto* programs : {&forward_programs, &backward_programs, &squared_programs}) {
      const Program& program = (*programs)[segment][k];
      const bool aligned = std::all_of(program.slots.begin(), program.slots.end(), [&](const Program::Slot& slot) {
        const Place where = place(slot.what, slot.node);
        return node(slot.node).size == unit && (where.scratch() || where.column % unit == 0);
      });
      if (!aligned || program.overlaps) return 0;
    }
  }
  for (const int root : tail_roots[segment])
    if (node(root).size != unit) return 0;
  return unit;
}

template <class T>
std::vector<Division> Unfolding<T>::Body::candidates(std::size_t segment) const {
  const Segment& s = plan->segments()[segment];
  const int members = team.size();
  if (members == 1 || !s.loop || has_whole_terms(s)) return {division(s, members)};
  std::vector<Division> ways = {Division::columns, Division::alone};
  if (s.rows_independent && places >= members) ways.push_back(Division::rows);
  if (units[segment] > 0) ways.push_back(Division::units);
  return ways;
}

/// Before a pass.
template <class T>
void Unfolding<T>::Body::choose(std::map<Index, Divisions>& of_places) {
  for (Divisions::Choice& choice : of_places.at(places).segments) choice.trial.choose();
}

/// After a segment: what it took for each row. Windows of one length more or less are equally good for comparing.
template <class T>
void Unfolding<T>::Body::note(Member& me, std::size_t segment, std::map<Index, Divisions>& of_places, double seconds) {
  if (me.id() != 0) return;
  of_places.at(places).segments[segment].trial.note(seconds / static_cast<double>(std::max<Index>(rows, 1)));
}

template <class T>
Range Unfolding<T>::Body::my_rows(const Segment& segment, Division how, Member& me, Range step) const {
  if (how != Division::rows || me.size() == 1) return step;
  if (!segment.loop) {
    const Range mine = me.share(step.size(), 8);
    return {step.begin + mine.begin, step.begin + mine.end};
  }
  const auto bound = [&](int id) { return step.begin + std::min(place_bounds[at(id)], step.size()); };
  return {bound(me.id()), bound(me.id() + 1)};
}

#define UNFOLD_INSTANTIATE(T)                                                                        \
  template Division Unfolding<T>::Body::division(const Segment&, int) const;                         \
  template Index Unfolding<T>::Body::unit_of(std::size_t) const;                                     \
  template std::vector<Division> Unfolding<T>::Body::candidates(std::size_t) const;                  \
  template void Unfolding<T>::Body::choose(std::map<Index, Divisions>&);                             \
  template void Unfolding<T>::Body::note(Member&, std::size_t, std::map<Index, Divisions>&, double); \
  template Range Unfolding<T>::Body::my_rows(const Segment&, Division, Member&, Range) const;
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
