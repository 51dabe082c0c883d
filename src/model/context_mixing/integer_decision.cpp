#include "model/context_mixing/integer_decision.h"

#include "numerics/functions.h"

namespace unfold {
namespace {

std::int16_t rounded(double x) { return static_cast<std::int16_t>(x < 0 ? x - 0.5 : x + 0.5); }

}  // namespace

IntegerLogistic::IntegerLogistic() {
  const auto logit = [](double p) {
    std::array<double, 2> x = {p, 1 - p};
    vector_log(x.data(), x.data(), 2);
    return std::clamp(256 * (x[0] - x[1]), -static_cast<double>(kMost), static_cast<double>(kMost));
  };
  for (std::size_t p = 0; p < stretch_.size(); ++p) stretch_[p] = rounded(logit((static_cast<double>(p) + 0.5) / 4096));
  for (std::size_t i = 0; i < squash_.size(); ++i) {
    double x = (static_cast<double>(i) - kMost) / 256;
    vector_sigmoid(&x, &x, 1);
    squash_[i] = static_cast<std::uint16_t>(std::clamp(65536 * x + 0.5, 1.0, 65535.0));
  }
}

const IntegerLogistic& IntegerLogistic::tables() {
  static const IntegerLogistic tables;
  return tables;
}

constinit const std::array<std::uint16_t, IntegerDecision::kMaximumCount + 1> IntegerDecision::kSteps = [] {
  std::array<std::uint16_t, kMaximumCount + 1> steps{};
  for (std::uint32_t n = 0; n <= kMaximumCount; ++n)
    steps[n] = static_cast<std::uint16_t>((65536 * 10) / (n * 10 + 16));
  return steps;
}();

IntegerDecision::IntegerDecision()
    : logistic_(&IntegerLogistic::tables()),
      cells_(kHints << kCellBits),
      weights_(static_cast<Index>(2 * kGates * kInputs)),
      refined_(static_cast<Index>(kRefined * kRowPlaces)) {
  std::array<std::uint16_t, kRowPlaces> row{};
  for (std::int32_t i = 0; i < kPlaces; ++i) {
    const std::int32_t logit = (i - kPlaces / 2) * kApart;
    row[static_cast<std::size_t>(i)] = static_cast<std::uint16_t>(
        logistic_->squash(std::clamp(logit, -IntegerLogistic::kMost, IntegerLogistic::kMost)));
  }
  for (std::size_t r = 0; r < kRefined; ++r) std::ranges::copy(row, refined_.data() + r * kRowPlaces);
  constexpr std::array<std::int32_t, kInputs> kInitial = {16384, 16384, 16384, 26000};  // of the first set
  for (std::size_t r = 0; r < kGates; ++r) std::ranges::copy(kInitial, weights_.data() + r * kInputs);
}

}  // namespace unfold
