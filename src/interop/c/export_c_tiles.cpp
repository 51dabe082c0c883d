/// Loop tiling of affine maps and the element-wise programs that read them (export_c_writer.h). The sums of sixteen
/// units or more are still in registers or in the L1 cache when their gates are computed; meanwhile the processor
/// prefetches the weights of the next tile. If the weights do not fit into a cache but part of them stays there, every
/// other step visits the tiles in reverse order, so it begins with the weights used last. Neither optimization changes
/// the order of any sum.

#include <algorithm>
#include <iterator>

#include "interop/c/export_c_shared.h"
#include "interop/c/export_c_writer.h"

namespace unfold {
namespace {

constexpr Index kLanes = 16;
constexpr Index kMostGates = 6;  // number of gates whose sums, 16 per gate, stay in registers
constexpr Index kTileColumns = 64;
/// If all weights fit into the L1 cache, larger tiles are faster: fewer loads of x, and more independent chains of
/// gates.
constexpr Index kTileColumnsInCache = 128;
constexpr Index kFirstLevelBytes = 1 << 15, kSecondLevelBytes = 1 << 19;  // cache sizes of most processors

Index width_for(Index gates, Index columns) { return std::max(kLanes, columns / gates / kLanes * kLanes); }

}  // namespace

Index CTiling::size() const { return whole() * columns() + gates * padded_to_lanes(rest()); }

std::vector<Index> CTiling::components(Index tile) const {
  const Index first = tile * width, count = std::min(width, units - first), lanes = padded_to_lanes(count);
  std::vector<Index> result;
  for (Index gate = 0; gate < gates; ++gate)
    for (Index i = 0; i < lanes; ++i) result.push_back(i < count ? gate * units + first + i : -1);
  return result;
}

/// One item of a tiled map: its initial value and its products.
template <class T>
struct CStepWriter<T>::TiledMap {
  struct Product {
    std::string weights, x;
    Index rows;
  };
  int node;
  std::string from = {};  // empty: accumulate into the destination
  std::vector<Product> products = {};
};

/// Finds the affine maps that are read only by element-wise programs, each gate component by component.
template <class T>
void CStepWriter<T>::find_tiles(int output) {
  std::map<int, Index> units;
  std::set<int> refused = {places_.find(output).base};
  note_readers(units, refused);
  std::map<Index, Index> most_gates;  // largest number of gates, by number of units
  Index bytes = 0;
  for (const Item* item : items_)
    for (const Item::Part& part : item->parts)
      if (const auto& term = node(item->node).terms()[at(part.term)]; !is_lookup(term) && term.dense())
        bytes += node(item->node).size * node(term.source).size * static_cast<Index>(sizeof(T));
  for (const auto& [i, count] : units) {
    const Index gates = node(i).size / count;
    if (refused.contains(i) || node(i).size % count != 0 || gates > kMostGates) continue;
    tilings_[i] = {count, gates, 0};
    most_gates[count] = std::max(most_gates[count], gates);
  }
  const bool large = bytes > kFirstLevelBytes;
  const Index columns = large ? kTileColumns : kTileColumnsInCache;
  for (auto i = tilings_.begin(); i != tilings_.end();) {
    CTiling& tiling = i->second;
    tiling.width = width_for(most_gates[tiling.units], columns);
    // A single gate is not reordered by tiling. If it is alone, a tile has too few sums to keep the processor busy.
    const bool alone = tiling.gates == 1 && tiling.width < width_for(1, columns);
    i = alone ? tilings_.erase(i) : std::next(i);
  }
  Index tiles = 1;
  for (const auto& [i, tiling] : tilings_) tiles = std::max(tiles, tiling.whole());
  turns_ = large && tiles > 1 && (bytes <= tiles * kFirstLevelBytes || bytes > kSecondLevelBytes);
  for (auto& [i, tiling] : tilings_) tiling.local = is_local(i);
}

/// Collects the number of components read at a time for every affine node that programs read, and the nodes that are
/// read in any other way.
template <class T>
void CStepWriter<T>::note_readers(std::map<int, Index>& units, std::set<int>& refused) const {
  for (const auto& [base, steps] : places_.history()) refused.insert(base);
  for (const Item* item : items_) {
    for (std::size_t k = 0; k < item->parts.size(); ++k) {
      const Node::AffineTerm& term = node(item->node).terms()[at(item->parts[k].term)];
      if (!term.dense() || (is_lookup(term) && (k > 0 || !item->start))) refused.insert(item->node);
      if (!is_lookup(term)) refused.insert(places_.find(term.source).base);
    }
    for (const int i : item->nodes)
      for (const int operand : node(i).pointwise().operands) {
        if (operand < 0 || plan_.is_exit(i)) continue;
        const ValueLocation place = places_.find(operand);
        if (place.ones || node(place.base).kind() != Node::Kind::affine) continue;
        const Index size = node(operand).size;
        if (place.offset % size != 0 || (units.contains(place.base) && units[place.base] != size))
          refused.insert(place.base);
        units[place.base] = size;
      }
  }
}

/// Returns whether all terms of a node, and the only program that reads it, run in one loop over tiles.
template <class T>
bool CStepWriter<T>::is_local(int i) const {
  std::size_t first = items_.size(), readers = 0, last = 0;
  for (std::size_t k = 0; k < items_.size(); ++k) {
    const Item& item = *items_[k];
    if (item.kind == Item::Kind::affine && item.node == i) {
      const auto multiplies = [&](const Item::Part& part) { return !is_lookup(node(i).terms()[at(part.term)]); };
      if (std::ranges::none_of(item.parts, multiplies)) return false;
      first = std::min(first, k);
    }
    if (reads(item, i)) ++readers, last = k;
  }
  const auto goes_along = [&](const Item* item) {
    const CTiling* its = item->kind == Item::Kind::affine ? tiling_of(*item) : nullptr;
    return its != nullptr && its->units == tilings_.at(i).units;
  };
  return readers == 1 && std::all_of(items_.begin() + static_cast<std::ptrdiff_t>(first),
                                     items_.begin() + static_cast<std::ptrdiff_t>(last), goes_along);
}

template <class T>
bool CStepWriter<T>::reads(const Item& program, int base) const {
  for (const int i : program.nodes)
    for (const int operand : node(i).pointwise().operands)
      if (operand >= 0 && !plan_.is_exit(i))
        if (const ValueLocation place = places_.find(operand); !place.ones && place.base == base) return true;
  return false;
}

template <class T>
const CTiling* CStepWriter<T>::tiling_of(const Item& item) const {
  if (item.kind == Item::Kind::affine) {
    const auto found = tilings_.find(item.node);
    return found == tilings_.end() ? nullptr : &found->second;
  }
  const auto found = std::ranges::find_if(tilings_, [&](const auto& i) { return reads(item, i.first); });
  return found == tilings_.end() ? nullptr : &found->second;
}

/// Writes the tiled maps from item k on and the program after them as one loop over tiles; returns the index of the
/// next item.
template <class T>
std::size_t CStepWriter<T>::tiles_from(std::size_t k) {
  const CTiling* tiling = tiling_of(*items_[k]);
  if (tiling == nullptr) return k;
  const auto goes_along = [&](const Item& item) {
    const CTiling* its = tiling_of(item);
    return its != nullptr && its->units == tiling->units;
  };
  std::vector<TiledMap> maps;
  for (; k < items_.size() && items_[k]->kind == Item::Kind::affine && goes_along(*items_[k]); ++k)
    if (TiledMap map = tiled_map(*items_[k]); !map.products.empty()) maps.push_back(std::move(map));
  const Item* program = nullptr;
  if (k < items_.size() && items_[k]->kind == Item::Kind::pointwise && goes_along(*items_[k])) program = items_[k++];
  const Index whole = tiling->whole(), width = tiling->width, rest = tiling->rest();
  if (whole > 1) {
    const std::string number = turns_ ? "u" : "t";
    say("for (int t = 0; t < {}; ++t) {{", whole);
    if (turns_) say("  const int u = s->turn ? {} - t : t;", whole - 1);
    const std::string next = turns_ ? fmt::format("(t == {} ? u : s->turn ? u - 1 : u + 1)", whole - 1) : "";
    tile(maps, program, {number, fmt::format("{} * {}", number, width), width, width, next});
  } else if (whole == 1) {
    say("{{");
    tile(maps, program, {"0", "0", width, width});
  }
  if (rest > 0) {
    say("{{");
    tile(maps, program, {std::to_string(whole), std::to_string(whole * width), rest, padded_to_lanes(rest)});
  }
  return k;
}

/// Prepares the weights of a tiled map and writes the statements outside the loop over tiles.
template <class T>
typename CStepWriter<T>::TiledMap CStepWriter<T>::tiled_map(const Item& item) {
  const Node& n = node(item.node);
  const CTiling& tiling = tilings_.at(item.node);
  TiledMap map{.node = item.node};
  std::size_t first = 0;
  if (item.start) {
    const bool lookup = !item.parts.empty() && is_lookup(n.terms()[at(item.parts[0].term)]);
    map.from = looked_up(n, lookup ? &n.terms()[at(item.parts[0].term)] : nullptr);
    first = lookup ? 1 : 0;
  }
  for (std::size_t k = first; k < item.parts.size(); ++k) {
    const Node::AffineTerm& term = n.terms()[at(item.parts[k].term)];
    const Matrix<const T> w = parameters_[term.parameter];
    map.products.push_back({tiled_columns(w, tiling), pointer(term.source), w.rows});
  }
  if (item.start && map.products.empty()) {
    say("/* {} */", comment_text(n.name));
    say("memcpy(s->v{}, {}, {} * sizeof(@real));", item.node, map.from, tiling.size());
  }
  return map;
}

/// Writes the body of a tile, whose opening brace is already written, and the closing brace.
template <class T>
void CStepWriter<T>::tile(std::span<const TiledMap> maps, const Item* program, const CTile& tile) {
  indent_ += "  ";
  int declared = -1;
  for (const TiledMap& map : maps) {
    const CTiling& tiling = tilings_.at(map.node);
    const Index columns = tiling.gates * tile.width;
    if (tiling.local && map.node != declared) say("@real v{}[{}];", declared = map.node, columns);
    const std::string offset = fmt::format(" + {} * {}", tile.number, tiling.columns());
    const std::string to = tiling.local ? fmt::format("v{}", map.node) : fmt::format("s->v{}{}", map.node, offset);
    std::string from = map.from.empty() ? to : map.from + offset;
    call(fmt::format("columns{}", columns));
    for (const auto& [weights, x, rows] : map.products) {
      say("@columns{}({}, {} + {} * {}, {}, {}, {}); /* {} */", columns, x, weights, tile.number,
          rows * tiling.columns(), from, to, rows, comment_text(node(map.node).name));
      from = to;
    }
  }
  if (!tile.next.empty() && !maps.empty()) {
    const auto& [weights, x, rows] = maps.front().products.front();
    call("fetch");
    say("@fetch({} + {} * {});", weights, tile.next, rows * tilings_.at(maps.front().node).columns());
  }
  if (program != nullptr) pointwise(*program, &tile);
  indent_.resize(2);
  say("}}");
}

/// Stores a matrix tile by tile, and each tile row by row.
template <class T>
std::string CStepWriter<T>::tiled_columns(const Matrix<const T>& w, const CTiling& tiling) {
  std::vector<T> packed;
  for (Index t = 0; t * tiling.width < tiling.units; ++t) {
    const std::vector<Index> components = tiling.components(t);
    for (Index i = 0; i < w.rows; ++i)
      for (const Index j : components) packed.push_back(j < 0 ? T{0} : w(i, j));
  }
  return array(fresh("w"), packed);
}

/// A C expression for a pointer to the first number of a node within this tile.
template <class T>
std::string CStepWriter<T>::pointer(int i, const CTile& tile) const {
  const ValueLocation place = places_.find(i);
  const auto found = tilings_.find(place.base);
  if (found == tilings_.end() || place.ones) return fmt::format("{} + {}", pointer(i), tile.first);
  const CTiling& tiling = found->second;
  const Index gate = place.offset / tiling.units * tile.width;
  return tiling.local ? fmt::format("v{} + {}", place.base, gate)
                      : fmt::format("s->v{} + {} * {} + {}", place.base, tile.number, tiling.columns(), gate);
}

/// Size of the memory of a node in the state.
template <class T>
Index CStepWriter<T>::state_size_of(int i) const {
  const auto found = tilings_.find(i);
  if (found == tilings_.end()) return padded_to_lanes(node(i).size);
  return found->second.local ? 0 : found->second.size();
}

#define UNFOLD_INSTANTIATE(T)                                            \
  template void CStepWriter<T>::find_tiles(int);                         \
  template std::size_t CStepWriter<T>::tiles_from(std::size_t);          \
  template std::string CStepWriter<T>::pointer(int, const CTile&) const; \
  template Index CStepWriter<T>::state_size_of(int) const;
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
