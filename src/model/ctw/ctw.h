#pragma once
/// Context tree weighting (CTW) with a binary decomposition: every bit of a symbol, given the bits before it, has a
/// separate context tree, which branches on the preceding symbols, starting with the most recent one. Each node holds a
/// Krichevsky-Trofimov (KT) estimator; the weighted probability of a node is the mean of its estimator and the product
/// of its children:
///   Pw(s) = (Pe(s) + Pw(0 s) Pw(1 s) ...) / 2
/// With beta(s) = Pe(s) / prod Pw(children) stored per node, the probability of a bit is computed along one path:
///   Pw(1 | s) = (beta Pe(1 | s) + Pw(1 | child)) / (beta + 1),   beta *= Pe(x | s) / Pw(x | child).
/// Willems, Shtarkov & Tjalkens 1995; for the decomposition, Tjalkens, Willems & Shtarkov 1994.
///
/// Uses only + - * / on doubles, so results are bit-identical on all machines. A node takes 16 bytes; the tree grows
/// with the data.

#include <array>
#include <memory>

#include "model/context_mixing/bitwise_predictor.h"
#include "unfold/base/options/options.h"

namespace unfold {

struct CtwOptions {
  Index depth = 24;  ///< bits of context, rounded up to depth / bits-per-symbol symbols
  double add = 0.5;  ///< pseudo-count of the estimators; 0.5 is the KT estimator, smaller values are better for text
};

template <class Visitor>
void describe(Visitor& v, CtwOptions& o) {
  v("depth", o.depth, "bits of context", range(0, 256));
  v("add", o.add, "added to every count of the estimators", above(0));
}

class CtwPredictor final : public BitwisePredictor {
 public:
  /// Throws UsageError if the depth is negative or above 16 symbols, or if `add` is not above 0.
  CtwPredictor(Index alphabet, const CtwOptions& options);

  float logit(BitPath path, int depth) override;
  void learn(BitPath path, int depth, int bit) override;
  void finish(Symbol symbol) override;
  double decision_bytes() const override { return static_cast<double>(sizeof(Node)) * (depth_ + 1); }
  void reset() override;
  void set_learning(bool on) override { learning_ = on; }
  std::unique_ptr<Predictor> clone() const override;
  bool clones_are_large() const override { return true; }

 private:
  struct Node {
    std::uint64_t key = 0;  // 0: empty slot
    std::uint16_t zeros = 0, ones = 0;
    float beta = 1;
  };
  static constexpr int kMostDepth = 16;

  CtwPredictor(const CtwPredictor&) = default;
  bool learning() const override { return learning_; }
  std::uint64_t key(int level, BitPath path) const;
  Node* find(std::uint64_t key);
  Node& find_or_create(std::uint64_t key);
  void grow();
  double one(const Node* node) const;  ///< P(1) of the estimator

  int depth_;  // depth in symbols
  double add_;
  bool learning_ = true;
  std::vector<std::uint64_t> contexts_;  // hashes of the contexts of the last 0, 1, ... symbols
  std::vector<Symbol> recent_;           // most recent first
  int known_ = 0;                        // symbols since the start of the sequence, up to depth_
  std::vector<Node> table_;
  std::size_t used_ = 0;
  // Along the path of the last prediction: the keys of the nodes, and the weighted P(1) from the leaf up to each level.
  std::array<std::uint64_t, kMostDepth + 1> keys_{};
  std::array<double, kMostDepth + 2> weighted_{};
};

}  // namespace unfold
