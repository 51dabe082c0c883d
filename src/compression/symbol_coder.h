#pragma once
/// Entropy coding of symbols with a predictor. The predicted distribution is converted to integer frequencies;
/// predictors that work bit by bit give the probability of each bit, and those that make a sequence of decisions give
/// the probability of each decision. Encoder and decoder query the predictor in the same order and pass it the same
/// symbols, so they agree if the predictor is deterministic (invariant 2).
///
///   SymbolEncoder encoder(predictor);
///   for (Symbol s : symbols) encoder.encode(s);
///   std::string code = encoder.finish();

#include <span>
#include <string>
#include <vector>

#include "compression/range_coder.h"
#include "model/context_mixing/bitwise_predictor.h"
#include "model/ppm/decision_coder.h"

namespace unfold {

/// Integer frequencies in [1, 2^kMostCodingBits] with sum 2^kMostCodingBits, computed from log probabilities:
/// proportional, at least 1 per symbol, with the remainder assigned to the most probable symbol. Throws NotFiniteError,
/// with the `position` of the symbol, for a distribution that contains NaN or infinity; a distribution that is zero
/// everywhere counts as uniform. At most 2^24 symbols.
class Frequencies {
 public:
  void set(std::span<const float> log_probabilities, Index position = 0);
  std::uint64_t size(Symbol symbol) const { return sizes_[static_cast<std::size_t>(symbol)]; }
  std::uint64_t first(Symbol symbol) const;  ///< sum of the sizes of the preceding symbols
  Symbol find(std::uint64_t& place) const;   ///< the symbol at `place`, which is set to the `first` of that symbol
  std::span<const std::uint64_t> sizes() const { return sizes_; }

 private:
  std::vector<double> probabilities_;
  std::vector<std::uint64_t> sizes_;
};

class SymbolEncoder {
 public:
  explicit SymbolEncoder(Predictor& predictor);
  void encode(Symbol symbol);  ///< encodes a symbol and passes it to the predictor
  std::string finish() { return coder_.finish(); }

 private:
  Predictor& predictor_;
  BitwisePredictor* bitwise_;
  DecisionPredictor* deciding_;
  Frequencies frequencies_;
  RangeEncoder coder_;
  Index position_ = 0;
};

class SymbolDecoder {
 public:
  SymbolDecoder(Predictor& predictor, std::string_view code);
  Symbol decode();

 private:
  Predictor& predictor_;
  BitwisePredictor* bitwise_;
  DecisionPredictor* deciding_;
  Frequencies frequencies_;
  RangeDecoder coder_;
  Index position_ = 0;
};

}  // namespace unfold
