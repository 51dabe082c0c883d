#include "model/selection/baselines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "model/network/initialization/symbol_ngrams.h"
#include "unfold/base/error.h"
#include "unfold/data/text/text_batches.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();
constexpr Index kMostCounted = 10'000'000;  // maximum number of symbols of a part that are counted
constexpr Index kMostSymbols = 100'000;     // maximum alphabet size

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

std::vector<Index> counts_of(const FieldColumn& column, Index symbols) {
  std::vector<Index> counts(at(symbols));
  for (const Symbol x : column.symbols)
    if (x >= 0 && x < symbols) ++counts[at(x)];
  return counts;
}

Symbol majority_of(const FieldStatistics& known) {
  return static_cast<Symbol>(std::ranges::max_element(known.counts) - known.counts.begin());
}

/// Adds the mean and variance of each number, without missing values.
void add_moments(const FieldColumn& column, Index size, FieldStatistics& result) {
  result.means.assign(at(size), 0);
  result.variances.assign(at(size), 0);
  double count = 0;
  for (const char present : column.present) count += present;
  count = std::max(count, 1.0);
  const auto entries = static_cast<Index>(column.present.size());
  const auto for_each = [&](const auto& use) {
    for (Index e = 0; e < entries; ++e)
      for (Index i = 0; i < size && column.present[at(e)] != 0; ++i)
        use(at(i), static_cast<double>(column.values[at(e * size + i)]));
  };
  for_each([&](std::size_t i, double x) { result.means[i] += x / count; });
  for_each(
      [&](std::size_t i, double x) { result.variances[i] += (x - result.means[i]) * (x - result.means[i]) / count; });
  result.bits = std::ranges::all_of(column.values, [](float x) { return x == 0 || x == 1; });
}

void add_class_baselines(const FieldStatistics& known, const ExampleSet& measured, const FieldSpecification& field,
                         bool chain, std::vector<Baseline>& result) {
  const FieldColumn& column = measured.column(field.name);
  if (known.counts.empty()) return;
  const Symbol majority = majority_of(known);
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

void add_number_baselines(const FieldStatistics& known, const ExampleSet& measured, const FieldSpecification& field,
                          bool chain, Index ahead, std::vector<Baseline>& result) {
  const FieldColumn& column = measured.column(field.name);
  if (static_cast<Index>(known.means.size()) != field.size) return;
  double count = 0, by_mean = 0, by_last = 0;
  for_each_entry(measured, field.once, std::max<Index>(ahead, 1), [&](Index entry, Index previous) {
    if (column.present[at(entry)] == 0) return;
    const bool has_last = previous >= 0 && column.present[at(previous)] != 0;
    for (Index i = 0; i < field.size; ++i) {
      const double scale = field.deviation.empty() ? 1 : field.deviation[at(i)], mean = known.means[at(i)];
      const double x = static_cast<double>(column.values[at(entry * field.size + i)]);
      const double last = has_last ? static_cast<double>(column.values[at(previous * field.size + i)]) : mean;
      by_mean += scale * scale * (x - mean) * (x - mean);
      by_last += scale * scale * (x - last) * (x - last);
      ++count;
    }
  });
  if (count == 0) return;
  result.push_back({.name = "mean", .measure = "mean_squared_error", .value = by_mean / count});
  if (chain && ahead > 0)
    result.push_back({.name = "persistence", .measure = "mean_squared_error", .value = by_last / count});
}

double constant_nats_of_numbers(const FieldStatistics& known, const FieldColumn& measured, Index size) {
  constexpr double kLeastVariance = 1e-6, kLeastShare = 1e-3, kTwoPi = 6.283185307179586;
  double nats = 0, count = 0;
  for (std::size_t e = 0; e < measured.present.size(); ++e) {
    if (measured.present[e] == 0) continue;
    ++count;
    for (std::size_t i = 0; i < at(size); ++i) {
      const double x = static_cast<double>(measured.values[e * at(size) + i]);
      const double mean = known.means[i], share = std::clamp(mean, kLeastShare, 1 - kLeastShare);
      const double variance = std::max(known.variances[i], kLeastVariance);
      nats += known.bits ? -x * std::log(share) - (1 - x) * std::log(1 - share)
                         : 0.5 * (std::log(kTwoPi * variance) + (x - mean) * (x - mean) / variance);
    }
  }
  return count > 0 ? nats / count : kNotKnown;
}

}  // namespace

