#pragma once
/// Training of models that predict once per series by a fitted readout: random kernels and echo state networks
/// (model/series/pooled_readout.h).

#include <string>
#include <vector>

#include "app/common/reporter.h"
#include "app/fields/evaluation/field_metrics.h"
#include "app/fields/field_plan.h"
#include "model/network/fitting/readout.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_model.h"
#include "unfold/train/trainer.h"

namespace unfold {

/// Sets the typical length in the SPEC of random kernels from the training examples; other SPECs are unchanged.
std::string with_training_length(const std::string& spec, const ExampleSet& training);

/// The model of labeled series that is used until a model is selected.
inline constexpr const char* kLabeledSeriesModel = "kernels:10000";
/// Returns whether the model of labeled series is to be selected: numbers are read, there is one prediction per series,
/// and neither the model nor options of gradient training were given.
bool selects_series_model(const FieldPlan& plan, const Examples& examples, const Given& given,
                          const TrainSettings& settings);
/// Sets the defaults of models with a fitted readout per series: if a split would hold out few examples, nothing is
/// held out, because the readout is cross-validated example by example. Does nothing for other models.
void set_series_defaults(const FieldPlan& plan, const Examples& examples, TrainSettings& settings);
template <class T>
struct SelectedSeriesModel {
  std::string model;                    ///< SPEC
  std::vector<Buffer<T>> outputs = {};  ///< outputs of a network trained by gradients: see SeriesSelection
};
/// Selects the model and reports the candidates. A network is trained according to the settings.
template <class T>
SelectedSeriesModel<T> select_series_model(const ExampleSet& training, const NetworkLayout& layout,
                                           const TrainSettings& settings, Team& team, Reporter& reporter);

/// Returns the metrics of predictions by cross-validation. `outputs`: for each head, one row per example.
template <class T>
FieldFigures left_out_figures(const NetworkModel<T>& model, const ExampleSet& training,
                              const std::vector<Buffer<T>>& outputs, Team& team);

struct SeriesFit {
  TrainingResult result = {};
  FieldFigures left_out = {};  ///< metrics of each example, predicted from all others
};

/// Selects the thresholds of random kernels, fits the readout, reports the result and adds it to the history of the
/// model. Does not write the model. REQUIRES predicts_once(model).
template <class T>
SeriesFit fit_series(NetworkModel<T>& model, const ExampleSet& training, const ReadoutOptions& options,
                     std::uint64_t seed, Team& team, Reporter& reporter);

}  // namespace unfold
