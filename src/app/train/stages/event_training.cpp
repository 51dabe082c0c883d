#include "app/train/stages/event_training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/fields/defaults/event_defaults.h"
#include "app/train/stages/forecast_training.h"
#include "model/network/initialization/bigram_init.h"
#include "unfold/train/sources/example_sources.h"

namespace unfold {
namespace {

/// Returns the reads of earlier events.
std::vector<std::string> own_reads(const NetworkLayout& layout) {
  std::vector<std::string> own;
  for (const std::string& read : layout.reads) {
    const FieldRead parsed = parse_read(read);
    const bool is_head =
        std::ranges::any_of(layout.heads, [&](const auto& head) { return head.field == parsed.field; });
    if (parsed.back > 0 && is_head) own.push_back(read);
  }
  return own;
}

/// Returns the best validation loss in nats per event.
template <class T>
double validation_nats(const std::vector<std::string>& reads, const std::array<ExampleSet, 3>& parts,
                       const FieldPlan& plan, const TrainSettings& s, double unknown_rate, Team& team,
                       Reporter& reporter) {
  const auto seed = static_cast<std::uint64_t>(s.seed);
  NetworkModel<T> model(s.model, parts[0].data(), {.reads = reads, .heads = plan.layout.heads});
  model.initialize(seed);
  initialize_from_bigrams(model, parts[0]);
  TrainerOptions trainer;
  trainer.optimizer = s.optimizer;
  trainer.epochs = *s.epochs;
  trainer.seed = seed;
  trainer.stop = reporter.stop();
  trainer.validate_every = s.validate_every;
  trainer.patience = s.early_stop;
  const ExampleBatchOptions batches{.reads = reads,
                                    .predicts = plan.choice.predicts,
                                    .batch = s.batch,
                                    .window = s.whole_sequences ? 0 : s.window,
                                    .unknown_rate = unknown_rate};
  return train(model, example_sources<T>(parts[0], parts[1], batches, seed), trainer, "", team).best_nats_per_symbol;
}

/// Notes the fields of the predicted event itself that the model reads, which are unknown in a forecast.
void note_known_fields(const std::vector<std::string>& own, const std::vector<std::string>& all, Reporter& reporter) {
  std::vector<std::string> known;
  for (const std::string& read : all)
    if (parse_read(read).back == 0) known.push_back(read);
  if (known.empty()) return;
  const bool one = known.size() == 1;
  reporter.remark(fmt::format(
      "{} of each event {} read to predict it. predict --ahead does not know {} and assumes the median gap between "
      "events, so a model trained with --read {} may predict the next event better",
      fmt::join(known, " and "), one ? "is" : "are", one ? "it" : "them", fields_of_reads(own)));
}

}  // namespace

std::string fields_of_reads(const std::vector<std::string>& reads) {
  std::string fields;
  for (const std::string& read : reads) {
    if (!fields.empty()) fields += ',';
    fields += parse_read(read).field;
  }
  return fields;
}

bool selects_event_reads(const FieldPlan& plan, const Examples& examples, const Given& given, const TrainSettings& s) {
  return predicts_events(plan, examples) && !given.contains(&TrainSettings::read) && trains_by_default(given, s) &&
         own_reads(plan.layout).size() < plan.layout.reads.size();
}

template <class T>
std::vector<std::string> select_event_reads(const std::array<ExampleSet, 3>& parts, const FieldPlan& plan,
                                            const TrainSettings& s, double unknown_rate, Team& team,
                                            Reporter& reporter) {
  const std::vector<std::string> own = own_reads(plan.layout), &all = plan.layout.reads;
  if (parts[1].count() == 0 || own.empty()) return all;
  const double by_events = validation_nats<T>(own, parts, plan, s, unknown_rate, team, reporter);
  const double by_all = validation_nats<T>(all, parts, plan, s, unknown_rate, team, reporter);
  constexpr double kLeastGain = 0.02;  // of the nats; smaller gains are mostly chance
  const std::vector<std::string>& chosen = by_all < (1 - kLeastGain) * by_events ? all : own;
  reporter.remark(fmt::format("validation: {:.4f} nats from {}, {:.4f} nats from {}; reading {} (--read overrides it)",
                              by_events, fields_of_reads(own), by_all, fields_of_reads(all), fields_of_reads(chosen)));
  if (&chosen == &all) note_known_fields(own, all, reporter);
  return chosen;
}

template std::vector<std::string> select_event_reads<float>(const std::array<ExampleSet, 3>&, const FieldPlan&,
                                                            const TrainSettings&, double, Team&, Reporter&);
template std::vector<std::string> select_event_reads<double>(const std::array<ExampleSet, 3>&, const FieldPlan&,
                                                             const TrainSettings&, double, Team&, Reporter&);

}  // namespace unfold
