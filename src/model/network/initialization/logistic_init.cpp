#include "model/network/initialization/logistic_init.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <vector>

#include "data/examples/transformations/weight_column.h"
#include "model/network/initialization/logistic_regression.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

/// Bounds of the multiply-adds of one iteration and of the number of weights.
constexpr Index kMostProducts = 10'000'000, kMostWeights = 32'000'000;

[[noreturn]] void refuse_start(const std::string& why) {
  throw UsageError("initialization by logistic regression requires " + why + "; leave out start=logistic");
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

/// A field of symbols with an embedding. Its symbols are the columns of the regression from `first` on.
struct EmbeddedField {
  const FieldSpecification* field;
  int table;
  Index first;
};

/// The examples with labels as the regression reads them.
struct LabeledRows {
  SparseRows rows;
  std::vector<Symbol> labels;
  std::vector<double> weights;
};

/// Returns the embedding parameter of a symbol input; -1 if it has none.
int table_of(const Circuit& circuit, Signal symbols) {
  for (const Node& node : circuit.nodes())
    for (const Node::AffineTerm& term : node.terms())
      if (term.dense() && term.source == symbols.id) return term.parameter;
  return -1;
}

/// Returns the fields whose embeddings are summed and, in `columns`, their number of symbols.
template <class T>
std::vector<EmbeddedField> embedded_fields(NetworkModel<T>& model, const ExampleSet& training, Index width,
                                           Index& columns) {
  std::vector<EmbeddedField> fields;
  columns = 0;
  for (const NetworkInput& input : model.network().inputs) {
    const FieldSpecification& field = training.data().field(parse_read(input.field).field);
    const int table = table_of(model.network().circuit(), input.signal);
    if (field.type != FieldSpecification::Type::symbols || table < 0) continue;
    if (model.parameters()[table].cols != width) refuse_start("embeddings with the width of the bag");
    fields.push_back({&field, table, columns});
    columns += model.parameters()[table].rows;
  }
  return fields;
}

/// Appends the mean of an example over its positions: for each symbol, its number of occurrences per position.
void append_row(const std::vector<EmbeddedField>& fields, const ExampleSet& examples, Index example, SparseRows& rows,
                std::vector<Symbol>& symbols) {
  const double length = static_cast<double>(std::max<Index>(1, examples.length(example)));
  for (const EmbeddedField& own : fields) {
    const FieldColumn& column = examples.column(own.field->name);
    const Range range = symbols_of_example(column, *own.field, examples, example);
    symbols.assign(column.symbols.begin() + range.begin, column.symbols.begin() + range.end);
    std::ranges::sort(symbols);
    const double occurrence = own.field->once ? 1 : 1 / length;
    Symbol last = kNoSymbol;
    for (const Symbol a : symbols) {
      if (a == kNoSymbol) continue;
      if (a == last) {
        rows.values.back() += occurrence;
      } else {
        rows.columns.push_back(static_cast<std::int32_t>(own.first + a));
        rows.values.push_back(occurrence);
      }
      last = a;
    }
  }
  rows.ends.push_back(static_cast<Index>(rows.values.size()));
}

/// Returns every kth example with a label, where k is the smallest number that satisfies the bound on time.
LabeledRows labeled_rows(const std::vector<EmbeddedField>& fields, const ExampleSet& training,
                         const std::vector<Symbol>& labels, Index label_count, Index columns) {
  LabeledRows result;
  result.rows.width = columns;
  const Index products = 2 * training.positions() * static_cast<Index>(fields.size()) * label_count;
  const Index step = 1 + products / kMostProducts;
  const std::vector<double> weights = weights_with_mean_one(training);
  std::vector<Symbol> symbols;
  for (Index e = 0; e < training.count(); e += step) {
    if (labels[at(e)] == kNoSymbol) continue;
    append_row(fields, training, e, result.rows, symbols);
    result.labels.push_back(labels[at(e)]);
    result.weights.push_back(weights[at(e)]);
  }
  return result;
}

/// Returns the number of rows that contain each column.
std::vector<double> rows_with(const SparseRows& rows) {
  std::vector<double> counts(at(rows.width), 0);
  for (const std::int32_t a : rows.columns) ++counts[at(a)];
  return counts;
}

/// Leaves out the rarest columns if there are more than `most`. Returns the new number of each column, -1 if left out.
std::vector<Index> keep_frequent_columns(SparseRows& rows, Index most) {
  std::vector<Index> numbers(at(rows.width), -1);
  const std::vector<double> counts = rows_with(rows);
  double fewest = 1;
  const auto kept = [&] { return std::ranges::count_if(counts, [&](double n) { return n >= fewest; }); };
  while (kept() > most) ++fewest;
  Index width = 0;
  for (std::size_t a = 0; a < counts.size(); ++a)
    if (counts[a] >= fewest) numbers[a] = width++;
  SparseRows result;
  result.width = width;
  for (Index row = 0; row < rows.count(); ++row) {
    for (Index k = rows.begin(row); k < rows.ends[at(row)]; ++k) {
      const Index number = numbers[at(rows.columns[at(k)])];
      if (number < 0) continue;
      result.columns.push_back(static_cast<std::int32_t>(number));
      result.values.push_back(rows.values[at(k)]);
    }
    result.ends.push_back(static_cast<Index>(result.values.size()));
  }
  rows = std::move(result);
  return numbers;
}

/// Multiplies the columns by their inverse document frequencies and all by one factor, after which the mean squared
/// norm of the rows is 1. Returns the factors of the columns.
std::vector<double> scale_columns(SparseRows& rows) {
  std::vector<double> factors = rows_with(rows);
  const double count = static_cast<double>(rows.count());
  for (double& factor : factors) factor = (1 + count) / (1 + factor);
  vector_log(factors.data(), factors.data(), rows.width);
  for (double& factor : factors) factor += 1;
  double squares = 0;
  for (std::size_t k = 0; k < rows.values.size(); ++k) {
    rows.values[k] *= factors[at(rows.columns[k])];
    squares += rows.values[k] * rows.values[k];
  }
  if (squares == 0) return factors;
  const double scale = std::sqrt(count / squares);
  for (double& factor : factors) factor *= scale;
  for (double& value : rows.values) value *= scale;
  return factors;
}

/// Returns one row of signs per label, scaled to length 1. The rows are those of Hadamard matrices whose columns have
/// random signs: they are orthogonal for as many labels as the power of two in the width. Further rows are random.
/// All entries have the same magnitude, so dropout cannot remove a label.
template <class T>
std::vector<T> label_signs(Index labels, Index width, std::uint64_t seed) {
  Random random(seed, "start/logistic");
  const double size = 1 / std::sqrt(static_cast<double>(width));
  std::vector<T> signs(at(labels * width));
  for (T& x : signs) x = static_cast<T>(random.below(2) == 0 ? size : -size);
  const Index block = width & -width;
  for (Index c = 1; c < std::min(labels, block); ++c)
    for (Index i = 0; i < width; ++i) {
      const bool odd = std::popcount(static_cast<std::uint64_t>(c & (i % block))) % 2 != 0;
      signs[at(c * width + i)] = odd ? -signs[at(i)] : signs[at(i)];
    }
  return signs;
}

/// Adds the weights of one symbol, times `factor`, to its row of an embedding.
template <class T>
void add_to_embedding(std::span<const double> weights, double factor, const std::vector<T>& signs, Matrix<T> table,
                      Index symbol) {
  for (std::size_t c = 0; c < weights.size(); ++c) {
    const T weight = static_cast<T>(factor * weights[c]);
    for (Index i = 0; i < table.cols; ++i) table(symbol, i) += weight * signs[c * at(table.cols) + at(i)];
  }
}

/// A fitted regression: the number of the column of each symbol, -1 if it has none, and the factors of the columns.
struct FittedRegression {
  const std::vector<EmbeddedField>& fields;
  const std::vector<Index>& numbers;
  const std::vector<double>& factors;
  const LogisticWeights& weights;
};

/// Sets embeddings and output of a network to the weights of a regression. The network reads rows without the factors,
/// so its weights contain them.
template <class T>
void set_weights(NetworkModel<T>& model, const Node& outputs, const FittedRegression& fitted, std::uint64_t seed) {
  const Matrix<T> output = model.parameters()[outputs.terms().front().parameter];
  const Index width = output.rows, labels = output.cols;
  const double scale = std::sqrt(*std::ranges::max_element(fitted.factors) / 3);
  const std::vector<T> signs = label_signs<T>(labels, width, seed);
  for (const EmbeddedField& own : fitted.fields) {
    const Matrix<T> table = model.parameters()[own.table];
    for (Index a = 0; a < table.rows; ++a) {
      for (Index i = 0; i < width; ++i) table(a, i) = 0;
      const Index k = fitted.numbers[at(own.first + a)];
      if (k < 0) continue;
      const std::span<const double> weights(&fitted.weights.weights[at(k * labels)], at(labels));
      add_to_embedding<T>(weights, fitted.factors[at(k)] / scale, signs, table, a);
    }
  }
  for (Index i = 0; i < width; ++i)
    for (Index c = 0; c < labels; ++c) output(i, c) = static_cast<T>(scale) * signs[at(c * width + i)];
  if (const int bias = outputs.affine().bias; bias >= 0)
    for (Index c = 0; c < labels; ++c) model.parameters()[bias](0, c) = static_cast<T>(fitted.weights.bias[at(c)]);
}

}  // namespace

