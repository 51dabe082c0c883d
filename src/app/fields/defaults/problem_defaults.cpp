#include "app/fields/defaults/problem_defaults.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>
#include "app/fields/defaults/event_defaults.h"
#include "app/fields/defaults/grid_defaults.h"
#include "app/fields/density_data.h"
#include "app/fields/field_plan.h"
#include "app/fields/field_reading.h"
#include "app/fields/predicted_list.h"
#include "app/fields/template_data.h"
#include "app/schema/field_checks.h"
#include "app/schema/table_fields.h"
#include "app/settings/evaluation_split.h"
#include "base/options/suggestions.h"
#include "base/printable.h"
#include "data/examples/templates.h"
#include "data/readers/memory_data.h"
#include "data/readers/open_data.h"
#include "data/schema/describe_schema.h"
#include "data/schema/inference/infer_schema.h"
#include "model/decoding/label_decoder.h"
#include "model/decoding/objective.h"
#include "model/network/density_model.h"
#include "model/network/fitting/hmm_fit.h"
#include "model/network/fitting/readout.h"
#include "model/network/length_model.h"
#include "model/network/linear.h"
#include "unfold/base/error.h"
#include "unfold/optim/optimizer.h"

namespace unfold {
namespace {

/// Optimizers that compare losses must see the same examples at every step: all of them, up to this number.
constexpr Index kWholeSet = 2048;
/// Maximum number of positions per step for an optimizer that compares losses: about a gigabyte for every 10^6 with 20
/// units.
constexpr Index kMostWholePositions = 2'000'000;

/// Maximum number of steps of optimizers that detect convergence.
constexpr double kUntilConverged = 1000;

/// Returns whether the network reads fields that are derived in this way (data/examples/derived.h).
bool reads_derived(const FieldPlan& plan, std::string_view how) {
  const std::string ending = fmt::format(".{}", how);
  return std::ranges::any_of(plan.layout.reads,
                             [&](const std::string& read) { return read.find(ending) != std::string::npos; });
}

/// Returns whether the network reads word n-grams, that is, text with an open vocabulary.
bool reads_runs(const FieldPlan& plan) { return reads_derived(plan, "run"); }

/// The default model for texts with other predictions than one label, for which no logistic regression is fitted.
constexpr const char* kTextNumberModel = "bag:256,dropout=0.5,pool=mean";

/// Returns the default model for one prediction per text: it starts from logistic regression if the prediction is one
/// label.
const char* default_text_model(const FieldPlan& plan, const Examples& examples) {
  const std::vector<HeadSpecification>& heads = plan.layout.heads;
  const bool one_label = heads.size() == 1 && examples.column(heads.front().field).is_text();
  return one_label ? kTextLabelModel : kTextNumberModel;
}

std::string text_label_optimizer(const Examples& examples, const TrainSettings& s) {
  if (!s.epochs) return kTextLabelOptimizer;
  const double steps = *s.epochs * static_cast<double>(examples.count()) / static_cast<double>(s.batch);
  const double rate = std::clamp(kTextLabelTravel / std::max(1.0, steps), kTextLabelRate, kMostTextLabelRate);
  return rate == kTextLabelRate ? kTextLabelOptimizer : fmt::format(kShortTextLabelOptimizer, rate);
}

/// Returns the number of epochs, more for small sets than for large ones, after which a network typically overfits.
double epochs_for(const Examples& examples, double to_read, double fewest = 5, double most = 15) {
  return std::clamp(std::round(to_read / static_cast<double>(std::max<Index>(1, examples.count()))), fewest, most);
}

/// Small sets are trained for a fixed number of updates in small batches, because a few epochs contain only few
/// updates. Training ends early if validation has not improved for a third of the updates. REQUIRES a default budget.
void settle_small_set(const FieldPlan& plan, const Examples& examples, const Given& given, TrainSettings& s) {
  constexpr Index kBatches = 16;
  if (plan.problem != Problem::classifying && plan.problem != Problem::tagging) return;
  if (readout_of(parse_model_spec(s.model))) return;
  const Index count = std::max<Index>(1, examples.count());
  if (static_cast<double>(count) * *s.epochs >= static_cast<double>(kFewestUpdates * s.batch)) return;
  if (!given.contains(&TrainSettings::batch))
    s.batch = std::clamp(count / kBatches, kSmallestBatch, std::max(s.batch, kSmallestBatch));
  s.epochs = std::max(*s.epochs, std::ceil(static_cast<double>(kFewestUpdates * s.batch) / static_cast<double>(count)));
  if (!validates(s)) return;
  if (!given.contains(&TrainSettings::validate_every)) s.validate_every = kFewestUpdates / kSmallDataValidations;
  if (!given.contains(&TrainSettings::early_stop)) s.early_stop = kSmallDataPatience;
}

bool is_of_bits(const HeadSpecification& head) { return head.loss == "bernoulli"; }

/// Maximum number of labels for which a CRF costs little compared with the network.
constexpr std::size_t kFewLabels = 100;
bool has_few_labels(const ExampleColumn& column) {
  std::set<std::string_view> distinct;
  for (const std::string_view text : column.texts)
    if (distinct.insert(text).second && distinct.size() > kFewLabels) return false;
  return column.is_text();
}

/// Returns whether the metric of the optimizer requires independent rows.
bool wants_rows(const std::string& optimizer) {
  return std::ranges::any_of(std::array{"ruop", "rbpm", "ascent"},
                             [&](const char* name) { return optimizer.starts_with(name); });
}

/// By default, a network that reads whole sequences predicts all labels jointly (CRF).
void settle_label_loss(FieldPlan& plan, const Examples& examples, TrainSettings& s) {
  if (plan.problem == Problem::transducing) return;
  const ModelSpec model = parse_model_spec(s.model);
  if ((!model.both_directions && !is_linear(model)) || wants_rows(s.optimizer)) return;
  std::vector<std::string> all = split_predicted(*s.predict, column_names(examples));
  for (std::size_t h = 0; h < plan.layout.heads.size(); ++h) {
    HeadSpecification& head = plan.layout.heads[h];
    if (!head.loss.empty() || plan.choice.once.contains(head.field)) continue;
    if (!has_few_labels(examples.column(head.field))) continue;
    head.loss = "crf";
    all[h] += "=crf";
  }
  s.predict = fmt::format("{}", fmt::join(all, ","));
}

/// Returns whether only a target is predicted, symbol by symbol, and no numbers, unaligned labels or stops.
bool finds_by_symbols(const FieldPlan& plan) {
  const std::string& loss = plan.layout.heads.front().loss;
  return plan.layout.heads.size() == 1 && (loss.empty() || loss == "softmax");
}

/// Returns a tree-lstm with separate weights for each child or, if there are many children, one that sums over them.
std::string default_tree_model(const Examples& examples, bool open_vocabulary) {
  constexpr Index kToldApart = 4;
  Index most = 2;
  std::vector<Index> counts(at(examples.positions()));
  for (Index e = 0; e < examples.count(); ++e)
    for (Index p = examples.begin(e); p < examples.end(e); ++p)
      if (const Index parent = examples.parents[at(p)]; parent >= 0)
        most = std::max(most, ++counts[at(examples.begin(e) + parent)]);
  return fmt::format("{}:{}{}", most > kToldApart ? "child-sum-lstm" : "tree-lstm",
                     open_vocabulary ? "250,embedding=250,dropout=0.6" : "100,dropout=0.1",
                     most > 2 && most <= kToldApart ? fmt::format(",children={}", most) : "");
}

/// With labels at all nodes, few trees provide much information; dropout limits memorization.
void settle_for_trees(const FieldPlan& plan, const Examples& examples, const Given& given, TrainSettings& s) {
  constexpr double kTrees = 70'000, kFewest = 8, kMost = 40;
  const auto settle = [&](auto member, auto value) {
    if (!given.contains(member)) s.*member = value;
  };
  const bool open = reads_derived(plan, "suffix");
  settle(&TrainSettings::model, default_tree_model(examples, open));
  settle(&TrainSettings::optimizer, "adam:rate=0.002,clip=1,schedule=cosine,warmup=100");
  settle(&TrainSettings::batch, Index{25});
  if (open) settle(&TrainSettings::word_dropout, 0.2);
  if (!s.epochs && !s.steps && !s.minutes)
    s.epochs = std::clamp(std::round(kTrees / static_cast<double>(examples.count())), kFewest, kMost);
  if (given.contains(&TrainSettings::window)) throw UsageError("trees are read as a whole: leave out --window");
  if (!given.contains(&TrainSettings::whole_sequences)) s.whole_sequences = true;
}

}  // namespace

void set_problem_defaults(FieldPlan& plan, const Examples& examples, const Given& given, TrainSettings& s) {
  if (examples.are_trees()) return settle_for_trees(plan, examples, given, s);
  if (examples.are_grids()) return set_grid_defaults(plan.problem, examples, given, s);
  if (names_density(s.model)) return set_density_defaults(examples, given, s);
  const auto settle = [&](auto member, auto value) {
    if (!given.contains(member)) s.*member = value;
  };
  if (is_of_crf(s.model)) settle(&TrainSettings::optimizer, "lbfgs:l2=2");
  const bool everything = needs_full_batch(canonical_optimizer(s.optimizer));
  if (everything && !s.epochs && !s.steps && !s.minutes) s.epochs = kUntilConverged;
  const bool budget = s.epochs || s.steps || s.minutes;
  const bool of_bits = std::ranges::all_of(plan.layout.heads, is_of_bits);
  const bool reads_own_labels =
      !plan.layout.feedback.empty() || !label_reads(plan.layout.reads, plan.choice.predicts).empty();
  switch (plan.problem) {
    case Problem::tagging:
      settle(&TrainSettings::model, reads_own_labels ? kFeedbackModel : kTaggingModel);
      if (!is_of_crf(s.model)) settle(&TrainSettings::optimizer, kTaggingOptimizer);
      if (!is_of_crf(s.model) && reads_derived(plan, "suffix")) settle(&TrainSettings::word_dropout, 0.1);
      if (!budget) s.epochs = kTaggingEpochs;
      settle_label_loss(plan, examples, s);
      break;
    case Problem::classifying:
      if (reads_runs(plan)) {  // the order of words matters little; their frequencies matter
        settle(&TrainSettings::model, default_text_model(plan, examples));
        settle(&TrainSettings::batch, kTextLabelBatch);
        if (!budget) s.epochs = epochs_for(examples, 80'000);
        settle(&TrainSettings::optimizer, text_label_optimizer(examples, s));
        settle(&TrainSettings::word_dropout, 0.1);
        break;
      }
      settle(&TrainSettings::model, kLabelModel);
      settle(&TrainSettings::optimizer, kLabelOptimizer);
      if (!budget)
        s.epochs =
            has_independent_rows(examples) ? epochs_for(examples, 100'000, 10, 100) : epochs_for(examples, 40'000);
      break;
    case Problem::forecasting:
      if (of_bits) {
        settle(&TrainSettings::model, "lstm:256,dropout=0.5,embedding=128");
        // Small corpora are memorized, so regularization and the number of steps determine the result.
        settle(&TrainSettings::optimizer, "adamw:rate=0.003,clip=1,decay=0.4,schedule=cosine,warmup=100");
        settle(&TrainSettings::batch, Index{8});
        if (!budget) s.epochs = 60;
        break;
      }
      if (predicts_events(plan, examples) && !compares_losses(canonical_optimizer(s.optimizer))) {
        set_event_defaults(plan, examples, given, s);
        break;
      }
      settle(&TrainSettings::model, kSeriesModel);
      if (!budget) s.epochs = kSeriesEpochs;
      settle(&TrainSettings::optimizer, kSeriesOptimizer);
      break;
    case Problem::transducing:
      settle(&TrainSettings::model, "bilstm:256,dropout=0.2,embedding=64,attention=additive,condition=start");
      settle(&TrainSettings::optimizer, "adam:rate=0.002,clip=1,schedule=cosine,warmup=100");
      settle(&TrainSettings::batch, Index{64});
      // The nats increase again long before the error rate of targets stops improving.
      if (finds_by_symbols(plan) && is_likelihood(s.objective.value_or("likelihood")) && validates(s))
        settle(&TrainSettings::best_by, "sequences");
      if (!budget) s.epochs = 20;
      break;
    case Problem::generating:
      settle(&TrainSettings::model, "lstm:256,dropout=0.2,embedding=64");
      settle(&TrainSettings::optimizer, "adam:rate=0.002,clip=1,schedule=cosine,warmup=100");
      settle(&TrainSettings::batch, Index{32});
      if (!budget) s.epochs = 20;
      break;
  }
  const bool compares = compares_losses(canonical_optimizer(s.optimizer));
  const bool settled = plan.problem == Problem::transducing || plan.problem == Problem::generating ||
                       (plan.problem == Problem::classifying && reads_runs(plan)) ||
                       (plan.problem == Problem::forecasting && (of_bits || predicts_events(plan, examples)));
  if (everything)
    settle(&TrainSettings::batch, std::max<Index>(1, examples.count()));
  else if (!settled || compares)
    settle(&TrainSettings::batch, compares ? kWholeSet : Index{16});
  if (!budget && !everything && !compares) settle_small_set(plan, examples, given, s);
  const bool affordable =
      compares && examples.positions() <= kMostWholePositions;  // more positions would need too much memory
  const bool cut = plan.problem == Problem::forecasting && !parse_model_spec(s.model).both_directions && !affordable;
  if (!given.contains(&TrainSettings::whole_sequences) && !given.contains(&TrainSettings::window))
    s.whole_sequences = !cut;
  if (parse_model_spec(s.model).both_directions && !s.whole_sequences)
    throw UsageError(fmt::format("{} reads whole sequences, from both ends: leave out --window", s.model));
}

std::optional<std::string> reads_of_texts(const FieldPlan& plan, const Examples& examples, TrainSettings s) {
  if (plan.problem != Problem::classifying || examples.are_trees() || examples.are_grids() || names_density(s.model) ||
      reads_runs(plan))
    return {};
  s.read.reset();
  const FieldPlan usual = plan_fields(examples, s);
  if (!reads_runs(usual)) return {};
  std::vector<std::string> reads;
  bool changed = false;
  for (const std::string& name : plan.choice.reads) {
    const std::size_t before = reads.size();
    for (const std::string& other : usual.choice.reads)
      if (other.starts_with(name + ".")) reads.push_back(other);
    if (reads.size() == before || std::ranges::find(usual.choice.reads, name) != usual.choice.reads.end())
      reads.push_back(name);
    else
      changed = true;
  }
  if (!changed) return {};
  return fmt::format("{}", fmt::join(reads, ","));
}

std::string note_on_minutes(const FieldPlan& plan, const Examples& examples, TrainSettings s) {
  if (!s.minutes || s.read) return {};
  const double minutes = *std::exchange(s.minutes, {});
  if (plan_fields(examples, s).layout.reads == plan.layout.reads) return {};
  return fmt::format(
      "in {:.4g} minute{}, a network that reads the words in their order would read too few examples; words and pairs "
      "of "
      "words are read instead; --model {} overrides this",
      minutes, minutes == 1 ? "" : "s", kLabelModel);
}

}  // namespace unfold
