#include "distributed/shard_tree.h"

namespace unfold {
namespace {

void add_nodes(Range node, Range part, std::vector<Range>& result) {
  if (node.end <= part.begin || part.end <= node.begin) return;
  if (part.begin <= node.begin && node.end <= part.end) return result.push_back(node);
  const Index middle = middle_of(node);
  add_nodes({node.begin, middle}, part, result);
  add_nodes({middle, node.end}, part, result);
}

double sum_below(std::span<const double> of_shards, Range node) {
  if (node.size() == 1) return of_shards[static_cast<std::size_t>(node.begin)];
  const Index middle = middle_of(node);
  return sum_below(of_shards, {node.begin, middle}) + sum_below(of_shards, {middle, node.end});
}

}  // namespace

Index middle_of(Range node) { return node.begin + (node.size() + 1) / 2; }

std::vector<Range> nodes_of(Index shards, Range part) {
  std::vector<Range> result;
  if (shards > 0 && !part.empty()) add_nodes({0, shards}, part, result);
  return result;
}

bool are_siblings(Index shards, Range left, Range right) {
  Range node{0, shards};
  const auto is_parent = [&] { return node.begin == left.begin && node.end == right.end; };
  while (!is_parent() && node.size() > 1) {
    const Index middle = middle_of(node);
    node = left.begin < middle ? Range{node.begin, middle} : Range{middle, node.end};
  }
  return is_parent() && node.size() > 1 && left.end == right.begin && middle_of(node) == left.end;
}

double sum_in_tree(std::span<const double> of_shards) {
  return of_shards.empty() ? 0 : sum_below(of_shards, {0, static_cast<Index>(of_shards.size())});
}

}  // namespace unfold
