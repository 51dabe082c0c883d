#include "unfold/model/decoding/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/options/integer_range.h"
#include "model/decoding/length_factor.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// A continuation that can be extended.
struct Branch {
  Completion made;
  std::shared_ptr<Predictor> predictor;  // the state after `made`
  std::string tail;                      // the last characters of its text (as many as in `stop`)
};

/// An extension of a branch by one symbol.
struct Step {
  std::size_t branch;
  Symbol symbol;
  double log_probability;
};

/// Returns the `beam` most probable steps; ties are ordered by branch, then by symbol.
std::vector<Step> best_steps(const std::vector<Branch>& branches, std::size_t beam) {
  std::vector<Step> steps;
  for (std::size_t b = 0; b < branches.size(); ++b) {
    const auto logs = branches[b].predictor->log_probabilities();
    for (std::size_t x = 0; x < logs.size(); ++x)
      if (logs[x] > -std::numeric_limits<float>::infinity())
        steps.push_back({b, static_cast<Symbol>(x), branches[b].made.log_probability + static_cast<double>(logs[x])});
  }
  const auto kept = static_cast<std::ptrdiff_t>(std::min(beam, steps.size()));
  std::partial_sort(steps.begin(), steps.begin() + kept, steps.end(), [](const Step& a, const Step& b) {
    if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
    return a.branch != b.branch ? a.branch < b.branch : a.symbol < b.symbol;
  });
  steps.resize(static_cast<std::size_t>(kept));
  return steps;
}

Branch extend(const Branch& from, const Step& step, const Alphabet& alphabet, const BeamOptions& options) {
  Branch next = from;
  const float log_probability = from.predictor->log_probability(step.symbol);
  next.predictor = from.predictor->clone();
  next.predictor->observe(step.symbol);
  const std::vector<Symbol>& read = from.made.symbols.empty() ? options.prime : from.made.symbols;
  if (!options.stop.empty()) {
    next.tail += alphabet.decode(std::span<const Symbol>(&step.symbol, 1), read.empty() ? kNoSymbol : read.back());
    next.made.stopped = next.tail.ends_with(options.stop);
    if (next.tail.size() > options.stop.size()) next.tail.erase(0, next.tail.size() - options.stop.size());
  }
  next.made.symbols.push_back(step.symbol);
  next.made.log_probabilities.push_back(log_probability);
  next.made.log_probability = step.log_probability;
  next.made.score =
      step.log_probability * length_factor(static_cast<Index>(next.made.symbols.size()), options.normalization);
  return next;
}

}  // namespace

void validate(const BeamOptions& o) {
  constexpr Index kMost = 1'000'000;
  require_in_range("length", o.length, 1, kMost);
  require_in_range("beam", o.beam, 1, kMost);
  if (o.count < 1) throw UsageError(fmt::format("count {}: must be at least 1", o.count));
  require_length_normalization(o.normalization);
}

std::vector<Completion> complete(Predictor& predictor, const Alphabet& alphabet, const BeamOptions& options) {
  validate(options);
  if (!options.stop.empty()) require_length("beam search: the alphabet", alphabet.size(), predictor.alphabet());
  predictor.reset();
  for (const Symbol symbol : options.prime) predictor.observe(symbol);
  std::vector<Branch> branches(1);
  branches[0].predictor = predictor.clone();
  std::vector<Completion> finished;
  for (Index length = 1; length <= options.length && !branches.empty(); ++length) {
    if (options.before_length) options.before_length();
    std::vector<Branch> next;
    for (const Step& step : best_steps(branches, static_cast<std::size_t>(options.beam))) {
      Branch branch = extend(branches[step.branch], step, alphabet, options);
      if (branch.made.stopped || length == options.length)
        finished.push_back(std::move(branch.made));
      else
        next.push_back(std::move(branch));
    }
    branches = std::move(next);
  }
  std::sort(finished.begin(), finished.end(), [](const Completion& a, const Completion& b) {
    return a.score != b.score ? a.score > b.score : a.symbols < b.symbols;
  });
  if (static_cast<Index>(finished.size()) > options.count) finished.resize(static_cast<std::size_t>(options.count));
  return finished;
}

}  // namespace unfold
