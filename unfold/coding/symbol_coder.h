#pragma once
/// Symbols as codes: the distribution of a predictor becomes integer frequencies; predictors that work bit by bit give
/// the probability of each bit, those that decide step by step that of each decision. Encoder and decoder ask the
/// predictor for the same things in the same order, and tell it the same symbols, so they agree as long as the
/// predictor is deterministic (law 2).
///
///   SymbolEncoder encoder(predictor);
///   for (Symbol s : symbols) encoder.encode(s);
///   std::string code = encoder.finish();

#include <span>
#include <string>
#include <vector>

#include "unfold/classical/decision_coder.h"
#include "unfold/coding/range_coder.h"
#include "unfold/mixing/bitwise_predictor.h"

namespace unfold {

/// Frequencies in [1, 2^kMostCodingBits] that sum up to 2^kMostCodingBits, from log probabilities: proportional, every
/// symbol at least 1, what is left over to the most probable symbol. Throws NotFiniteError for a distribution that
/// holds a NaN or is infinite, of the symbol at `position`; one that is zero everywhere counts as uniform. At most 2^24
/// symbols.
class Frequencies {
 public:
  void set(std::span<const float> log_probabilities, Index position = 0);
  std::uint64_t size(Symbol symbol) const { return sizes_[static_cast<std::size_t>(symbol)]; }
  std::uint64_t first(Symbol symbol) const;  ///< sum of the sizes of the symbols before
  Symbol find(std::uint64_t& place) const;   ///< the symbol at a place, which becomes the first of the symbol
  std::span<const std::uint64_t> sizes() const { return sizes_; }

 private:
  std::vector<double> probabilities_;
  std::vector<std::uint64_t> sizes_;
};

class SymbolEncoder {
 public:
  explicit SymbolEncoder(Predictor& predictor);
  void encode(Symbol symbol);  ///< and lets the predictor observe it
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
