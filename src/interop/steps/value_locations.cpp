#include "interop/steps/value_locations.h"

#include <algorithm>

#include "unfold/base/error.h"

namespace unfold {
namespace {

[[noreturn]] void refuse_delay(const Delay& delay) {
  throw UsageError("it reads along " + describe(delay) + ", but a step can read only earlier positions");
}

}  // namespace

ValueLocations::ValueLocations(const Plan& plan, int logits, bool reads_numbers)
    : plan_(plan), reads_numbers_(reads_numbers) {
  int number = 0;
  for (const Segment& segment : plan_.segments())
    for (const Item& item : segment.items) {
      for (const int i : item.nodes) item_of_[i] = number;
      ++number;
    }
  number = 0;
  for (const Segment& segment : plan_.segments())
    for (const Item& item : segment.items) note_reads(item, number++);
  read(logits, -1);
}

void ValueLocations::note_reads(const Item& item, int number) {
  if (item.kind == Item::Kind::reorder)
    throw UsageError("it reads a grid from several corners, but a step can read only earlier positions");
  if (item.kind == Item::Kind::gather) refuse_delay(node(item.node).link().delay);
  for (const auto& part : item.parts) {
    const Node::AffineTerm& term = node(item.node).terms()[static_cast<std::size_t>(part.term)];
    if (node(term.source).kind() != Node::Kind::symbols) read(term.source, -1);
  }
  for (const int i : item.nodes)
    for (const int operand : node(i).pointwise().operands)
      if (operand >= 0 && !plan_.is_exit(i)) read(operand, number);
}

void ValueLocations::read(int i, int by_item) {
  const ValueLocation place = find(i);
  if (place.ones) return;
  if (place.shift > 0) history_[place.base] = std::max(history_[place.base], place.shift);
  const auto item = item_of_.find(place.base);
  if (place.shift > 0 || place.offset > 0 || item == item_of_.end() || item->second != by_item)
    stored_.insert(place.base);
}

ValueLocation ValueLocations::find(int i) const {
  const Node& n = node(i);
  switch (n.kind()) {
    case Node::Kind::slice: {
      ValueLocation place = find(n.slice().operand);
      place.offset += n.slice().offset;
      return place;
    }
    case Node::Kind::link: {
      const auto& [delay, source, initial] = n.link();
      if (delay.along != Delay::Along::previous) refuse_delay(delay);
      ValueLocation place = find(source);
      if (place.shift > 0) throw UsageError(n.name + " is a link that reads another link");
      place.shift = delay.steps;
      return place;
    }
    case Node::Kind::pointwise: return plan_.is_exit(i) ? find(n.pointwise().operands[0]) : ValueLocation{.base = i};
    case Node::Kind::mask: return {.ones = true};  // dropout is off outside training
    case Node::Kind::affine: return {.base = i};
    case Node::Kind::input:
      if (reads_numbers_) return {.base = i};
      [[fallthrough]];
    default: throw UsageError("it reads numbers, " + n.name);
  }
}

}  // namespace unfold
