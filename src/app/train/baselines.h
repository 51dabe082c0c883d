#pragma once
/// Compares the result of a training with two baselines: the best constant prediction (the frequencies of symbols and
/// classes, the mean of numbers, both of the training part) and the initial network.
///
/// A result is worse than a constant if its figure is higher: nats per prediction, or for numbers the squared error.
/// This is reported as a warning. A result has diverged if it is worse than the constant and than the initial network
/// by a wide margin: kDivergedNats nats for each predicted number or symbol, or kDivergedRatio times the squared error.
/// Then training ends with DivergedError after the model was written; a training that is limited to fewer than
/// kFewestSteps steps is only reported. Both are measured on the validation data or, without any, on the beginning of
/// the training part.

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "app/common/reporter.h"
#include "app/fields/field_metrics.h"
#include "app/settings/train_settings.h"
#include "model/network/language_model.h"
#include "model/network/network_model.h"

namespace unfold {

inline constexpr double kDivergedNats = 10, kDivergedRatio = 100;
inline constexpr Index kFewestSteps = 10;
/// Positions of the training part that a result is measured on where there is no validation.
inline constexpr Index kMeasuredPositions = 4096;

/// A figure of a result, the lower the better.
struct BaselineFigure {
  std::string name;      ///< "nats per symbol", "mean squared error of load"
  bool squared = false;  ///< a squared error; otherwise nats
  double result = 0;
  double constant = std::numeric_limits<double>::quiet_NaN();  ///< of the best constant prediction; NaN: not known
  Index size = 1;                                              ///< numbers that one prediction is of
  bool better_choices = false;  ///< the most probable classes are right more often than the most frequent one
};

/// Whether the result has clearly diverged, where the initial network has `initial`.
bool has_diverged(const BaselineFigure& figure, double initial);

/// Says which figures are worse than a constant. `initial`: returns the results of the initial network, in the order of
/// `figures`; called only when one of them is worse. Throws DivergedError.
void compare_with_baselines(const std::vector<BaselineFigure>& figures,
                            const std::function<std::vector<double>()>& initial, const TrainSettings& settings,
                            const std::string& run, Reporter& reporter);

/// The nats per symbol of a language model on a part of a text, beside the uniform distribution and the frequencies in
/// the training part. `nats`: of the model.
BaselineFigure text_figure(double nats, const Corpus& corpus, const Split& training, const Corpus& measured,
                           const Split& part, Symbol predict_after);
/// The first symbols of a part.
Split beginning_of(const Split& part, Index symbols);

/// What `found` says of each head on the examples `measured`.
template <class T>
std::vector<BaselineFigure> field_figures(const NetworkModel<T>& model, const FieldFigures& found,
                                          const ExampleSet& training, const ExampleSet& measured);
/// The first examples, or the first positions of a single sequence.
ExampleSet beginning_of(const ExampleSet& examples, Index positions);

/// Returns the score of a model of a task on the first `count` validation examples of the task.
BaselineFigure task_figure(const TaskScore& score, const Task& task, std::uint64_t seed, Index count);

}  // namespace unfold
