#pragma once
/// Baselines: the quality of simple predictions, in the metric of the model with which they are compared.
///
///   const FieldStatistics known = field_statistics(training, "label");          // stored in the card of the model
///   std::vector<Baseline> of = field_baselines(known, validation, "label", 0);
///   if (!is_better(accuracy, of.front())) ...
///
/// | data | baseline | measure |
/// | classes, one per example or per position | majority class of the training data | accuracy |
/// | classes per position of a chain | previous label; for the first one the majority class | accuracy |
/// | events predicted from earlier ones | bigram, trigram (SymbolNgrams) | nats_per_position |
/// | numbers | mean of the training data | mean_squared_error, in units of the data |
/// | numbers per position of a chain | persistence: the last observed value | mean_squared_error |
/// | symbols of a text | unigram, and n-gram of order kBaselineOrder | nats_per_symbol |
///
/// All baselines are measured on the same entries as the model. NaN values are ignored. The n-gram is fitted to the
/// training text. The other baselines need only the statistics of the training data, which the model file contains.
///
/// The best constant prediction in nats (`constant_nats`) also shows whether a training run has diverged.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "unfold/base/threads/team.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/data/text/corpus.h"
#include "unfold/data/text/split.h"
#include "unfold/model/model.h"

namespace unfold {

struct Baseline {
  std::string name;     ///< "majority class", "previous label", "mean", "persistence", "bigram", ...
  std::string measure;  ///< "accuracy", "mean_squared_error", "nats_per_symbol", "nats_per_position"
  double value = 0;
};

/// Returns whether a result in the metric of a baseline is better than the baseline.
bool is_better(double result, const Baseline& baseline);

/// A baseline and the result of the model in the same measure, on the same data.
struct ComparedBaseline {
  std::string of;  ///< the field; empty for text
  Baseline baseline = {};
  double result = 0;
};

/// The statistics of the training data that constant predictions of a field require.
struct FieldStatistics {
  std::vector<Index> counts = {};                  ///< count of each symbol
  std::vector<double> means = {}, variances = {};  ///< mean and variance of each number, standardized
  bool bits = false;                               ///< all numbers are 0 or 1
};
FieldStatistics field_statistics(const ExampleSet& training, const std::string& field);
/// Returns the statistics of the symbols of a part that a model predicts; at most the first 10^7 of them.
FieldStatistics text_statistics(const Corpus& corpus, const Split& part, Symbol predict_after);

/// Key of the model card: {FIELD: {"counts": [...]} or {"means": [...], "variances": [...], "bits": bool}}. A text has
/// the field kSymbol.
inline constexpr const char* kStatisticsKey = "statistics";
/// For more than 100,000 symbols, the result is null.
nlohmann::json to_json(const FieldStatistics& statistics);
/// Returns the statistics of a field in the card of a model; std::nullopt if there are none. Throws ModelError.
std::optional<FieldStatistics> stored_statistics(const Model& model, const std::string& field);

/// `ahead`: distance in positions to the last known value of a number; 0 for fields that are not read.
std::vector<Baseline> field_baselines(const FieldStatistics& known, const ExampleSet& measured,
                                      const std::string& field, Index ahead);

/// Returns the losses of a bigram and a trigram model of symbols, one per position, that are fitted to the training
/// set. `back`: distance in positions to the last known symbol. Empty if no symbol is measured.
std::vector<Baseline> event_baselines(const ExampleSet& training, const ExampleSet& measured, const std::string& field,
                                      Index back);

/// Returns the loss in nats of the best constant prediction: the frequencies of symbols and bits, each with 1/2 added,
/// or a Gaussian for each number, in standardized units. NaN if there is nothing to predict.
double constant_nats(const FieldStatistics& known, const FieldColumn& measured, const FieldSpecification& field);
/// Returns the same loss for the symbols of a text, or of other data, with these counts.
double constant_nats(const FieldStatistics& known, const FieldStatistics& measured);

inline constexpr Index kBaselineOrder = 5;
/// Maximum number of symbols of the training part that the n-gram reads, and of symbols on which it is measured.
inline constexpr Index kBaselineTraining = 1'000'000, kBaselineMeasured = 1'000'000;

/// Returns the unigram baseline.
std::vector<Baseline> text_baselines(const FieldStatistics& known, const Corpus& measured_corpus, const Split& measured,
                                     Symbol predict_after);
/// Returns the n-gram baseline; std::nullopt if only some symbols are predicted (`predict_after`, masks), or for texts
/// of more than 10^5 different symbols.
std::optional<Baseline> ngram_baseline(const Corpus& corpus, const Split& training, const Corpus& measured_corpus,
                                       const Split& measured, Symbol predict_after, Team& team);

/// Returns the first symbols of a part.
Split beginning_of(const Split& part, Index symbols);

}  // namespace unfold
