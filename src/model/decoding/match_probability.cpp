#include "model/decoding/match_probability.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <unordered_map>

#include "model/decoding/predictor_tree.h"
#include "model/markov.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/loss/loss.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

/// Prefixes that the model cannot distinguish, and their total probability.
struct Mass {
  double probability = 0;
  Index state = 0;
  PredictorTree::Pointer beginning = nullptr;
};

class MassWalk {
 public:
  MassWalk(const Automaton& allowed, const MatchOptions& options, std::unique_ptr<Predictor> predictor)
      : allowed_(allowed), options_(options), predictors_(std::move(predictor)) {}

  MatchProbability run() {
    std::vector<Mass> now = {{.probability = 1, .state = allowed_.start(), .beginning = predictors_.root()}};
    for (Index left = options_.length; left > 0 && !now.empty(); --left) {
      std::vector<Mass> next;
      for (const Mass& from : now) spread(from, left - 1, next);
      keep_heaviest(next);
      now = std::move(next);
    }
    result_.low = std::min(result_.low, 1.0);
    result_.high = std::min(result_.low + left_behind_, 1.0);
    result_.exact = left_behind_ == 0;
    result_.probability = (result_.low + result_.high) / 2;
    return result_;
  }

 private:
  void spread(const Mass& from, Index left, std::vector<Mass>& next) {
    ++result_.expanded;
    const std::span<const float> logs = predictors_.after(from.beginning).log_probabilities();
    shares_.assign(logs.begin(), logs.end());
    vector_exp(shares_.data(), shares_.data(), static_cast<Index>(shares_.size()));
    for (std::size_t x = 0; x < shares_.size(); ++x) {
      const auto symbol = static_cast<Symbol>(x);
      const Index state = allowed_.next(from.state, symbol);
      if (state == Automaton::kDead || allowed_.least(state) > left) continue;
      const double probability = from.probability * shares_[x];
      if (allowed_.accepts(state))
        result_.low += probability;
      else if (probability > 0)
        next.push_back({probability, state, PredictorTree::child(from.beginning, symbol)});
    }
  }

  /// Merges equivalent prefixes.
  void keep_heaviest(std::vector<Mass>& all) {
    // With a Markov model many prefixes are merged, so more prefixes are considered.
    constexpr std::size_t kLookedAt = 64;
    std::ranges::stable_sort(all, std::ranges::greater(), &Mass::probability);
    std::vector<Mass> kept;
    std::unordered_map<std::string, std::size_t> places;
    const auto most = at(options_.expansions);
    std::size_t k = 0;
    for (; k < all.size() && kept.size() < most && k < kLookedAt * most; ++k) {
      Mass mass = std::move(all[k]);
      if (markov_) {
        const auto* markov = dynamic_cast<const MarkovContext*>(&predictors_.after(mass.beginning));
        std::string key = fmt::format("{}/", mass.state);
        markov->append_context(key);
        const auto [place, fresh] = places.try_emplace(std::move(key), kept.size());
        if (!fresh) {
          kept[place->second].probability += mass.probability;
          continue;
        }
      }
      kept.push_back(std::move(mass));
    }
    for (; k < all.size(); ++k) left_behind_ += all[k].probability;
    all = std::move(kept);
  }

  const Automaton& allowed_;
  const MatchOptions& options_;
  PredictorTree predictors_;
  const bool markov_ = dynamic_cast<const MarkovContext*>(predictors_.root()->predictor.get()) != nullptr;
  MatchProbability result_;
  double left_behind_ = 0;
  std::vector<double> shares_;
};

/// Draws one importance sample, whose expectation is the probability.
double draw(std::unique_ptr<Predictor> predictor, const Automaton& allowed, Index length, Random& random) {
  double weight = 1;
  Index state = allowed.start();
  std::vector<double> shares;
  std::vector<Symbol> symbols;
  for (Index left = length - 1; left >= 0; --left) {
    const std::span<const float> logs = predictor->log_probabilities();
    shares.clear();
    symbols.clear();
    for (std::size_t x = 0; x < logs.size(); ++x) {
      const Index to = allowed.next(state, static_cast<Symbol>(x));
      if (to == Automaton::kDead || allowed.least(to) > left) continue;
      shares.push_back(static_cast<double>(logs[x]));
      symbols.push_back(static_cast<Symbol>(x));
    }
    if (symbols.empty()) return 0;
    double mass = log_sum_exp(shares.data(), static_cast<Index>(shares.size()));
    for (double& x : shares) x -= mass;
    const Symbol drawn = symbols[at(sample_symbol<double>(shares, random))];
    vector_exp(&mass, &mass, 1);
    weight *= std::min(mass, 1.0);
    if (!(weight > 0)) return 0;
    state = allowed.next(state, drawn);
    if (allowed.accepts(state)) return weight;
    predictor->observe(drawn);
  }
  return 0;
}

