#pragma once
/// Baselines: the quality of simple predictions, in the metric of the model that they are compared with.
///
///   std::vector<Baseline> of = field_baselines(training, validation, "label", 0);
///   if (!is_better(accuracy, of.front())) ...
///
/// | data | baseline | measure |
/// | classes, one per example or per position | majority class of the training data | accuracy |
/// | classes per position of a chain | previous label: the label before, for the first the majority | accuracy |
/// | numbers | mean of the training data | mean_squared_error, in units of the data |
/// | numbers per position of a chain | persistence: the last observed value | mean_squared_error |
/// | symbols of a text | unigram, and n-gram of order kBaselineOrder | nats_per_symbol |
///
/// All are measured on the same entries as the model. Values of NaN are left out.

#include <string>
#include <vector>

#include "unfold/base/threads/team.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/data/text/corpus.h"
#include "unfold/data/text/split.h"

namespace unfold {

struct Baseline {
  std::string name;     ///< "majority class", "previous label", "mean", "persistence", "unigram", "5-gram"
  std::string measure;  ///< "accuracy", "mean_squared_error", "nats_per_symbol"
  double value = 0;
};

/// Returns whether a result in the metric of a baseline is better than the baseline.
bool is_better(double result, const Baseline& baseline);

/// `ahead`: distance in positions to the last known value of a number; 0 for fields that are not read.
std::vector<Baseline> field_baselines(const ExampleSet& training, const ExampleSet& measured, const std::string& field,
                                      Index ahead);

inline constexpr Index kBaselineOrder = 5;
/// Symbols of the training part that the n-gram reads at most, and symbols that it is measured on at most.
inline constexpr Index kBaselineTraining = 1'000'000, kBaselineMeasured = 100'000;

/// Baselines of a language model; none if only some symbols are predicted (`predict_after`, masks). The n-gram is left
/// out for texts of more than 10^5 different symbols.
std::vector<Baseline> text_baselines(const Corpus& corpus, const Split& training, const Corpus& measured_corpus,
                                     const Split& measured, Symbol predict_after, Team& team);

}  // namespace unfold
