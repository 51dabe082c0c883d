#pragma once
/// Training on data with fields: reads the examples, derives the plan and the settings from them, and splits them.

#include <array>
#include <set>
#include <string>
#include <string_view>

#include "app/fields/field_plan.h"
#include "app/train/training_job.h"
#include "unfold/data/examples/example_set.h"

namespace unfold {

class FieldsJob final : public TrainingJob {
 public:
  explicit FieldsJob(TrainingContext& context) : context_(context) {}
  void settle() override;
  std::set<std::string_view> open_settings() const override;
  TrainOutcome run() override;

 private:
  Examples read_further(const std::string& file, const DataSpecification& data, bool weighted) const;
  template <class T>
  void choose_forecast_model();
  void read_words_by_default(const Given& known);
  void read_fields_of(const std::vector<std::string>& reads);
  template <class T>
  TrainOutcome train(const std::array<ExampleSet, 3>& parts);

  TrainingContext& context_;
  Examples examples_ = {};
  FieldPlan plan_ = {};
  bool selects_series_ = false;    // whether a model for labeled series is selected
  bool selects_forecast_ = false;  // whether a model for numeric series is selected
  bool selects_reads_ = false;     // whether the columns that predict events are selected
  bool chooses_density_ = false;   // whether a density model for a table is selected by cross-validation
};

}  // namespace unfold