void estimate(Predictor& begun, const Automaton& allowed, const MatchOptions& options, MatchProbability& result) {
  double sum = 0, squares = 0;
  for (Index k = 0; k < options.samples; ++k) {
    Random random(options.seed, stream_of(fmt::format("match/{}", k)));
    const double weight = draw(begun.clone(), allowed, options.length, random);
    sum += weight;
    squares += weight * weight;
  }
  const auto n = static_cast<double>(options.samples);
  const double mean = sum / n;
  result.samples = options.samples;
  result.standard_error = n > 1 ? std::sqrt(std::max(0.0, squares / n - mean * mean) / (n - 1)) : 1.0;
  result.probability = std::clamp(mean, result.low, result.high);
}

void require_alphabet(const Automaton& allowed, Index alphabet) {
  if (allowed.alphabet() != alphabet)
    throw UsageError(fmt::format("the automaton has {} symbols, but the model has {}", allowed.alphabet(), alphabet));
}

}  // namespace

MatchProbability match_probability(Predictor& predictor, const Automaton& allowed, const MatchOptions& options) {
  require_alphabet(allowed, predictor.alphabet());
  for (const auto& [name, value] :
       {std::pair{"length", options.length}, {"expansions", options.expansions}, {"samples", options.samples}})
    if (value < 1) throw UsageError(fmt::format("{} {}: must be at least 1", name, value));
  if (allowed.accepts(allowed.start())) return {.probability = 1, .low = 1, .high = 1, .exact = true};
  if (allowed.empty()) return {.probability = 0, .low = 0, .high = 0, .exact = true};
  predictor.reset();
  for (const Symbol x : options.prime) predictor.observe(x);
  MatchProbability result = MassWalk(allowed, options, predictor.clone()).run();
  if (result.high - result.low > options.close * result.high) estimate(predictor, allowed, options, result);
  return result;
}

double match_probability(const HiddenChain& chain, const Automaton& allowed, Index length,
                         std::span<const Symbol> prime) {
  require_alphabet(allowed, chain.alphabet);
  if (length < 1) throw UsageError(fmt::format("length {}: must be at least 1", length));
  if (allowed.empty()) return 0;
  if (allowed.accepts(allowed.start())) return 1;
  const Index n = chain.states, width = allowed.width();
  const auto emission = [&](Index state, Symbol x) { return chain.emissions[at(state * chain.alphabet + x)]; };
  /// Computes the distribution of the next hidden state, given the weights of the current state after its emission.
  const auto step = [&](const std::vector<double>& from, std::vector<double>& into) {
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j) into[at(j)] += from[at(i)] * chain.transitions[at(i * n + j)];
  };
  std::vector<double> hidden(chain.initial.begin(), chain.initial.end()), seen(at(n));
  for (const Symbol x : prime) {
    double total = 0;
    for (Index i = 0; i < n; ++i) total += seen[at(i)] = hidden[at(i)] * emission(i, x);
    if (!(total > 0)) throw UsageError("the model assigns probability 0 to the given prefix");
    for (double& each : seen) each /= total;
    std::fill(hidden.begin(), hidden.end(), 0.0);
    if (x == chain.end)
      std::ranges::copy(chain.initial, hidden.begin());
    else
      step(seen, hidden);
  }
  std::vector<double> of_column(at(n * width));  // p(a symbol of the column | hidden state)
  for (Index i = 0; i < n; ++i)
    for (Symbol x = 0; x < chain.alphabet; ++x)
      if (x != chain.end) of_column[at(i * width + allowed.column(x))] += emission(i, x);
  std::vector<std::vector<double>> now(at(allowed.states()));
  now[at(allowed.start())] = hidden;
  double matched = 0;
  for (Index left = length - 1; left >= 0; --left) {
    std::vector<std::vector<double>> entered(at(allowed.states()));
    std::vector<double> begun(at(allowed.states()));  // probability of the sequences that start in this automaton state
    for (Index s = 0; s < allowed.states(); ++s)
      for (Index c = 0; c < width && !now[at(s)].empty(); ++c) {
        const Index to = allowed.next_in_column(s, c);
        if (to == Automaton::kDead || allowed.least(to) > left) continue;
        std::vector<double>& into = entered[at(to)];
        into.resize(at(n));
        for (Index i = 0; i < n; ++i) {
          const double mass = now[at(s)][at(i)] * of_column[at(i * width + c)];
          into[at(i)] += mass;
          if (allowed.accepts(to)) matched += mass;
        }
      }
    for (Index s = 0; s < allowed.states() && chain.end != kNoSymbol; ++s) {
      const Index to = allowed.next(s, chain.end);
      if (now[at(s)].empty() || to == Automaton::kDead || allowed.least(to) > left) continue;
      entered[at(to)].resize(at(n));
      double mass = 0;
      for (Index i = 0; i < n; ++i) mass += now[at(s)][at(i)] * emission(i, chain.end);
      if (allowed.accepts(to)) matched += mass;
      begun[at(to)] += mass;
    }
    for (Index s = 0; s < allowed.states(); ++s) {
      now[at(s)].clear();
      if (entered[at(s)].empty() || allowed.accepts(s)) continue;
      now[at(s)].resize(at(n));
      step(entered[at(s)], now[at(s)]);
      for (Index j = 0; j < n; ++j) now[at(s)][at(j)] += begun[at(s)] * chain.initial[at(j)];
    }
  }
  return std::min(matched, 1.0);
}

}  // namespace unfold
