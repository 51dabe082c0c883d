#include "model/context_mixing/context_mixing.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "model/context_mixing/logistic.h"
#include "model/context_mixing/mixing_core.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Throws UsageError for more than 256 symbols, memory outside 1 MiB .. 16 GiB, and a row outside 0 .. 65535.
void require_mixing(Index alphabet, Index memory, Index row) {
  constexpr Index kLeastMemory = Index{1} << 20, kMostMemory = Index{16} << 30, kLongestRow = 65535;
  if (alphabet > 256)
    throw UsageError(fmt::format(
        "cm: context mixing supports at most 256 symbols, but there are {}; use --symbols bytes", alphabet));
  if (memory < kLeastMemory || memory > kMostMemory)
    throw UsageError(fmt::format("cm: memory of {} bytes must be from 1 MiB to 16 GiB", memory));
  if (row < 0 || row > kLongestRow) throw UsageError(fmt::format("cm: row {} must be from 0 to {}", row, kLongestRow));
}

}  // namespace

ContextMixing::ContextMixing(Index alphabet, const ContextMixingOptions& options, std::vector<std::uint8_t> bytes)
    : BitwisePredictor(alphabet) {
  require_mixing(alphabet, options.memory, options.row);
  core_ = make_mixing_core(options, std::move(bytes), tree().bits());
}

ContextMixing::~ContextMixing() = default;
ContextMixing::ContextMixing(const ContextMixing& other) : BitwisePredictor(other), core_(other.core_->clone()) {}

float ContextMixing::logit(BitPath path, int depth) {
  return Logistic::tables().stretch(
      std::min(static_cast<std::uint32_t>(core_->probability(path, depth) * 4096), 4095U));
}
std::uint32_t ContextMixing::probability_of_one(BitPath path, int depth) {
  constexpr float kOne = 1 << kBitPrecision;
  return static_cast<std::uint32_t>(std::clamp(core_->probability(path, depth) * kOne, 1.0F, kOne - 1));
}

void ContextMixing::learn(BitPath path, int depth, int bit) { core_->learn(path, depth, bit); }
double ContextMixing::decision_bytes() const { return core_->decision_bytes(); }

void ContextMixing::finish(Symbol symbol) {
  forget_distribution();
  core_->finish(symbol);
}

void ContextMixing::reset() {
  forget_distribution();
  core_->start();
}

void ContextMixing::set_learning(bool on) { core_->learning = on; }
bool ContextMixing::learning() const { return core_->learning; }
std::unique_ptr<Predictor> ContextMixing::clone() const { return std::unique_ptr<Predictor>(new ContextMixing(*this)); }

}  // namespace unfold
