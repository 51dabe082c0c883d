#include "app/fields/defaults/event_defaults.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "app/settings/defaults.h"
#include "app/settings/evaluation_split.h"
#include "data/schema/table_schema.h"

namespace unfold {
namespace {

/// Events are read directly (`direct=1`), in addition to the layers, unless the table of bigrams would be large.
constexpr const char* kEventModel = "gru:64,reset=after,dropout=0.3,embedding=32,direct=1";
constexpr const char* kSmallEventModel = "gru:32,reset=after,dropout=0.5,embedding=16,direct=1";
constexpr const char* kManyEventsModel = "gru:64,reset=after,dropout=0.3,embedding=32";
constexpr const char* kEventOptimizer = "adamw:rate=0.006,clip=1,decay=0.05,schedule=cosine,warmup=100";
constexpr double kEventEpochs = 20;
constexpr std::size_t kMostDirect = 2000;

bool has_more_symbols(const ExampleColumn& column, std::size_t limit) {
  std::set<std::string_view> distinct;
  for (const std::string_view text : column.texts)
    if (distinct.insert(text).second && distinct.size() > limit) return true;
  return false;
}

/// Returns the approximate number of updates in an epoch, if sequences are divided into windows.
double updates_per_epoch(const Examples& examples, Index batch, Index window) {
  const auto count = static_cast<double>(std::max<Index>(1, examples.count()));
  const double length = static_cast<double>(examples.positions()) / count;
  return std::ceil(count / static_cast<double>(batch)) * std::max(1.0, std::ceil(length / static_cast<double>(window)));
}

}  // namespace

bool predicts_events(const FieldPlan& plan, const Examples& examples) {
  if (plan.problem != Problem::forecasting || !plan.layout.feedback.empty()) return false;
  return std::ranges::all_of(plan.layout.heads, [&](const HeadSpecification& head) {
    const ExampleColumn& column = examples.column(head.field);
    const ColumnSchema* text = examples.schema != nullptr ? examples.schema->text() : nullptr;
    const bool is_running_text = column.characters || (text != nullptr && text->name == head.field);
    return column.is_text() && !column.once && !is_running_text && (head.loss.empty() || head.loss == "softmax");
  });
}

void set_event_defaults(const FieldPlan& plan, const Examples& examples, const Given& given, TrainSettings& s) {
  const auto settle = [&](auto member, auto value) {
    if (!given.contains(member)) s.*member = value;
  };
  const bool budget = s.epochs || s.steps || s.minutes;
  settle(&TrainSettings::batch, kDefaultBatch);
  const bool small =
      kEventEpochs * updates_per_epoch(examples, s.batch, s.window) < static_cast<double>(kFewestUpdates);
  const bool many = std::ranges::any_of(plan.layout.heads, [&](const HeadSpecification& head) {
    return has_more_symbols(examples.column(head.field), kMostDirect);
  });
  settle(&TrainSettings::model, many ? kManyEventsModel : small ? kSmallEventModel : kEventModel);
  settle(&TrainSettings::optimizer, kEventOptimizer);
  if (budget) return;
  constexpr Index kBatches = 16;
  if (small) settle(&TrainSettings::batch, std::clamp(examples.count() / kBatches, kSmallestBatch, kDefaultBatch));
  const double updates = updates_per_epoch(examples, s.batch, s.window);
  s.epochs = std::max(kEventEpochs, std::ceil(static_cast<double>(kFewestUpdates) / updates));
  if (!validates(s)) return;
  const auto interval = static_cast<Index>(*s.epochs * updates / static_cast<double>(kSmallDataValidations));
  settle(&TrainSettings::validate_every, std::max<Index>(1, interval));
  settle(&TrainSettings::early_stop, kSmallDataPatience);
}

}  // namespace unfold
