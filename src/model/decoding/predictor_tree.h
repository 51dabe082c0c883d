#pragma once
/// A tree of prefixes with a predictor for each prefix, in bounded memory. Only some predictors are kept; the others
/// are recomputed from the nearest ancestor whose predictor is kept.
///
///   PredictorTree tree(model.predictor());
///   const auto the = tree.child(tree.child(tree.child(tree.root(), t), h), e);
///   tree.after(the).log_probabilities();

#include <deque>
#include <memory>

#include "unfold/model/predictor.h"

namespace unfold {

class PredictorTree {
 public:
  /// A prefix: one symbol after its parent.
  struct Node {
    std::shared_ptr<const Node> before = nullptr;
    Symbol symbol = kNoSymbol;
    mutable std::unique_ptr<Predictor> predictor = nullptr;  ///< null if it is not kept
  };
  using Pointer = std::shared_ptr<const Node>;

  explicit PredictorTree(std::unique_ptr<Predictor> at_root);
  const Pointer& root() const { return root_; }
  static Pointer child(const Pointer& before, Symbol symbol);
  /// The result is valid until the next call; for the root it is always valid.
  Predictor& after(const Pointer& node);
  /// Releases the predictor of a node that is no longer needed; if it is needed again, it is recomputed. REQUIRES a
  /// node other than the root.
  static void forget(const Pointer& node) { node->predictor.reset(); }

 private:
  Pointer root_;
  std::size_t most_;                            // maximum number of predictors kept
  std::deque<std::weak_ptr<const Node>> kept_;  // nodes with kept predictors, in the order of creation
};

}  // namespace unfold
