#include "loss/symbol_clusters.h"

#include <algorithm>
#include <cmath>

namespace unfold {
namespace {

constexpr Index kFewestFrequent = 1000;
constexpr Index kSmallestSize = 8;  // of the numbers that predict a symbol of a later cluster
constexpr Index kShrink = 4;

Index default_frequent(Index symbols) {
  return std::max(kFewestFrequent, 2 * static_cast<Index>(std::sqrt(static_cast<double>(symbols))));
}

}  // namespace

std::vector<SymbolCluster> symbol_clusters(Index symbols, const ClusterOptions& options) {
  const Index frequent = options.frequent > 0 ? options.frequent : default_frequent(symbols);
  std::vector<SymbolCluster> clusters;
  if (options.frequent == 0 && symbols < 2 * frequent) return clusters;
  Index size = options.size;
  for (Index begin = frequent; begin < symbols;) {
    const Index next = begin > symbols / options.growth ? symbols : begin * options.growth;
    const Index end = symbols - next < next ? symbols : next;
    clusters.push_back({.begin = begin, .end = end, .size = size});
    size = std::max(std::min(size, kSmallestSize), size / kShrink);
    begin = end;
  }
  return clusters;
}

}  // namespace unfold
