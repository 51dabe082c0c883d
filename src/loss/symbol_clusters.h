#pragma once
/// Clusters of symbols for an adaptive softmax (Grave, Joulin, Cisse, Grangier & Jegou, "Efficient softmax
/// approximation for GPUs", 2017). The alphabet is ordered by decreasing frequency, as alphabets of words are. Each of
/// the first symbols has a separate logit; the others belong to clusters of consecutive symbols.

#include <vector>

#include "unfold/base/options/options.h"
#include "unfold/base/types.h"

namespace unfold {

struct ClusterOptions {
  Index frequent = 0, growth = 8, size = 64;
};

template <class Visitor>
void describe(Visitor& v, ClusterOptions& o) {
  v("frequent", o.frequent, "number of frequent symbols outside clusters; 0: 2 sqrt(symbols), at least 1000",
    at_least(0));
  v("growth", o.growth, "the first symbol of a cluster times this factor is the first symbol of the next cluster",
    range(2, 1000));
  v("size", o.size, "numbers that predict a symbol of the first cluster; a quarter in each next cluster, at least 8",
    range(1, 65536));
}

/// The symbols [begin, end) of a cluster, whose logits are an affine map of `size` numbers.
struct SymbolCluster {
  Index begin, end, size;

  Index symbols() const { return end - begin; }
};

/// Returns the clusters in the order of their symbols; empty if every symbol has a separate logit. A cluster at the
/// end that would be smaller than all symbols before it is merged into its predecessor.
std::vector<SymbolCluster> symbol_clusters(Index symbols, const ClusterOptions& options);

}  // namespace unfold
