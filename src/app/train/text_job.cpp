#include "app/train/text_job.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include "app/logs/log_data.h"
#include "app/settings/text_defaults.h"
#include "app/train/fitted_training.h"
#include "app/train/network_training.h"
#include "data/readers/memory_data.h"
#include "unfold/base/error.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

bool is_available(const std::string& model) {
  std::error_code ignored;
  return MemoryFiles::find(model) != nullptr || std::filesystem::exists(model, ignored);
}

}  // namespace

void TextJob::settle() {
  TrainSettings& s = context_.settings();
  // A resumed run replaces the parameters of the initial model, but has its alphabet.
  if (s.copy_matching_parameters && (context_.begins() || is_available(*s.copy_matching_parameters)))
    initial_ = std::make_unique<InitialModel>(*s.copy_matching_parameters, s, context_.given());
  default_budget_ = !context_.continues() && !s.epochs && !s.steps && !s.minutes && kind_of(s) == Kind::text;
}

std::set<std::string_view> TextJob::open_settings() const {
  std::set<std::string_view> open;
  if (uses_default_model(context_.settings(), context_.given()))
    for (const std::string_view name :
         {name_of(&TrainSettings::model), name_of(&TrainSettings::optimizer), name_of(&TrainSettings::batch)})
      if (!context_.given().contains(name)) open.insert(name);
  if (default_budget_)
    for (const std::string_view name : {name_of(&TrainSettings::model), name_of(&TrainSettings::optimizer),
                                        name_of(&TrainSettings::batch), name_of(&TrainSettings::epochs),
                                        name_of(&TrainSettings::validate_every), name_of(&TrainSettings::early_stop)})
      if (!context_.given().contains(name)) open.insert(name);
  return open;
}

TrainOutcome TextJob::run() {
  TrainSettings& s = context_.settings();
  std::optional<LogTraining> log;
  if (s.format == kLogFormat) log.emplace(s);
  const bool limited = context_.run().memory_limit.has_value() && is_counted_model(s.model);
  const Material material = load_training_corpora(s, log ? &*log : nullptr, initial_.get(), limited,
                                                  context_.reporter(), context_.processes());
  if (s.model == "crf" || s.model.starts_with("crf:"))
    throw UsageError("model crf labels the positions of data with fields, such as columns; use ngram for running text");
  const LogTraining* const used = log ? &*log : nullptr;
  if (is_fitted_model(s.model)) return FittedTraining(context_, material, used).run();
  choose_defaults(material);
  return NetworkTraining(context_, material, used, initial_.get()).run();
}

/// Chooses the model and the budget according to the size of the text if they were not given.
void TextJob::choose_defaults(const Material& material) {
  TrainSettings& s = context_.settings();
  const Index symbols = material.training.symbols();
  if (default_budget_ && is_small_text(s, symbols))
    context_.reporter().remark(set_small_text_defaults(s, context_.given(), symbols));
  if (!context_.continues() && uses_default_model(s, context_.given()))
    context_.reporter().note_if(choose_default_model(s, context_.given(), symbols));
}

}  // namespace unfold
