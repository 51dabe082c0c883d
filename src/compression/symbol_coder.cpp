#include "compression/symbol_coder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/finite.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::uint64_t kTotal = std::uint64_t{1} << kMostCodingBits;
constexpr int kDecisionBits = 16;

class DecisionEncoder final : public DecisionCoder {
 public:
  explicit DecisionEncoder(RangeEncoder& coder) : coder_(coder) {}
  bool decide(bool answer, std::uint32_t yes_p) override {
    coder_.encode_bit(answer ? 1 : 0, yes_p, kDecisionBits);
    return answer;
  }
  std::uint32_t place(std::uint32_t place, std::uint32_t) override { return place; }
  void take(std::uint32_t first, std::uint32_t size, std::uint32_t total) override {
    coder_.encode_share(first, size, total);
  }

 private:
  RangeEncoder& coder_;
};

class DecisionDecoder final : public DecisionCoder {
 public:
  explicit DecisionDecoder(RangeDecoder& coder) : coder_(coder) {}
  bool decide(bool, std::uint32_t yes_p) override { return coder_.decode_bit(yes_p, kDecisionBits) != 0; }
  std::uint32_t place(std::uint32_t, std::uint32_t total) override { return coder_.position_in_total(total); }
  void take(std::uint32_t first, std::uint32_t size, std::uint32_t total) override {
    coder_.consume_share(first, size, total);
  }

 private:
  RangeDecoder& coder_;
};

}  // namespace

void Frequencies::set(std::span<const float> log_probabilities, Index position) {
  const auto n = static_cast<Index>(log_probabilities.size());
  if (n < 1 || n > (Index{1} << 24))
    throw UsageError(fmt::format("coding: an alphabet of {} symbols is not supported", n));
  probabilities_.assign(log_probabilities.begin(), log_probabilities.end());
  sizes_.resize(probabilities_.size());
  vector_exp(probabilities_.data(), probabilities_.data(), n);
  double sum = 0;
  for (const double p : probabilities_) sum += p;
  if (!std::isfinite(sum)) throw NotFiniteError(position);
  const double scale = sum > 0 ? static_cast<double>(kTotal - static_cast<std::uint64_t>(n)) / sum : 0;
  std::uint64_t used = 0;
  std::size_t best = 0;
  for (std::size_t x = 0; x < sizes_.size(); ++x) {
    sizes_[x] = 1 + (sum > 0 ? static_cast<std::uint64_t>(probabilities_[x] * scale)
                             : (kTotal - sizes_.size()) / sizes_.size());
    used += sizes_[x];
    if (sizes_[x] > sizes_[best]) best = x;
  }
  sizes_[best] += kTotal - used;  // modulo 2^64: rounding can also give a sum that is slightly too large
}

std::uint64_t Frequencies::first(Symbol symbol) const {
  std::uint64_t sum = 0;
  for (Symbol x = 0; x < symbol; ++x) sum += sizes_[static_cast<std::size_t>(x)];
  return sum;
}

Symbol Frequencies::find(std::uint64_t& place) const {
  std::uint64_t sum = 0;
  std::size_t x = 0;
  while (sum + sizes_[x] <= place) sum += sizes_[x++];
  place = sum;
  return static_cast<Symbol>(x);
}

SymbolEncoder::SymbolEncoder(Predictor& predictor)
    : predictor_(predictor),
      bitwise_(dynamic_cast<BitwisePredictor*>(&predictor)),
      deciding_(dynamic_cast<DecisionPredictor*>(&predictor)) {}

void SymbolEncoder::encode(Symbol symbol) {
  if (deciding_ != nullptr) {
    DecisionEncoder coder(coder_);
    deciding_->code(symbol, coder);
    return;
  }
  if (bitwise_ == nullptr) {
    frequencies_.set(predictor_.log_probabilities(), position_++);
    coder_.encode(frequencies_.first(symbol), frequencies_.size(symbol), kMostCodingBits);
    predictor_.observe(symbol);
    return;
  }
  const BitTree& tree = bitwise_->tree();
  BitPath path = 1;
  for (int depth = 0; depth < tree.bits(); ++depth) {
    const int bit = tree.bit(symbol, depth);
    if (tree.open(path, depth)) {
      coder_.encode_bit(bit, bitwise_->probability_of_one(path, depth), kBitPrecision);
      bitwise_->learn(path, depth, bit);
    }
    path = 2 * path + static_cast<BitPath>(bit);
  }
  bitwise_->finish(symbol);
}

SymbolDecoder::SymbolDecoder(Predictor& predictor, std::string_view code)
    : predictor_(predictor),
      bitwise_(dynamic_cast<BitwisePredictor*>(&predictor)),
      deciding_(dynamic_cast<DecisionPredictor*>(&predictor)),
      coder_(code) {}

Symbol SymbolDecoder::decode() {
  if (deciding_ != nullptr) {
    DecisionDecoder coder(coder_);
    return deciding_->code(kNoSymbol, coder);
  }
  if (bitwise_ == nullptr) {
    frequencies_.set(predictor_.log_probabilities(), position_++);
    std::uint64_t place = coder_.place(kMostCodingBits);
    const Symbol symbol = frequencies_.find(place);
    coder_.consume(place, frequencies_.size(symbol), kMostCodingBits);
    predictor_.observe(symbol);
    return symbol;
  }
  const BitTree& tree = bitwise_->tree();
  BitPath path = 1;
  for (int depth = 0; depth < tree.bits(); ++depth) {
    int bit = 0;
    if (tree.open(path, depth)) {
      bit = coder_.decode_bit(bitwise_->probability_of_one(path, depth), kBitPrecision);
      bitwise_->learn(path, depth, bit);
    }
    path = 2 * path + static_cast<BitPath>(bit);
  }
  const auto symbol = static_cast<Symbol>(path ^ (BitPath{1} << tree.bits()));
  bitwise_->finish(symbol);
  return symbol;
}

}  // namespace unfold
