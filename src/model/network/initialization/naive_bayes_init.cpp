#include "model/network/initialization/naive_bayes_init.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/examples/transformations/weight_column.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

/// Scales the sum of the log ratios: naive Bayes counts correlated words several times and is overconfident.
constexpr double kStrength = 0.25;

[[noreturn]] void refuse_start(const std::string& why) {
  throw UsageError("initialization from counts requires " + why + "; leave out start=counts");
}

/// Returns the range of the symbols of one example in a column.
Range symbols_of_example(const FieldColumn& column, const FieldSpecification& field, const ExampleSet& examples,
                         Index example) {
  if (field.once) return {example, example + 1};
  const Index begin = examples.begin(example), end = begin + examples.length(example);
  if (!field.spelt) return {begin, end};
  if (begin == end) return {0, 0};
  return {column.chain(begin).begin, column.chain(end - 1).end};
}

/// Returns log p(a | c) of every symbol of a field minus the mean over labels: [symbols x labels].
std::vector<double> log_ratios(const FieldSpecification& field, const ExampleSet& examples, Index symbols,
                               const std::vector<Symbol>& labels, Index label_count) {
  const FieldColumn& column = examples.column(field.name);
  std::vector<double> ratios(at(symbols * label_count), 1);  // add-one smoothing
  std::vector<double> totals(at(label_count), static_cast<double>(symbols));
  std::vector<Symbol> seen;
  const std::vector<double> weights = weights_with_mean_one(examples);
  for (Index e = 0; e < examples.count(); ++e) {
    const Symbol label = labels[at(e)];
    if (label == kNoSymbol) continue;
    const Range own = symbols_of_example(column, field, examples, e);
    seen.assign(column.symbols.begin() + own.begin, column.symbols.begin() + own.end);
    std::ranges::sort(seen);
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    for (const Symbol a : seen) {
      if (a == kNoSymbol) continue;
      ratios[at(a * label_count + label)] += weights[at(e)];
      totals[at(label)] += weights[at(e)];
    }
  }
  vector_log(ratios.data(), ratios.data(), static_cast<Index>(ratios.size()));
  vector_log(totals.data(), totals.data(), label_count);
  for (Index a = 0; a < symbols; ++a) {
    double mean = 0;
    for (Index c = 0; c < label_count; ++c) mean += ratios[at(a * label_count + c)] -= totals[at(c)];
    mean /= static_cast<double>(label_count);
    for (Index c = 0; c < label_count; ++c) ratios[at(a * label_count + c)] -= mean;
  }
  return ratios;
}

/// Random signs, one row per label, scaled to length 1. All entries have the same magnitude, so dropout cannot remove a
/// label.
template <class T>
std::vector<T> random_signs(Index labels, Index width, std::uint64_t seed) {
  Random random(seed, "start/counts");
  const double size = 1 / std::sqrt(static_cast<double>(width));
  std::vector<T> signs(at(labels * width));
  for (T& x : signs) x = static_cast<T>(random.below(2) == 0 ? size : -size);
  return signs;
}

/// Returns the embedding parameter of a symbol input; -1 if there is none.
int table_of(const Circuit& circuit, Signal symbols) {
  for (const Node& node : circuit.nodes())
    for (const Node::AffineTerm& term : node.terms())
      if (term.dense() && term.source == symbols.id) return term.parameter;
  return -1;
}

}  // namespace

template <class T>
void initialize_from_counts(NetworkModel<T>& model, const ExampleSet& training, std::uint64_t seed) {
  if (model.spec().cell->name != "bag" || !model.spec().options.template as<BagOptions>().counts) return;
  const Network<T>& network = model.network();
  const Circuit& circuit = network.circuit();
  const Head<T>& head = network.heads.front();
  const FieldSpecification& label = training.data().field(head.field);
  if (network.heads.size() > 1 || !label.once || label.type != FieldSpecification::Type::symbols)
    refuse_start("one predicted label per sequence");
  const Matrix<T> output = model.parameters()[circuit.nodes()[at(head.signal.id)].terms().front().parameter];
  const Index width = output.rows, labels = label.size;
  const std::vector<T> signs = random_signs<T>(labels, width, seed);
  const double positions = static_cast<double>(training.positions()) / static_cast<double>(training.count());
  const double scale = std::sqrt(kStrength * positions);
  for (const NetworkInput& input : network.inputs) {
    const FieldSpecification& field = training.data().field(parse_read(input.field).field);
    const int table = table_of(circuit, input.signal);
    if (field.type != FieldSpecification::Type::symbols || table < 0) continue;
    const Matrix<T> rows = model.parameters()[table];
    if (rows.cols != width) refuse_start("embeddings with the width of the bag");
    const std::vector<double> ratios =
        log_ratios(field, training, rows.rows, training.column(head.field).symbols, labels);
    // A field with one entry per example is read at every position but counts as one symbol.
    const double input_scale = field.once ? scale / positions : scale;
    for (Index a = 0; a < rows.rows; ++a)
      for (Index c = 0; c < labels; ++c) {
        const T weight = static_cast<T>(input_scale * ratios[at(a * labels + c)]);
        for (Index i = 0; i < width; ++i) rows(a, i) += weight * signs[at(c * width + i)];
      }
  }
  for (Index i = 0; i < width; ++i)
    for (Index c = 0; c < labels; ++c) output(i, c) += static_cast<T>(scale) * signs[at(c * width + i)];
}

template void initialize_from_counts(NetworkModel<float>&, const ExampleSet&, std::uint64_t);
template void initialize_from_counts(NetworkModel<double>&, const ExampleSet&, std::uint64_t);

}  // namespace unfold