bool is_better(double result, const Baseline& baseline) {
  return baseline.measure == "accuracy" ? result > baseline.value : result < baseline.value;
}

FieldStatistics field_statistics(const ExampleSet& training, const std::string& name) {
  FieldStatistics result;
  if (!training.has(name)) return result;
  const FieldSpecification& field = training.data().field(name);
  if (field.type == FieldSpecification::Type::symbols)
    result.counts = counts_of(training.column(name), field.size);
  else
    add_moments(training.column(name), field.size, result);
  return result;
}

FieldStatistics text_statistics(const Corpus& corpus, const Split& part, Symbol predict_after) {
  constexpr Index kWindow = 4096;
  FieldStatistics result{.counts = std::vector<Index>(at(corpus.alphabet().size()))};
  std::vector<Passage> passages;
  for (const Piece& piece : beginning_of(part, kMostCounted).pieces)
    passages.push_back({.sequence = piece.sequence, .range = piece.range, .score_from = piece.range.begin});
  StreamReader reader(corpus, kWindow, predict_after);
  reader.start({passages});
  for (Batch batch; reader.next(batch);)
    for (const Symbol x : batch.symbol_field(kSymbol).symbols)
      if (x != kNoSymbol) ++result.counts[at(x)];
  return result;
}

nlohmann::json to_json(const FieldStatistics& statistics) {
  if (static_cast<Index>(statistics.counts.size()) > kMostSymbols) return nullptr;
  if (!statistics.counts.empty()) return {{"counts", statistics.counts}};
  return {{"means", statistics.means}, {"variances", statistics.variances}, {"bits", statistics.bits}};
}

std::optional<FieldStatistics> stored_statistics(const Model& model, const std::string& field) {
  const nlohmann::json& card = model.configuration();
  const auto stored = card.find(kStatisticsKey);
  if (stored == card.end() || !stored->is_object()) return std::nullopt;
  const auto own = stored->find(field);
  if (own == stored->end() || !own->is_object()) return std::nullopt;
  FieldStatistics result;
  try {
    if (own->contains("counts"))
      result.counts = own->at("counts").get<std::vector<Index>>();
    else
      result = {.means = own->at("means").get<std::vector<double>>(),
                .variances = own->at("variances").get<std::vector<double>>(),
                .bits = own->at("bits").get<bool>()};
  } catch (const nlohmann::json::exception&) {
    throw ModelError(fmt::format("the model card: configuration: {}: \"{}\" is not valid", kStatisticsKey, field));
  }
  const std::size_t size = at(model.data().field(field).size);
  const bool fits = result.counts.empty() ? result.means.size() == size && result.variances.size() == size
                                          : result.counts.size() == size;
  if (!fits || std::ranges::any_of(result.counts, [](Index count) { return count < 0; }))
    throw ModelError(
        fmt::format("the model card: configuration: {}: \"{}\" does not match the field", kStatisticsKey, field));
  return result;
}

std::vector<Baseline> field_baselines(const FieldStatistics& known, const ExampleSet& measured, const std::string& name,
                                      Index ahead) {
  std::vector<Baseline> result;
  if (!measured.has(name)) return result;
  const FieldSpecification& field = measured.data().field(name);
  if (field.source) return result;
  const bool chain = !field.once && !measured.has_trees() && !measured.has_grids();
  if (field.type == FieldSpecification::Type::symbols)
    add_class_baselines(known, measured, field, chain, result);
  else
    add_number_baselines(known, measured, field, chain, ahead, result);
  return result;
}

