#include "model/decoding/line_sampling.h"

#include <algorithm>

namespace unfold {
namespace {

constexpr float kExcluded = -1e30F;

/// Returns the predictions without the end of the line, if another symbol is possible.
std::vector<float> without_end(std::span<const float> log_probabilities, Symbol end) {
  std::vector<float> others(log_probabilities.begin(), log_probabilities.end());
  const float before = others[static_cast<std::size_t>(end)];
  others[static_cast<std::size_t>(end)] = kExcluded;
  if (std::ranges::none_of(others, [](float x) { return x > kExcluded; }))
    others[static_cast<std::size_t>(end)] = before;
  return others;
}

}  // namespace

void sample_line(Predictor& predictor, const SamplingOptions& options, const LineEnd& end,
                 const std::function<void(Symbol)>& use) {
  validate(options);
  Random random(options.seed, stream_of("sample") + static_cast<std::uint64_t>(options.number));
  predictor.reset();
  for (const Symbol symbol : options.prime) predictor.observe(symbol);
  bool must_go_on = options.prime.empty() && !end.may_be_first && end.symbol != kNoSymbol;
  for (Index drawn = 0; drawn < options.length; ++drawn) {
    const std::span<const float> predicted = predictor.log_probabilities();
    const std::vector<double> p = must_go_on ? filter_distribution(without_end(predicted, end.symbol), options)
                                             : filter_distribution(predicted, options);
    const Symbol symbol = draw_from(p, random);
    use(symbol);
    if (symbol == end.symbol) return;
    predictor.observe(symbol);
    must_go_on = false;
  }
}

}  // namespace unfold