template <class T>
bool initialize_from_regression(NetworkModel<T>& model, const ExampleSet& training, std::uint64_t seed) {
  if (model.spec().cell->name != "bag" || !model.spec().options.template as<BagOptions>().logistic) return false;
  const Network<T>& network = model.network();
  const Head<T>& head = network.heads.front();
  const FieldSpecification& label = training.data().field(head.field);
  if (network.heads.size() > 1 || !label.once || label.type != FieldSpecification::Type::symbols)
    refuse_start("one predicted label per sequence");
  const Node& outputs = network.circuit().nodes()[at(head.signal.id)];
  const Index width = model.parameters()[outputs.terms().front().parameter].rows, labels = label.size;
  Index columns = 0;
  const std::vector<EmbeddedField> fields = embedded_fields(model, training, width, columns);
  LabeledRows data = labeled_rows(fields, training, training.column(head.field).symbols, labels, columns);
  const std::vector<Index> numbers = keep_frequent_columns(data.rows, std::max<Index>(1, kMostWeights / labels));
  const std::vector<double> factors = scale_columns(data.rows);
  if (factors.empty()) return false;
  const LogisticWeights fitted =
      fit_logistic_regression(data.rows, data.labels, labels, data.weights, kRegressionPenalty, kRegressionSteps);

  set_weights(model, outputs, {fields, numbers, factors, fitted}, seed);
  return true;
}

template bool initialize_from_regression(NetworkModel<float>&, const ExampleSet&, std::uint64_t);
template bool initialize_from_regression(NetworkModel<double>&, const ExampleSet&, std::uint64_t);

}  // namespace unfold
