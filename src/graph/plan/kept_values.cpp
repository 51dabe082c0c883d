#include "graph/plan/kept_values.h"

#include <algorithm>

#include "unfold/base/types.h"

namespace unfold {
namespace {

/// Replays which node writes to which columns in a forward pass.
class LastWriters {
 public:
  explicit LastWriters(const Plan& plan) : plan_(plan), writers_(plan.nodes().size()) {
    for (int i = 0; i < static_cast<int>(writers_.size()); ++i)
      if (plan_.live(i) && plan_.value_place(i).root == i) writers_[at(i)].assign(at(node(i).size), i);
    for (const Segment& segment : plan_.segments())
      for (const Item& item : segment.items) {
        for (const int i : item.nodes) write(i);
        if (item.node >= 0) write(item.node);
      }
  }

  bool keep(int i) const {
    const Place& place = plan_.value_place(i);
    if (!plan_.live(i) || place.scratch() || plan_.is_symbols(i)) return false;
    const auto first = writers_[at(place.root)].begin() + place.column;
    return std::all_of(first, first + node(i).size, [writer = writer_of(i)](int last) { return last == writer; });
  }

 private:
  const Node& node(int i) const { return plan_.nodes()[at(i)]; }

  void write(int i) {
    const Place& place = plan_.value_place(i);
    if (place.scratch() || is_same_memory(i)) return;
    std::fill_n(writers_[at(place.root)].begin() + place.column, node(i).size, i);
  }

  /// Returns whether a node is a copy of its operand in the same place, which no pass writes.
  bool is_same_memory(int i) const {
    if (node(i).kind() != Node::Kind::pointwise || node(i).pointwise().map != Map::copy) return false;
    const Place &mine = plan_.value_place(i), &operand = plan_.value_place(node(i).pointwise().operands[0]);
    return mine.root == operand.root && mine.column == operand.column && mine.shift == operand.shift;
  }

  /// Returns the node that writes the values of a node, which may be a view.
  int writer_of(int i) const {
    const Node& n = node(i);
    if (n.kind() == Node::Kind::slice) return writer_of(n.slice().operand);
    if (is_same_memory(i)) return writer_of(n.pointwise().operands[0]);
    if (n.kind() == Node::Kind::link && n.link().delay.along == Delay::Along::previous)
      return writer_of(n.link().source);
    return i;
  }

  const Plan& plan_;
  std::vector<std::vector<int>> writers_;  // for each root: the last writer of each column
};

}  // namespace

std::vector<char> kept_values(const Plan& plan) {
  const LastWriters writers(plan);
  std::vector<char> kept(plan.nodes().size());
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = writers.keep(static_cast<int>(i)) ? 1 : 0;
  return kept;
}

}  // namespace unfold
