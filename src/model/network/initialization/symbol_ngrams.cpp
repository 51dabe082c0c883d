#include "model/network/initialization/symbol_ngrams.h"

#include "data/examples/transformations/weight_column.h"
#include "unfold/base/checks.h"

namespace unfold {

SymbolNgrams::SymbolNgrams(const ExampleSet& training, const std::string& field, SymbolNgramOptions options)
    : field_(field), options_(options), size_(training.data().field(field).size), contexts_(at(options.order + 1)) {
  constexpr Index kMostOrder = 2;  // of keys with 64 bits
  require_index("n-grams: the order", options.order, kMostOrder + 1);
  const std::vector<Symbol>& symbols = training.column(field).symbols;
  const std::vector<double> weights = weights_with_mean_one(training);
  for (Index e = 0; e < training.count(); ++e)
    for (Index p = 0; p < training.length(e); ++p) {
      const Symbol x = symbols[at(training.begin(e) + p)];
      if (x == kNoSymbol) continue;
      const std::vector<Symbol> before = context_of(training, e, p);
      for (Index length = 0; length <= options.order; ++length) {
        Context& context = contexts_[at(length)][key_of(before, length)];
        context.seen += weights[at(e)];
        context.counts[x] += weights[at(e)];
      }
    }
}

std::vector<Symbol> SymbolNgrams::context_of(const ExampleSet& examples, Index example, Index position) const {
  const std::vector<Symbol>& symbols = examples.column(field_).symbols;
  std::vector<Symbol> context(at(options_.order), kNoSymbol);
  for (Index i = 0; i < options_.order; ++i)
    if (const Index p = position - options_.back - i; p >= 0)
      context[at(options_.order - 1 - i)] = symbols[at(examples.begin(example) + p)];
  return context;
}

double SymbolNgrams::probability(std::span<const Symbol> context, Symbol x) const {
  return probability(context, options_.order, x);
}

Index SymbolNgrams::key_of(std::span<const Symbol> context, Index length) const {
  Index key = 0;
  for (Index i = 0; i < length; ++i) {
    const Index place = std::ssize(context) - 1 - i;
    const Symbol symbol = place >= 0 ? context[at(place)] : kNoSymbol;
    key = key * (size_ + 1) + (symbol == kNoSymbol ? size_ : symbol);
  }
  return key;
}

double SymbolNgrams::probability(std::span<const Symbol> context, Index length, Symbol x) const {
  constexpr double kAdded = 0.5;  // ensures that no symbol has probability 0
  const auto found = contexts_[at(length)].find(key_of(context, length));
  const bool known = found != contexts_[at(length)].end();
  double count = 0;
  if (known)
    if (const auto own = found->second.counts.find(x); own != found->second.counts.end()) count = own->second;
  const double seen = known ? found->second.seen : 0;
  if (length == 0) return (count + kAdded) / (seen + kAdded * static_cast<double>(size_));
  const double shorter = probability(context, length - 1, x);
  if (!known) return shorter;
  const auto kinds = static_cast<double>(found->second.counts.size());
  return (count + kinds * shorter) / (seen + kinds);
}

}  // namespace unfold
