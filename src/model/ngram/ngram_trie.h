#pragma once
/// The n-grams of a backoff model as a trie of sorted arrays. The children of a node are adjacent in the next level,
/// sorted by symbol, and found by binary search. Level n (1..order) holds the n-grams of n symbols. With h' denoting h
/// without its first symbol,
///
///   p(x | h) = stored p(hx)          if hx is in the trie
///            = backoff(h) p(x | h')  otherwise; backoff(h) = 1 when h is not in the trie.
///
/// Level 1 is dense: node x is symbol x, and node `alphabet` is the beginning of a sentence or sequence, which occurs
/// only as the first symbol of an n-gram and is never predicted. The trie takes 12 bytes per inner n-gram and 8 bytes
/// per n-gram of the highest order, plus 4 bytes for the children.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/storage/growing_array.h"
#include "model/markov.h"
#include "unfold/model/predictor.h"
#include "unfold/model/symbol_model.h"

namespace unfold {

struct NgramLevel {
  GrowingArray<std::uint32_t> symbols;    ///< last symbol of each n-gram; empty in level 1
  GrowingArray<float> log_probabilities;  ///< natural logarithms
  GrowingArray<float> log_backoffs;       ///< backoffs; empty in the last level
  GrowingArray<std::uint32_t> children;   ///< first child of each node, followed by the end; empty in the last level
};

class NgramTrie {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr Index kMaxOrder = 16;

  NgramTrie() = default;
  /// Creates the uniform distribution.
  NgramTrie(Index order, Index alphabet);

  Index order() const { return static_cast<Index>(levels_.size()); }
  Index alphabet() const { return alphabet_; }
  std::uint32_t begin() const { return static_cast<std::uint32_t>(alphabet_); }  ///< node of level 1
  /// Returns level n, from 1 to the order.
  NgramLevel& level(Index n) { return levels_[static_cast<std::size_t>(n - 1)]; }
  const NgramLevel& level(Index n) const { return levels_[static_cast<std::size_t>(n - 1)]; }
  Index size(Index n) const { return static_cast<Index>(level(n).log_probabilities.size()); }

  /// Returns the node in level n + 1 of the n-gram `node` of level n followed by a symbol; kNone if missing. n < order.
  std::uint32_t child(Index n, std::uint32_t node, std::uint32_t symbol) const;

  void add_tensors(SafetensorsWriter& writer) const;
  /// Throws ModelError if the tensors are not a valid trie.
  static NgramTrie read(const ModelFile& file, Index order, Index alphabet);

 private:
  Index alphabet_ = 0;
  std::vector<NgramLevel> levels_;
};

/// Predicts with a trie. The state of the predictor consists of the nodes of all suffixes of the context that are in
/// the trie.
class NgramPredictor final : public Predictor, public MarkovContext {
 public:
  /// After `line_end` (kNoSymbol: none) a new sentence begins, whose context is only the beginning of a sentence. The
  /// trie must outlive the predictor.
  NgramPredictor(const NgramTrie& trie, Symbol line_end);
  Index alphabet() const override { return trie_->alphabet(); }
  std::span<const float> log_probabilities() override;
  void reset() override;
  void append_context(std::string& to) const override;
  std::unique_ptr<Predictor> clone() const override;

 private:
  float log_probability_of(Symbol symbol) override;
  void update(Symbol symbol) override;

  const NgramTrie* trie_;
  Symbol line_end_;
  std::array<std::uint32_t, NgramTrie::kMaxOrder> nodes_{};  // [k]: the last k + 1 symbols of the context, or kNone
  Index longest_ = 0;                                        // nodes of longer contexts are kNone
  std::vector<float> log_probabilities_;                     // empty: not computed
};

}  // namespace unfold
