#include "model/selection/baselines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();

/// Calls use(entry, previous entry or -1) for each predicted entry of a field.
template <class Use>
void for_each_entry(const ExampleSet& set, bool once, Index back, const Use& use) {
  for (Index e = 0; e < set.count(); ++e) {
    if (once) {
      use(e, Index{-1});
      continue;
    }
    const Index begin = set.begin(e);
    for (Index p = set.warmup(e); p < set.length(e); ++p) use(begin + p, p >= back ? begin + p - back : Index{-1});
  }
}

Symbol majority_of(const FieldColumn& column, Index symbols) {
  std::vector<Index> counts(at(symbols));
  for (const Symbol x : column.symbols)
    if (x >= 0 && x < symbols) ++counts[at(x)];
  return static_cast<Symbol>(std::ranges::max_element(counts) - counts.begin());
}

void add_class_baselines(const ExampleSet& training, const ExampleSet& measured, const FieldSpecification& field,
                         bool chain, std::vector<Baseline>& result) {
  const FieldColumn& column = measured.column(field.name);
  const Symbol majority = majority_of(training.column(field.name), field.size);
  double count = 0, by_majority = 0, by_previous = 0;
  for_each_entry(measured, field.once, 1, [&](Index entry, Index previous) {
    const bool unseen = column.unseen.contains(entry);
    if (column.symbols[at(entry)] == kNoSymbol && !unseen) return;
    ++count;
    if (unseen) return;
    const Symbol truth = column.symbols[at(entry)];
    const Symbol before = previous >= 0 ? column.symbols[at(previous)] : kNoSymbol;
    by_majority += truth == majority ? 1 : 0;
    by_previous += truth == (before == kNoSymbol ? majority : before) ? 1 : 0;
  });
  if (count == 0) return;
  result.push_back({.name = "majority class", .measure = "accuracy", .value = by_majority / count});
  if (chain) result.push_back({.name = "previous label", .measure = "accuracy", .value = by_previous / count});
}

std::vector<double> means_of(const FieldColumn& column, Index size) {
  std::vector<double> means(at(size));
  double count = 0;
  for (std::size_t e = 0; e < column.present.size(); ++e) {
    if (column.present[e] == 0) continue;
    ++count;
    for (std::size_t i = 0; i < at(size); ++i) means[i] += static_cast<double>(column.values[e * at(size) + i]);
  }
  for (double& x : means) x /= std::max(count, 1.0);
  return means;
}

void add_number_baselines(const ExampleSet& training, const ExampleSet& measured, const FieldSpecification& field,
                          bool chain, Index ahead, std::vector<Baseline>& result) {
  const FieldColumn& column = measured.column(field.name);
  const std::vector<double> means = means_of(training.column(field.name), field.size);
  double count = 0, by_mean = 0, by_last = 0;
  for_each_entry(measured, field.once, std::max<Index>(ahead, 1), [&](Index entry, Index previous) {
    if (column.present[at(entry)] == 0) return;
    const bool known = previous >= 0 && column.present[at(previous)] != 0;
    for (Index i = 0; i < field.size; ++i) {
      const double scale = field.deviation.empty() ? 1 : field.deviation[at(i)];
      const double x = static_cast<double>(column.values[at(entry * field.size + i)]);
      const double last = known ? static_cast<double>(column.values[at(previous * field.size + i)]) : means[at(i)];
      by_mean += scale * scale * (x - means[at(i)]) * (x - means[at(i)]);
      by_last += scale * scale * (x - last) * (x - last);
      ++count;
    }
  });
  if (count == 0) return;
  result.push_back({.name = "mean", .measure = "mean_squared_error", .value = by_mean / count});
  if (chain && ahead > 0)
    result.push_back({.name = "persistence", .measure = "mean_squared_error", .value = by_last / count});
}

Split first_symbols(const Split& part, Index symbols) {
  Split result{.name = part.name, .pieces = {}};
  for (Piece piece : part.pieces) {
    if (symbols <= 0) break;
    piece.range.end = std::min(piece.range.end, piece.range.begin + symbols);
    symbols -= piece.range.size();
    result.pieces.push_back(piece);
  }
  return result;
}

double fitted_nats(const std::string& model, const Corpus& corpus, const Split& training, const Corpus& measured_corpus,
                   const Split& measured, Team& team) {
  const std::unique_ptr<FittedModel> fitted = make_fitted_model(model, corpus.alphabet());
  fitted->fit({.corpus = corpus, .training = training}, {}, team);
  const Evaluation found = evaluate(*fitted->predictor(), measured_corpus, measured);
  return found.predicted > 0 ? found.nats_per_symbol() : kNotKnown;
}

}  // namespace

bool is_better(double result, const Baseline& baseline) {
  return baseline.measure == "accuracy" ? result > baseline.value : result < baseline.value;
}

std::vector<Baseline> field_baselines(const ExampleSet& training, const ExampleSet& measured, const std::string& name,
                                      Index ahead) {
  std::vector<Baseline> result;
  if (!training.has(name) || !measured.has(name)) return result;
  const FieldSpecification& field = measured.data().field(name);
  if (field.source) return result;
  const bool chain = !field.once && !measured.has_trees() && !measured.has_grids();
  if (field.type == FieldSpecification::Type::symbols)
    add_class_baselines(training, measured, field, chain, result);
  else
    add_number_baselines(training, measured, field, chain, ahead, result);
  return result;
}

std::vector<Baseline> text_baselines(const Corpus& corpus, const Split& training, const Corpus& measured_corpus,
                                     const Split& measured, Symbol predict_after, Team& team) {
  constexpr Index kMostSymbols = 100'000;
  const Split known = first_symbols(training, kBaselineTraining), seen = first_symbols(measured, kBaselineMeasured);
  std::vector<Baseline> result;
  if (known.empty() || seen.empty() || predict_after != kNoSymbol || corpus.has_mask() || measured_corpus.has_mask())
    return result;
  const auto add = [&](const std::string& name, const std::string& model) {
    const double nats = fitted_nats(model, corpus, known, measured_corpus, seen, team);
    if (std::isfinite(nats)) result.push_back({.name = name, .measure = "nats_per_symbol", .value = nats});
  };
  add("unigram", "frequency");
  if (corpus.alphabet().size() <= kMostSymbols)
    add(fmt::format("{}-gram", kBaselineOrder), fmt::format("ngram:{}", kBaselineOrder));
  return result;
}

}  // namespace unfold
