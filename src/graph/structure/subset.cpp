#include "graph/structure/subset.h"

#include <algorithm>
#include <utility>

namespace unfold {
namespace {

Structure some_chains(const Structure& whole, std::span<const Index> sequences) {
  std::vector<Index> lengths;
  lengths.reserve(sequences.size());
  for (const Index s : sequences) lengths.push_back(whole.size(s));
  return Structure::chains(lengths);
}

Structure some_grids(const Structure& whole, std::span<const Index> sequences) {
  const std::vector<Index> left = whole.predecessors(Delay::left(), Corner::top_left);
  std::vector<std::pair<Index, Index>> shapes;
  shapes.reserve(sequences.size());
  for (const Index s : sequences) {
    Index height = 0;  // number of positions without a left neighbor
    for (Index p = 0; p < whole.size(s); ++p) height += left[at(whole.row(s, p))] < 0 ? 1 : 0;
    shapes.emplace_back(height, whole.size(s) / height);
  }
  return Structure::grids(shapes);
}

Structure some_trees(const Structure& whole, std::span<const Index> sequences) {
  std::vector<Tree> trees(sequences.size());
  for (std::size_t t = 0; t < trees.size(); ++t) {
    const Index s = sequences[t];
    for (Index v = 0; v < whole.size(s); ++v) {
      std::vector<Index>& children = trees[t].children.emplace_back();
      for (const Index row : whole.child_rows(whole.row(s, v)))
        children.push_back(row < 0 ? -1 : whole.order().items[at(row)] - whole.item(s, 0));
    }
  }
  return Structure::trees(trees);
}

Structure shaped_alike(const Structure& whole, std::span<const Index> sequences) {
  switch (whole.kind()) {
    case Structure::Kind::chains: return some_chains(whole, sequences);
    case Structure::Kind::grids: return some_grids(whole, sequences);
    default: return some_trees(whole, sequences);
  }
}

}  // namespace

Structure subset(const Structure& whole, std::span<const Index> sequences, std::vector<std::vector<Index>>& rows) {
  Structure result = shaped_alike(whole, sequences);
  std::vector<Index> before(at(result.positions()));
  for (Index s = 0; s < result.sequences(); ++s)
    for (Index p = 0; p < result.size(s); ++p) before[at(result.row(s, p))] = whole.row(sequences[at(s)], p);
  if (whole.source() == nullptr) {
    rows.push_back(std::move(before));
    return result;
  }
  const std::vector<Index> of_rows = whole.source_chains(1);
  std::vector<Index> looked;  // chains of the source, by item
  looked.reserve(before.size());
  for (const Index row : result.order().rows) looked.push_back(of_rows[at(before[at(row)])]);
  rows.push_back(std::move(before));
  std::vector<Index> seen = looked;
  std::ranges::sort(seen);
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  for (Index& chain : looked) chain = std::ranges::lower_bound(seen, chain) - seen.begin();
  return result.with_source(subset(*whole.source(), seen, rows), std::move(looked));
}

}  // namespace unfold
