#include "model/context_mixing/bitwise_predictor.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "model/context_mixing/logistic.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"

namespace unfold {

BitTree::BitTree(Index alphabet)
    : alphabet_(alphabet), bits_(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(alphabet - 1)))) {
  if (alphabet < 1 || bits_ > 30)
    throw UsageError(fmt::format("an alphabet of {} symbols is not supported; use 1 to 2^30 symbols", alphabet));
}

std::uint32_t BitwisePredictor::to_probability(float logit) {
  constexpr float kOne = 1 << kBitPrecision;
  const float p = Logistic::tables().squash(logit) * kOne;
  return p < 1 ? 1 : p > kOne - 1 ? (1u << kBitPrecision) - 1 : static_cast<std::uint32_t>(p);
}

float BitwisePredictor::log_probability_of(Symbol symbol) {
  constexpr double kUnit = 1.0 / (1 << kBitPrecision);
  double p = 1;
  BitPath path = 1;
  for (int depth = 0; depth < tree_.bits(); ++depth) {
    const int bit = tree_.bit(symbol, depth);
    if (tree_.open(path, depth)) {
      const double one = probability_of_one(path, depth) * kUnit;
      p *= bit != 0 ? one : 1 - one;
    }
    path = 2 * path + static_cast<BitPath>(bit);
  }
  vector_log(&p, &p, 1);
  return static_cast<float>(p);
}

void BitwisePredictor::fill(BitPath path, int depth, double probability) {
  if (depth == tree_.bits()) {
    probabilities_[static_cast<std::size_t>(tree_.first(path, depth))] = probability;
    return;
  }
  if (!tree_.open(path, depth)) return fill(2 * path, depth + 1, probability);
  const double one = probability_of_one(path, depth) * (1.0 / (1 << kBitPrecision));
  fill(2 * path, depth + 1, probability * (1 - one));
  fill(2 * path + 1, depth + 1, probability * one);
}

std::span<const float> BitwisePredictor::log_probabilities() {
  if (current_) return log_probabilities_;
  probabilities_.resize(static_cast<std::size_t>(alphabet()));
  log_probabilities_.resize(probabilities_.size());
  fill(1, 0, 1);
  vector_log(probabilities_.data(), probabilities_.data(), alphabet());
  for (std::size_t x = 0; x < probabilities_.size(); ++x) log_probabilities_[x] = static_cast<float>(probabilities_[x]);
  current_ = true;
  return log_probabilities_;
}

void BitwisePredictor::update(Symbol symbol) {
  current_ = false;
  BitPath path = 1;
  for (int depth = 0; depth < tree_.bits(); ++depth) {
    const int bit = tree_.bit(symbol, depth);
    if (learning() && tree_.open(path, depth)) {
      logit(path, depth);
      learn(path, depth, bit);
    }
    path = 2 * path + static_cast<BitPath>(bit);
  }
  finish(symbol);
}

}  // namespace unfold
