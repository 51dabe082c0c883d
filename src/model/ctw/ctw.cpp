#include "model/ctw/ctw.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/context_mixing/context_mixing_parts.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::uint16_t kMostCount = 60000;
constexpr double kLargestBeta = 1e12;

}  // namespace

CtwPredictor::CtwPredictor(Index alphabet, const CtwOptions& options)
    : BitwisePredictor(alphabet),
      depth_(static_cast<int>((options.depth + std::max(1, tree().bits()) - 1) / std::max(1, tree().bits()))),
      add_(options.add),
      recent_(static_cast<std::size_t>(std::max(depth_, 0))),
      table_(std::size_t{1} << 12) {
  if (options.depth < 0 || depth_ > kMostDepth)
    throw UsageError(
        fmt::format("ctw: a depth of {} bits is {} symbols of context; the depth must be from 0 to {} symbols",
                    options.depth, depth_, kMostDepth));
  if (!(options.add > 0)) throw UsageError(fmt::format("ctw: add {} must be above 0", options.add));
  reset();
}

void CtwPredictor::reset() {
  forget_distribution();
  known_ = 0;
  contexts_.assign(static_cast<std::size_t>(depth_) + 1, 0);
}

std::uint64_t CtwPredictor::key(int level, BitPath path) const {
  return hash(contexts_[static_cast<std::size_t>(level)],
              std::uint64_t{path} << 8 | static_cast<std::uint64_t>(level)) |
         1;  // 0 marks an empty slot
}

CtwPredictor::Node* CtwPredictor::find(std::uint64_t key) {
  const std::size_t mask = table_.size() - 1;
  for (std::size_t i = key & mask;; i = (i + 1) & mask) {
    if (table_[i].key == key) return &table_[i];
    if (table_[i].key == 0) return nullptr;
  }
}

CtwPredictor::Node& CtwPredictor::find_or_create(std::uint64_t key) {
  if (Node* found = find(key)) return *found;
  if (2 * (used_ + 1) > table_.size()) grow();
  const std::size_t mask = table_.size() - 1;
  std::size_t i = key & mask;
  while (table_[i].key != 0) i = (i + 1) & mask;
  ++used_;
  table_[i].key = key;
  return table_[i];
}

void CtwPredictor::grow() {
  std::vector<Node> larger(2 * table_.size());
  const std::size_t mask = larger.size() - 1;
  for (const Node& node : table_) {
    if (node.key == 0) continue;
    std::size_t i = node.key & mask;
    while (larger[i].key != 0) i = (i + 1) & mask;
    larger[i] = node;
  }
  table_.swap(larger);
}

double CtwPredictor::one(const Node* node) const {
  if (node == nullptr) return 0.5;
  return (node->ones + add_) / (node->ones + node->zeros + 2 * add_);
}

float CtwPredictor::logit(BitPath path, int) {
  // From the longest context to the empty context. A missing node has no observations and passes on the prediction of
  // its child.
  weighted_[static_cast<std::size_t>(known_) + 1] = 0.5;
  for (int level = known_; level >= 0; --level) {
    const auto at = static_cast<std::size_t>(level);
    keys_[at] = key(level, path);
    const Node* node = find(keys_[at]);
    const double below = weighted_[at + 1];
    if (node == nullptr)
      weighted_[at] = below;
    else if (level == known_)
      weighted_[at] = one(node);  // a leaf
    else
      weighted_[at] = (static_cast<double>(node->beta) * one(node) + below) / (static_cast<double>(node->beta) + 1);
  }
  const double p = std::clamp(weighted_[0], 1e-7, 1 - 1e-7);
  std::array<double, 2> logs = {p, 1 - p};
  vector_log(logs.data(), logs.data(), 2);
  return static_cast<float>(logs[0] - logs[1]);
}

void CtwPredictor::learn(BitPath, int, int bit) {
  if (!learning_) return;
  for (int level = known_; level >= 0; --level) {
    const auto at = static_cast<std::size_t>(level);
    Node& node = find_or_create(keys_[at]);
    const double own = bit != 0 ? one(&node) : 1 - one(&node);
    const double below = bit != 0 ? weighted_[at + 1] : 1 - weighted_[at + 1];
    if (level < known_)
      node.beta =
          static_cast<float>(std::clamp(static_cast<double>(node.beta) * own / below, 1 / kLargestBeta, kLargestBeta));
    ++(bit != 0 ? node.ones : node.zeros);
    if (node.ones + node.zeros >= kMostCount) {
      node.ones /= 2;
      node.zeros /= 2;
    }
  }
}

void CtwPredictor::finish(Symbol symbol) {
  forget_distribution();
  if (depth_ == 0) return;
  recent_.insert(recent_.begin(), symbol);
  recent_.pop_back();
  known_ = std::min(known_ + 1, depth_);
  for (int level = 1; level <= known_; ++level)
    contexts_[static_cast<std::size_t>(level)] =
        hash(contexts_[static_cast<std::size_t>(level) - 1],
             static_cast<std::uint64_t>(recent_[static_cast<std::size_t>(level) - 1]));
}

std::unique_ptr<Predictor> CtwPredictor::clone() const { return std::unique_ptr<Predictor>(new CtwPredictor(*this)); }

}  // namespace unfold
