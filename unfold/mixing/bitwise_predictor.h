#pragma once
/// A predictor that takes a symbol apart into bits, the most significant first, and predicts each given those before
/// it. The coder, the evaluator and mixtures ask for the bits of one symbol (8 for bytes); only who wants the whole
/// distribution pays for all nodes of the tree.
///
/// A node of the tree is named by its path: a one, then the bits so far. The root is 1; a symbol of b bits is the path
/// 2^b + symbol. Where one of the two children holds no symbol of the alphabet the bit is certain and costs nothing.

#include <vector>

#include "unfold/capabilities/predictor.h"

namespace unfold {

using BitPath = std::uint32_t;

/// Where a bit of a symbol stands for contexts that keep a row for each half of it, of 4 bits at most.
struct HalfPlace {
  BitPath prefix;    ///< the path to the half: tells halves apart
  std::size_t node;  ///< within the half
};
inline HalfPlace half_place(BitPath path, int depth) {
  const int into = depth < 4 ? depth : depth - 4;  // bits since the half began
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
  /// The bit of `symbol` at depth 0 .. bits() - 1.
  int bit(Symbol symbol, int depth) const { return (symbol >> (bits_ - 1 - depth)) & 1; }
  /// Symbols below the node at this depth: [first, first + 2^(bits - depth)), cut off at the alphabet's end.
  Index first(BitPath path, int depth) const {
    return static_cast<Index>(path ^ (BitPath{1} << depth)) << (bits_ - depth);
  }
  /// Both children hold symbols.
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

  /// ln(P(1) / P(0)) of the bit after `path`, a node at `depth` whose two children are open. Learns nothing: any node
  /// of the present symbol may be asked in any order.
  virtual float logit(BitPath path, int depth) = 0;
  /// This was the bit after `path`. REQUIRES: the nodes of a symbol are learnt from the root down, closed ones left
  /// out, and logit was asked for this node last.
  virtual void learn(BitPath path, int depth, int bit) = 0;
  /// All bits of this symbol were learnt: the next call is about the symbol after it.
  virtual void finish(Symbol symbol) = 0;

  /// P(1) as the coder uses it; of those that know it with more digits than a logit gives, theirs.
  virtual std::uint32_t probability_of_one(BitPath path, int depth) { return to_probability(logit(path, depth)); }
  static std::uint32_t to_probability(float logit);
  /// Bytes of what a bit is predicted from, read and written again, about; 0: not counted.
  virtual double decision_bytes() const { return 0; }

  Index alphabet() const final { return tree_.alphabet(); }
  std::span<const float> log_probabilities() final;

 protected:
  explicit BitwisePredictor(Index alphabet) : tree_(alphabet) {}
  BitwisePredictor(const BitwisePredictor&) = default;
  /// Called when the state changes otherwise than by observing.
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
