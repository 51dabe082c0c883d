#pragma once
/// Training of one network on the parts of data with fields: selects the model if none is given, builds it, fits it by
/// the method for its kind, compares it with baselines, and fits it again to all data (--refit).
///
///   FieldsTraining<float> training(context, examples, plan, parts, {});
///   training.choose_model();
///   training.train();
///   TrainOutcome outcome = training.finish(&test);

#include <array>
#include <optional>
#include <string>

#include "app/fields/field_plan.h"
#include "app/settings/train_settings.h"
#include "app/train/training_context.h"
#include "model/density/mixture_fit.h"
#include "model/network/fitting/hmm_fit.h"
#include "unfold/base/threads/team.h"
#include "unfold/base/views.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_model.h"
#include "unfold/train/sources/example_sources.h"

namespace unfold {

/// The choices that are still to be made from the data.
struct ModelChoices {
  bool selects_series = false;   ///< a model for labeled series is selected
  bool chooses_density = false;  ///< a density model for a table is selected
};

/// Rate at which rare symbols are replaced with the unknown symbol (ExampleBatchOptions).
inline constexpr double kUnknownRate = 0.25;

/// Returns the training, validation and test part of examples. The specification of the data comes from the training
/// part; with --valid it is all of the data.
std::array<ExampleSet, 3> split_examples(const Examples& examples, const FieldChoice& choice, Problem problem,
                                         const TrainSettings& settings);

template <class T>
class FieldsTraining {
 public:
  /// Keeps references to all arguments except the last one.
  FieldsTraining(TrainingContext& context, const Examples& examples, FieldPlan& plan,
                 const std::array<ExampleSet, 3>& parts, ModelChoices choices);

  /// Makes these choices and stores them in the settings like given options.
  void choose_model();
  /// Trains or fits the model, writes it, and measures it on the validation part. Throws UsageError before anything is
  /// written, InterruptedError, DivergedError. REQUIRES choose_model().
  void train();
  /// Fits the model again to all data if --refit requires it, and measures it on `test`; nullptr: there is no test
  /// data.
  TrainOutcome finish(const ExampleSet* test);

 private:
  void choose_density();
  std::optional<HmmFit> fit_states_of(const ExampleSet& training);
  std::optional<MixtureFit> fit_mixture_of(const ExampleSet& training);
  bool list_features();
  ExampleBatchOptions batch_options(bool lists_features) const;
  void check(const NetworkModel<T>& model) const;
  void describe(NetworkModel<T>& model) const;
  void report_start(const NetworkModel<T>& model) const;
  std::string initialize(NetworkModel<T>& model, const ExampleSet& training, bool begins);
  TrainingResult fit(NetworkModel<T>& model, TrainOutcome& outcome);
  TrainingResult fit_by_ridge(NetworkModel<T>& model, const ExampleSet& training);
  TrainingResult train_by_gradients(NetworkModel<T>& model, const ExampleSet& training, const ExampleSet& validation,
                                    TrainOptions options);
  void add_baselines(TrainOutcome& outcome) const;
  void add_event_baselines(TrainOutcome& outcome) const;
  void measure_without_columns(NetworkModel<T>& model);
  void check_result(NetworkModel<T>& model, const Parameters<T>& initial, const std::optional<FieldFigures>& validated);
  void refit(NetworkModel<T>& model, TrainOutcome& outcome);
  std::string fit_again(NetworkModel<T>& model, const ExampleSet& all, Index best_step);

  bool is_fitted() const { return states_ || mixture_; }
  const TrainSettings& settings() const { return context_.settings(); }
  std::uint64_t seed() const { return static_cast<std::uint64_t>(settings().seed); }

  TrainingContext& context_;
  const Examples& examples_;
  FieldPlan& plan_;
  const std::array<ExampleSet, 3>& parts_;
  ModelChoices choices_;
  Team team_;
  ExampleBatchOptions batches_ = {};
  TrainOptions options_ = {};
  std::optional<HmmFit> states_;
  std::optional<MixtureFit> mixture_;
  bool starts_from_regression_ = false;
  std::vector<Buffer<T>> left_out_ = {};  ///< predictions of a selected network by cross-validation
  std::optional<NetworkModel<T>> model_;
  TrainOutcome outcome_ = {};
};

}  // namespace unfold
