#include "model/network/initialization/bigram_init.h"

#include <algorithm>
#include <array>
#include <vector>

#include "model/network/initialization/symbol_ngrams.h"
#include "numerics/functions.h"

namespace unfold {
namespace {

/// Returns the term of a head that reads an input directly; null if there is none.
const Node::AffineTerm* direct_term(const Node& head, Signal input) {
  const auto found =
      std::ranges::find_if(head.terms(), [&](const Node::AffineTerm& term) { return term.source == input.id; });
  return found == head.terms().end() || !found->dense() ? nullptr : &*found;
}

/// Returns log p(x | before) for all symbols x.
std::vector<double> log_row(const SymbolNgrams& bigrams, Symbol before, Index size) {
  std::vector<double> row(at(size));
  for (Index x = 0; x < size; ++x) row[at(x)] = bigrams.probability(std::array{before}, static_cast<Symbol>(x));
  vector_log(row.data(), row.data(), size);
  return row;
}

template <class T>
void initialize_head(NetworkModel<T>& model, const Head<T>& head, const ExampleSet& training) {
  const FieldSpecification& field = training.data().field(head.field);
  if (field.type != FieldSpecification::Type::symbols || field.once || head.loss->name() != "softmax") return;
  const Node& node = model.circuit().nodes()[at(head.signal.id)];
  for (const NetworkInput& input : model.network().inputs) {
    const FieldRead read = parse_read(input.field);
    const Node::AffineTerm* term = direct_term(node, input.signal);
    if (read.field != head.field || read.back == 0 || term == nullptr || node.affine().bias < 0) continue;
    for (const Node::AffineTerm& other : node.terms()) {
      const ParameterInfo& weights = model.circuit().parameters()[at(other.parameter)];
      std::ranges::fill(model.parameters().flat().subspan(at(weights.offset), at(weights.size())), T{0});
    }
    const SymbolNgrams bigrams(training, head.field, {.order = 1, .back = read.back});
    const Matrix<T> table = model.parameters()[term->parameter], bias = model.parameters()[node.affine().bias];
    const std::vector<double> start = log_row(bigrams, kNoSymbol, field.size);
    for (Index x = 0; x < field.size; ++x) bias(0, x) = static_cast<T>(start[at(x)]);
    for (Index before = 0; before < field.size; ++before) {
      const std::vector<double> row = log_row(bigrams, static_cast<Symbol>(before), field.size);
      for (Index x = 0; x < field.size; ++x) table(before, x) = static_cast<T>(row[at(x)] - start[at(x)]);
    }
    return;
  }
}

}  // namespace

template <class T>
void initialize_from_bigrams(NetworkModel<T>& model, const ExampleSet& training) {
  if (model.spec().direct == 0) return;
  for (const Head<T>& head : model.network().heads) initialize_head(model, head, training);
}

template void initialize_from_bigrams(NetworkModel<float>&, const ExampleSet&);
template void initialize_from_bigrams(NetworkModel<double>&, const ExampleSet&);

}  // namespace unfold
