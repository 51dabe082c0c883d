#pragma once
/// What a model says after many beginnings that branch from one another, in memory that is bounded: a few predictors
/// are kept, the others made again from the nearest beginning that has one.
///
///   PredictorTree tree(model.predictor());
///   const auto the = tree.child(tree.child(tree.child(tree.root(), t), h), e);
///   tree.after(the).log_probabilities();

#include <deque>
#include <memory>

#include "unfold/capabilities/predictor.h"

namespace unfold {

class PredictorTree {
 public:
  /// A beginning: one symbol after another beginning.
  struct Node {
    std::shared_ptr<const Node> before = nullptr;
    Symbol symbol = kNoSymbol;
    mutable std::unique_ptr<Predictor> predictor = nullptr;  ///< null where it is not kept
  };
  using Pointer = std::shared_ptr<const Node>;

  explicit PredictorTree(std::unique_ptr<Predictor> at_root);
  const Pointer& root() const { return root_; }
  static Pointer child(const Pointer& before, Symbol symbol);
  /// Valid until the next call, at the root always.
  Predictor& after(const Pointer& node);
  /// It will not be asked for again. It may be all the same. REQUIRES not the root.
  static void forget(const Pointer& node) { node->predictor.reset(); }

 private:
  Pointer root_;
  std::size_t most_;                            // predictors kept
  std::deque<std::weak_ptr<const Node>> kept_;  // in the order in which they were made
};

}  // namespace unfold
