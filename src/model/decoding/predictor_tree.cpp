#include "model/decoding/predictor_tree.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace unfold {
namespace {

/// Maximum numbers of predictors kept: for large predictors, enough for two lengths of the usual beam; other predictors
/// take up to a few hundred kilobytes each.
constexpr std::size_t kMostLarge = 16, kMostSmall = 4096;

}  // namespace

PredictorTree::PredictorTree(std::unique_ptr<Predictor> at_root)
    : root_(std::make_shared<const Node>(Node{.predictor = std::move(at_root)})),
      most_(root_->predictor->clones_are_large() ? kMostLarge : kMostSmall) {}

PredictorTree::Pointer PredictorTree::child(const Pointer& before, Symbol symbol) {
  return std::make_shared<const Node>(Node{.before = before, .symbol = symbol});
}

Predictor& PredictorTree::after(const Pointer& node) {
  if (node->predictor != nullptr) return *node->predictor;
  std::vector<Symbol> since;
  const Node* from = node.get();
  for (; from->predictor == nullptr; from = from->before.get()) since.push_back(from->symbol);
  node->predictor = from->predictor->clone();
  std::for_each(since.rbegin(), since.rend(), [&](Symbol symbol) { node->predictor->observe(symbol); });
  kept_.push_back(node);
  if (kept_.size() > most_) {
    if (const Pointer oldest = kept_.front().lock(); oldest != nullptr) forget(oldest);
    kept_.pop_front();
  }
  return *node->predictor;
}

}  // namespace unfold
