#include "unfold/model/decoding/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "numerics/functions.h"
#include "unfold/base/checks.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Returns the symbols by descending probability; ties are ordered by index.
std::vector<std::size_t> ranking(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] > p[b]; });
  return order;
}

void normalize(std::vector<double>& p) {
  double total = 0;
  for (const double x : p) total += x;
  for (double& x : p) x /= total;
}

/// Returns how many of the ranked symbols top_k and top_p keep.
std::size_t kept_by_rank(const std::vector<double>& p, const std::vector<std::size_t>& order,
                         const SamplingOptions& options) {
  std::size_t kept = p.size();
  if (options.top_k > 0) kept = std::min(kept, static_cast<std::size_t>(options.top_k));
  if (options.top_p >= 1) return kept;
  double total = 0, reached = 0;
  for (std::size_t i = 0; i < kept; ++i) total += p[order[i]];
  for (std::size_t i = 0; i < kept; ++i) {
    reached += p[order[i]];
    if (reached >= options.top_p * total) return i + 1;
  }
  return kept;
}

}  // namespace

void validate(const SamplingOptions& o) {
  if (o.length < 0) throw UsageError(fmt::format("length {}: must be at least 0", o.length));
  if (!(o.temperature >= 0) || !std::isfinite(o.temperature))
    throw UsageError(
        fmt::format("temperature {}: must be at least 0 (0: always the most probable symbol)", o.temperature));
  if (o.top_k < 0) throw UsageError(fmt::format("top-k {}: must be at least 0 (0: all symbols)", o.top_k));
  if (!(o.top_p > 0 && o.top_p <= 1)) throw UsageError(fmt::format("top-p {}: must be above 0 and at most 1", o.top_p));
  if (!(o.min_p >= 0 && o.min_p <= 1)) throw UsageError(fmt::format("min-p {}: must be from 0 to 1", o.min_p));
}

std::vector<double> filter_distribution(std::span<const float> log_probabilities, const SamplingOptions& options) {
  validate(options);
  if (log_probabilities.empty()) throw UsageError("sampling: there are no symbols to draw from");
  std::vector<double> p(log_probabilities.begin(), log_probabilities.end());
  if (options.temperature == 0) {
    const auto best = static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
    std::fill(p.begin(), p.end(), 0.0);
    p[best] = 1;
    return p;
  }
  const double largest = *std::max_element(p.begin(), p.end());
  for (double& x : p) x = (x - largest) / options.temperature;
  vector_exp(p.data(), p.data(), static_cast<Index>(p.size()));
  const std::vector<std::size_t> order = ranking(p);
  for (std::size_t i = kept_by_rank(p, order, options); i < p.size(); ++i) p[order[i]] = 0;
  const double least = options.min_p * p[order[0]];
  for (double& x : p)
    if (x < least) x = 0;
  normalize(p);
  return p;
}

Symbol draw_from(std::span<const double> p, Random& random) {
  double left = random.uniform();
  Symbol last = kNoSymbol;
  for (std::size_t x = 0; x < p.size(); ++x) {
    if (p[x] <= 0) continue;
    last = static_cast<Symbol>(x);
    left -= p[x];
    if (left < 0) break;
  }
  if (last == kNoSymbol) throw UsageError("sampling: no symbol has a positive probability");
  return last;  // rounding may leave a remainder beyond the last symbol
}

void sample(Predictor& predictor, const Alphabet& alphabet, const SamplingOptions& options,
            const std::function<void(Symbol)>& use) {
  validate(options);
  if (!options.stop.empty()) require_length("sampling: the alphabet", alphabet.size(), predictor.alphabet());
  Random random(options.seed, stream_of("sample") + static_cast<std::uint64_t>(options.number));
  predictor.reset();
  for (const Symbol symbol : options.prime) predictor.observe(symbol);
  Symbol previous = options.prime.empty() ? kNoSymbol : options.prime.back();
  std::string tail;  // the last characters of the decoded text (as many as in `stop`)
  for (Index drawn = 0; drawn < options.length; ++drawn) {
    const Symbol symbol = draw_from(filter_distribution(predictor.log_probabilities(), options), random);
    use(symbol);
    predictor.observe(symbol);
    if (!options.stop.empty()) {
      tail += alphabet.decode(std::span<const Symbol>(&symbol, 1), previous);
      if (tail.ends_with(options.stop)) break;
      if (tail.size() > options.stop.size()) tail.erase(0, tail.size() - options.stop.size());
    }
    previous = symbol;
  }
}

std::vector<Symbol> sample(Predictor& predictor, const Alphabet& alphabet, const SamplingOptions& options) {
  std::vector<Symbol> result;
  sample(predictor, alphabet, options, [&](Symbol symbol) { result.push_back(symbol); });
  return result;
}

}  // namespace unfold
