#pragma once
/// Smoothed n-gram probabilities of one field of examples, with the start of a sequence as a context:
///
///   SymbolNgrams bigrams(training, "event", {.order = 1});
///   bigrams.probability(std::array{before}, x)         // p(x | before)
///   bigrams.probability({}, x)                         // of the first symbol of a sequence
///
/// A context is smoothed with the next shorter one (Witten & Bell 1991), and the empty context with 1/2 for each
/// symbol. Models of running text have n-gram models of any order (model/ngram/).

#include <span>
#include <unordered_map>
#include <vector>

#include "unfold/data/examples/example_set.h"

namespace unfold {

struct SymbolNgramOptions {
  Index order = 1;  ///< number of preceding symbols, at most 2
  Index back = 1;   ///< distance of the last known symbol
};

class SymbolNgrams {
 public:
  /// REQUIRES: the field has symbols, one per position. Missing symbols are not counted; as a context they are equal to
  /// the start of a sequence.
  SymbolNgrams(const ExampleSet& training, const std::string& field, SymbolNgramOptions options);
  /// Returns p(x | context). The last symbol of the context is the latest; symbols before its first one are missing.
  double probability(std::span<const Symbol> context, Symbol x) const;
  /// Returns the preceding symbols of a position of an example, the latest last; kNoSymbol: missing.
  std::vector<Symbol> context_of(const ExampleSet& examples, Index example, Index position) const;
  Index order() const { return options_.order; }

 private:
  struct Context {
    double seen = 0;
    std::unordered_map<Symbol, double> counts = {};
  };
  /// A number for the last `length` symbols before a position; different contexts of one length have different numbers.
  Index key_of(std::span<const Symbol> context, Index length) const;
  double probability(std::span<const Symbol> context, Index length, Symbol x) const;

  std::string field_;
  SymbolNgramOptions options_;
  Index size_;
  std::vector<std::unordered_map<Index, Context>> contexts_;  // by length
};

}  // namespace unfold
