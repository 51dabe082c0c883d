#pragma once
/// Base class of predictors that decompose a symbol into bits, the most significant first, and predict each bit given
/// the preceding bits. The coder, the evaluator and mixtures request only the bits of one symbol (8 for bytes); all
/// nodes of the tree are evaluated only if the whole distribution is requested.
///
/// A node of the tree is identified by its path: a 1, followed by the bits so far. The root is 1; the path of a symbol
/// of b bits is 2^b + symbol. If one of the two children contains no symbol of the alphabet, the bit is certain and
/// takes no code space.

#include <vector>

#include "unfold/model/predictor.h"

namespace unfold {

using BitPath = std::uint32_t;

/// The position of a bit for contexts that have a row for each half of a symbol; a half has at most 4 bits.
struct HalfPlace {
  BitPath prefix;    ///< the path to the half, which identifies it
  std::size_t node;  ///< node within the half
};
inline HalfPlace half_place(BitPath path, int depth) {
  const int into = depth < 4 ? depth : depth - 4;  // bits since the beginning of the half
  const BitPath last = BitPath{1} << into;
  return {path >> into, (last | (path & (last - 1))) - 1};
}

/// Probabilities of bits are integers in units of 2^-kBitPrecision, from 1 to 2^kBitPrecision - 1.
inline constexpr int kBitPrecision = 22;

/// The bits of the symbols of an alphabet.
class BitTree {
 public:
  explicit BitTree(Index alphabet);
  Index alphabet() const { return alphabet_; }
  int bits() const { return bits_; }
  /// Returns the bit of `symbol` at depth 0 .. bits() - 1.
  int bit(Symbol symbol, int depth) const { return (symbol >> (bits_ - 1 - depth)) & 1; }
  /// Returns the first symbol below the node at this depth. The node contains [first, first + 2^(bits - depth)),
  /// truncated at the end of the alphabet.
  Index first(BitPath path, int depth) const {
    return static_cast<Index>(path ^ (BitPath{1} << depth)) << (bits_ - depth);
  }
  /// Returns whether both children contain symbols.
  bool open(BitPath path, int depth) const {
    return first(path, depth) + (Index{1} << (bits_ - depth - 1)) < alphabet_;
  }

 private:
  Index alphabet_;
  int bits_;
};

class BitwisePredictor : public Predictor {
 public:
  const BitTree& tree() const { return tree_; }

  /// Returns ln(P(1) / P(0)) for the bit after `path`, a node at `depth` whose two children are open. Does not learn,
  /// so the nodes of the current symbol may be queried in any order.
  virtual float logit(BitPath path, int depth) = 0;
  /// Learns the bit after `path`. REQUIRES: the open nodes of a symbol are learned from the root down, and the last
  /// call of `logit` was for this node.
  virtual void learn(BitPath path, int depth, int bit) = 0;
  /// Ends a symbol after all its bits have been learned; the next call is for the following symbol.
  virtual void finish(Symbol symbol) = 0;

  /// Returns P(1) as used by the coder; overridden by predictors whose precision is higher than that of a logit.
  virtual std::uint32_t probability_of_one(BitPath path, int depth) { return to_probability(logit(path, depth)); }
  static std::uint32_t to_probability(float logit);
  /// Returns the approximate size in bytes of the state that the prediction of a bit reads and writes repeatedly; 0:
  /// not counted.
  virtual double decision_bytes() const { return 0; }

  Index alphabet() const final { return tree_.alphabet(); }
  std::span<const float> log_probabilities() final;

 protected:
  explicit BitwisePredictor(Index alphabet) : tree_(alphabet) {}
  BitwisePredictor(const BitwisePredictor&) = default;
  /// Called when the state changes for a reason other than observing a symbol.
  void forget_distribution() { current_ = false; }
  virtual bool learning() const { return true; }
  float log_probability_of(Symbol symbol) final;
  void update(Symbol symbol) final;

 private:
  void fill(BitPath path, int depth, double probability);

  BitTree tree_;
  bool current_ = false;
  std::vector<float> log_probabilities_;
  std::vector<double> probabilities_;
};

}  // namespace unfold
