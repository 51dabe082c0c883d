#include "model/context_mixing/adaptive_decision.h"

#include "numerics/functions.h"

namespace unfold {
namespace {

constexpr AdaptiveProbability kUntouched{0};
constexpr std::uint32_t kTrust = 2;  // weight of a prior, as a number of observations

std::vector<float> first_weights() {
  std::vector<float> w(static_cast<std::size_t>(kMixLanes), 1.0F / AdaptiveDecision::kHints);
  w[AdaptiveDecision::kHints] = 0.2F;  // the prior
  w[AdaptiveDecision::kHints + 1] = 0;
  return w;
}

}  // namespace

static_assert(AdaptiveDecision::kHints + 2 == kMixLanes);

AdaptiveDecision::AdaptiveDecision()
    : cells_(kHints * kCells, kUntouched), mixers_(first_weights(), {kGates, kGates, kGates}, kLastGates) {}

double AdaptiveDecision::estimate_and_initialize(Case& c, double prior) {
  for (std::size_t i = 0; i < kHints; ++i) {
    AdaptiveProbability& a = cells_[place(c, i)];
    if (a.value == kUntouched.value) a = AdaptiveProbability::of(prior, kTrust);
  }
  return estimate(c, prior);
}

double AdaptiveDecision::estimate(Case& c, double prior) const {
  constexpr std::size_t kEstimates = kHints + 1;
  std::array<double, 2 * kEstimates> p;
  for (std::size_t i = 0; i < kHints; ++i) {
    AdaptiveProbability a = cells_[place(c, i)];
    if (a.value == kUntouched.value) a = AdaptiveProbability::of(prior, kTrust);
    p[i] = (static_cast<double>(a.value >> 10) + 0.5) / (1 << 22);
  }
  p[kHints] = prior;
  for (std::size_t i = 0; i < kEstimates; ++i) p[kEstimates + i] = 1 - p[i];
  vector_log(p.data(), p.data(), static_cast<Index>(p.size()));
  for (std::size_t i = 0; i < kEstimates; ++i) c.inputs[i] = static_cast<float>(p[i] - p[kEstimates + i]);
  c.inputs[kEstimates] = 0.3F;  // bias
  return static_cast<double>(Logistic::tables().squash(mix(c)));
}

float AdaptiveDecision::mix(const Case& c) const {
  for (std::size_t i = 0; i < c.gates.size(); ++i) mixers_.select(i, c.gates[i]);
  return mixers_.mix(c.inputs.data(), c.last_gate);
}

void AdaptiveDecision::learn(const Case& c, bool yes) {
  mix(c);
  mixers_.learn(c.inputs.data(), yes ? 1 : 0);
  for (std::size_t i = 0; i < kHints; ++i) cells_[place(c, i)].learn(yes ? 1 : 0);
}

}  // namespace unfold