std::vector<Baseline> event_baselines(const ExampleSet& training, const ExampleSet& measured, const std::string& name,
                                      Index back) {
  std::vector<Baseline> result;
  const std::vector<Symbol>& symbols = measured.column(name).symbols;
  for (const Index order : {1, 2}) {
    const SymbolNgrams ngrams(training, name, {.order = order, .back = back});
    double nats = 0, count = 0;
    for (Index e = 0; e < measured.count(); ++e)
      for (Index p = measured.warmup(e); p < measured.length(e); ++p) {
        const Symbol x = symbols[at(measured.begin(e) + p)];
        if (x == kNoSymbol) continue;
        nats -= std::log(ngrams.probability(ngrams.context_of(measured, e, p), x));
        ++count;
      }
    if (count == 0) return {};
    result.push_back(
        {.name = order == 1 ? "bigram" : "trigram", .measure = "nats_per_position", .value = nats / count});
  }
  return result;
}

double constant_nats(const FieldStatistics& known, const FieldStatistics& measured) {
  constexpr double kAdded = 0.5;  // ensures that no symbol has probability 0
  const double all = std::accumulate(known.counts.begin(), known.counts.end(), 0.0) +
                     kAdded * static_cast<double>(known.counts.size());
  double nats = 0, count = 0;
  for (std::size_t x = 0; x < std::min(known.counts.size(), measured.counts.size()); ++x) {
    const auto seen = static_cast<double>(measured.counts[x]);
    if (seen > 0) nats += seen * std::log(all / (kAdded + static_cast<double>(known.counts[x])));
    count += seen;
  }
  return count > 0 ? nats / count : kNotKnown;
}

double constant_nats(const FieldStatistics& known, const FieldColumn& measured, const FieldSpecification& field) {
  if (field.type == FieldSpecification::Type::symbols)
    return constant_nats(known, FieldStatistics{.counts = counts_of(measured, field.size)});
  return constant_nats_of_numbers(known, measured, field.size);
}

Split beginning_of(const Split& part, Index symbols) {
  Split result{.name = part.name, .pieces = {}};
  for (Piece piece : part.pieces) {
    if (symbols <= 0) break;
    piece.range.end = std::min(piece.range.end, piece.range.begin + symbols);
    symbols -= piece.range.size();
    result.pieces.push_back(piece);
  }
  return result;
}

std::vector<Baseline> text_baselines(const FieldStatistics& known, const Corpus& measured_corpus, const Split& measured,
                                     Symbol predict_after) {
  const double nats = constant_nats(known, text_statistics(measured_corpus, measured, predict_after));
  if (!std::isfinite(nats)) return {};
  return {{.name = "unigram", .measure = "nats_per_symbol", .value = nats}};
}

std::optional<Baseline> ngram_baseline(const Corpus& corpus, const Split& training, const Corpus& measured_corpus,
                                       const Split& measured, Symbol predict_after, Team& team) {
  const Split known = beginning_of(training, kBaselineTraining), seen = beginning_of(measured, kBaselineMeasured);
  const bool everything = predict_after == kNoSymbol && !corpus.has_mask() && !measured_corpus.has_mask();
  if (known.empty() || seen.empty() || !everything || corpus.alphabet().size() > kMostSymbols) return std::nullopt;
  const std::unique_ptr<FittedModel> fitted =
      make_fitted_model(fmt::format("ngram:{}", kBaselineOrder), corpus.alphabet());
  fitted->fit({.corpus = corpus, .training = known}, {}, team);
  const Evaluation found = evaluate(*fitted->predictor(), measured_corpus, seen);
  if (found.predicted == 0 || !std::isfinite(found.nats_per_symbol())) return std::nullopt;
  return Baseline{
      .name = fmt::format("{}-gram", kBaselineOrder), .measure = "nats_per_symbol", .value = found.nats_per_symbol()};
}

}  // namespace unfold
