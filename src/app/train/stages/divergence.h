#pragma once
/// Recognizes training runs that diverged although all numbers stayed finite, by a comparison with two references: the
/// best constant prediction (the frequencies of symbols and classes or the mean of numbers in the training part) and
/// the initial network.
///
/// A result is worse than a constant if its metric is higher: nats per prediction, or for numbers the squared error.
/// This is reported as a warning. A result has diverged if it is worse than both the constant and the initial network
/// by a wide margin: kDivergedNats nats for each predicted number or symbol, or kDivergedRatio times the squared error.
/// Training then ends with DivergedError after the model has been written; if it was limited to fewer than kFewestSteps
/// steps, or if all training entries of a number are equal, it is only reported. Both are measured on the validation
/// data or, without any, on the beginning of the training part.

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "app/common/reporter.h"
#include "app/fields/evaluation/field_metrics.h"
#include "app/settings/train_settings.h"
#include "model/selection/baselines.h"
#include "unfold/model/network/language_model.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

inline constexpr double kDivergedNats = 10, kDivergedRatio = 100;
inline constexpr Index kFewestSteps = 10;
/// Positions of the training part on which a result is measured if there is no validation data.
inline constexpr Index kMeasuredPositions = 4096;

/// A metric of a result; lower is better.
struct BaselineFigure {
  std::string name;      ///< "nats per symbol", "mean squared error of load"
  bool squared = false;  ///< a squared error; otherwise nats
  double result = 0;
  double constant = std::numeric_limits<double>::quiet_NaN();  ///< metric of the best constant prediction; NaN: not
                                                               ///< known
  Index size = 1;                                              ///< number of values in one prediction
  bool constant_target = false;                                ///< all training entries are equal
  bool better_choices = false;  ///< whether the most probable classes are correct more often than the most frequent one
};

/// Returns whether the result has clearly diverged, given the result `initial` of the initial network.
bool has_diverged(const BaselineFigure& figure, double initial);

/// Reports which metrics are worse than a constant. `initial`: returns the results of the initial network, in the order
/// of `figures`; called only when a metric is worse. Throws DivergedError.
void check_divergence(const std::vector<BaselineFigure>& figures, const std::function<std::vector<double>()>& initial,
                      const TrainSettings& settings, const std::string& run, Reporter& reporter);

/// Returns the result of `measure` while a model temporarily has different parameters.
template <class Model, class T>
auto with_parameters(Model& model, const Parameters<T>& other, const auto& measure) {
  const Parameters<T> own = model.parameters();
  std::ranges::copy(other.flat(), model.parameters().flat().begin());
  auto result = measure();
  std::ranges::copy(own.flat(), model.parameters().flat().begin());
  return result;
}

/// Compares the nats per symbol of a language model on a part of a text with the uniform distribution and with the
/// frequencies in the training part. `nats`: the nats per symbol of the model.
BaselineFigure text_figure(double nats, const Corpus& corpus, const Split& training, const Corpus& measured,
                           const Split& part, Symbol predict_after);
/// Returns the metrics of each head in `found`, measured on the examples `measured`.
template <class T>
std::vector<BaselineFigure> field_figures(const NetworkModel<T>& model, const FieldFigures& found,
                                          const ExampleSet& training, const ExampleSet& measured);
/// Returns the first examples, or the first positions of a single sequence.
ExampleSet beginning_of(const ExampleSet& examples, Index positions);

/// Returns the score of a task model on the first `count` validation examples of the task.
BaselineFigure task_figure(const TaskScore& score, const Task& task, std::uint64_t seed, Index count);

}  // namespace unfold
