#include "model/context_mixing/mixture.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "numerics/functions.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::size_t kGates = 1024;  // contexts that select weights
constexpr std::size_t kRefinements = 1 << 14;

std::vector<float> first_part_weights(std::size_t parts) {
  if (parts < 1) throw UsageError("mix: a mixture requires at least one component, such as mix:lstm:128+ppm:5");
  const auto lanes = static_cast<std::size_t>(kMixLanes);
  std::vector<float> w((parts + 1 + lanes - 1) / lanes * lanes);
  std::fill_n(w.begin(), parts, 1 / static_cast<float>(parts));
  return w;
}

}  // namespace

MixturePredictor::MixturePredictor(std::vector<std::unique_ptr<Predictor>> parts)
    : BitwisePredictor(parts.empty() ? 1 : parts.front()->alphabet()),
      inputs_(first_part_weights(parts.size())),
      mixers_(inputs_, {kGates, kGates, 32}, kGates),
      refinement_(kRefinements) {
  for (std::unique_ptr<Predictor>& part : parts) add_part(std::move(part));
  reset();
}

MixturePredictor::MixturePredictor(const MixturePredictor& other)
    : BitwisePredictor(other),
      learning_(other.learning_),
      previous_(other.previous_),
      inputs_(other.inputs_),
      mixers_(other.mixers_),
      refinement_(other.refinement_) {
  for (const Part& part : other.parts_) add_part(part.predictor->clone());
}

void MixturePredictor::add_part(std::unique_ptr<Predictor> predictor) {
  if (predictor->alphabet() != alphabet()) throw UsageError("mix: the components have different alphabets");
  Part part{.predictor = std::move(predictor), .bitwise = nullptr, .sums = {}};
  part.bitwise = dynamic_cast<BitwisePredictor*>(part.predictor.get());
  parts_.push_back(std::move(part));
}

void MixturePredictor::reset() {
  forget_distribution();
  previous_ = 0;
  for (Part& part : parts_) {
    part.predictor->reset();
    part.sums.clear();
  }
}

void MixturePredictor::set_learning(bool on) {
  learning_ = on;
  for (Part& part : parts_) part.predictor->set_learning(on);
}

void MixturePredictor::freeze_for_archive() {
  learning_ = false;
  for (Part& part : parts_) part.predictor->freeze_for_archive();
}

float MixturePredictor::part_logit(Part& part, BitPath path, int depth) {
  if (part.bitwise != nullptr) return part.bitwise->logit(path, depth);
  if (part.sums.empty()) {
    const std::span<const float> logs = part.predictor->log_probabilities();
    std::vector<double> p(logs.begin(), logs.end());
    vector_exp(p.data(), p.data(), static_cast<Index>(p.size()));
    part.sums.assign(1, 0);
    for (const double x : p) part.sums.push_back(part.sums.back() + x);
  }
  const Index first = tree().first(path, depth), half = Index{1} << (tree().bits() - depth - 1);
  const auto at = [&](Index x) { return part.sums[static_cast<std::size_t>(std::min(x, alphabet()))]; };
  constexpr double kLeast = 1e-30;
  std::array<double, 2> p = {at(first + half) - at(first) + kLeast, at(first + 2 * half) - at(first + half) + kLeast};
  vector_log(p.data(), p.data(), 2);
  return static_cast<float>(p[1] - p[0]);
}

float MixturePredictor::logit(BitPath path, int depth) {
  float strongest = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const float x = part_logit(parts_[i], path, depth);
    inputs_[i] = x > -kLargestLogit && x < kLargestLogit ? x : x < 0 ? -kLargestLogit : kLargestLogit;
    strongest = std::max(strongest, std::abs(inputs_[i]));
  }
  inputs_[parts_.size()] = 0.3F;  // bias
  const auto node = static_cast<std::size_t>(tree().bits() <= 10 ? path : static_cast<BitPath>(depth));
  const auto before = static_cast<std::uint64_t>(previous_);
  mixers_.select(0, node);
  mixers_.select(1, alphabet() <= static_cast<Index>(kGates) ? before : hash(before, 1) % kGates);
  mixers_.select(2, std::min<std::size_t>(31, static_cast<std::size_t>(2 * strongest)));
  const float mixed = mixers_.mix(inputs_.data(), node);
  refinement_.select(hash(before, path) % kRefinements);
  return 0.5F * (mixed + refinement_.refine(mixed));
}

void MixturePredictor::learn(BitPath path, int depth, int bit) {
  if (!learning_) return;
  mixers_.learn(inputs_.data(), bit);
  refinement_.learn(bit);
  for (Part& part : parts_)
    if (part.bitwise != nullptr) part.bitwise->learn(path, depth, bit);
}

void MixturePredictor::finish(Symbol symbol) {
  forget_distribution();
  previous_ = symbol;
  for (Part& part : parts_) {
    if (part.bitwise != nullptr)
      part.bitwise->finish(symbol);
    else
      part.predictor->observe(symbol);
    part.sums.clear();
  }
}

std::unique_ptr<Predictor> MixturePredictor::clone() const {
  return std::unique_ptr<Predictor>(new MixturePredictor(*this));
}

bool MixturePredictor::clones_are_large() const {
  return std::ranges::any_of(parts_, [](const Part& part) { return part.predictor->clones_are_large(); });
}

}  // namespace unfold
