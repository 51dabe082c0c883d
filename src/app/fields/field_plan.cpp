#include "app/fields/field_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <tuple>
#include "app/fields/density_data.h"
#include "app/fields/field_model.h"
#include "app/fields/field_reading.h"
#include "app/fields/predicted_list.h"
#include "app/fields/template_data.h"
#include "app/schema/field_checks.h"
#include "app/schema/table_fields.h"
#include "app/settings/defaults.h"
#include "app/settings/evaluation_split.h"
#include "base/options/suggestions.h"
#include "base/printable.h"
#include "data/examples/derived.h"
#include "data/examples/templates.h"
#include "data/readers/memory_data.h"
#include "data/readers/open_data.h"
#include "data/schema/column_names.h"
#include "data/schema/describe_schema.h"
#include "data/schema/inference/infer_schema.h"
#include "data/text/example_weights.h"
#include "model/decoding/label_decoder.h"
#include "model/decoding/objective.h"
#include "model/network/density_model.h"
#include "model/network/fitting/hmm_fit.h"
#include "model/network/fitting/readout.h"
#include "model/network/length_model.h"
#include "model/network/linear.h"
#include "unfold/base/error.h"
#include "unfold/model/registry/registry.h"
#include "unfold/optim/optimizer.h"
#include "unfold/train/objective/output_feedback.h"

namespace unfold {
namespace {

using Names = std::vector<std::string>;

std::string joined(const Names& names) { return fmt::format("{}", fmt::join(names, ",")); }

/// Minimum number of distinct values of a text field that is treated as words and read by their parts.
constexpr std::size_t kOpenVocabulary = 500;
bool is_open(const ExampleColumn& column) {
  std::set<std::string_view> distinct;
  for (const std::string_view text : column.texts) {
    distinct.insert(text);
    if (distinct.size() > kOpenVocabulary) return true;
  }
  return false;
}

/// What is read of a column of words with an open vocabulary: the words themselves, and fields derived from them.
struct WordReads {
  bool whole = true;
  std::vector<const char*> parts;
};
/// Parts of words that help taggers with unseen words, and neighbors of words for classifiers.
const WordReads kPartsOfWords{.parts = {"lower", "shape", "prefix2", "prefix3", "suffix2", "suffix3"}};
const WordReads kRunsOfWords{.whole = false, .parts = {"plain", "plain.run2"}};
/// With many examples, the words as they are written and triples of words help, too.
const WordReads kRunsOfManyWords{.parts = {"plain", "plain.run2", "plain.run3"}};
constexpr Index kManyTexts = 4000;

const WordReads& runs_of_words(const Examples& examples) {
  return examples.count() < kManyTexts ? kRunsOfWords : kRunsOfManyWords;
}

/// Parts of words that help with unseen words at the leaves of a tree.
const WordReads kPartsOfLeaves{.parts = {"lower", "prefix3", "suffix3"}};

/// Returns whether the minutes are too few for the default network for labels, which reads the words of few different
/// words in their order: it would read neither all examples nor its default budget of 40,000.
bool lacks_time_for_order(const Examples& examples, const TrainSettings& s) {
  constexpr double kSecondsAMinute = 60, kShareOfTraining = 0.75;  // the rest is for reading and validation
  constexpr double kPositionsASecond = 20'000;                     // of kLabelModel, on two cores
  constexpr Index kMostExamples = 40'000;
  if (!s.minutes || examples.count() == 0) return false;
  const double read = std::min(1.0, static_cast<double>(kMostExamples) / static_cast<double>(examples.count()));
  return kSecondsAMinute * kShareOfTraining * *s.minutes * kPositionsASecond <
         read * static_cast<double>(examples.positions());
}

/// Returns whether the different words occur only a few times each, as in small sets of texts.
bool has_rare_words(const ExampleColumn& column) {
  constexpr std::size_t kFewOccurrences = 10;
  const std::set<std::string_view> distinct(column.texts.begin(), column.texts.end());
  return kFewOccurrences * distinct.size() > column.texts.size();
}

/// Returns whether a column of few different words is read as words and pairs of words: labels of texts are predicted
/// with the default model, and a network that reads the words in their order would not learn enough.
bool reads_runs_of_few_words(const Examples& examples, const ExampleColumn& column, const std::vector<Predicted>& heads,
                             const TrainSettings& s) {
  const auto is_label = [&](const Predicted& head) {
    const ExampleColumn& predicted = examples.column(head.field);
    return predicted.once && predicted.is_text();
  };
  const bool is_running_text = examples.schema != nullptr || column.name == "text";
  if (!is_running_text || column.characters || examples.are_trees() || examples.are_grids() || has_source(examples))
    return false;
  if (!std::ranges::all_of(heads, is_label) || canonical_model(s.model) != canonical_model(kDefaultModel)) return false;
  return lacks_time_for_order(examples, s) || has_rare_words(column);
}

/// Adds a column of words, or if there are many different words, also its parts.
void add_with_parts(const ExampleColumn& column, const WordReads& words, Names& reads) {
  const bool open = column.is_text() && is_open(column);
  if (!open || words.whole) reads.push_back(column.name);
  if (!open) return;
  for (const char* part : words.parts) reads.push_back(fmt::format("{}.{}", column.name, part));
}

/// Adds a column of words from which labels are predicted.
void add_with_runs(const Examples& examples, const ExampleColumn& column, const std::vector<Predicted>& heads,
                   const TrainSettings& s, Names& reads) {
  const bool few = column.is_text() && !is_open(column) && reads_runs_of_few_words(examples, column, heads, s);
  if (!few) return add_with_parts(column, runs_of_words(examples), reads);
  for (const char* part : kRunsOfWords.parts) reads.push_back(fmt::format("{}.{}", column.name, part));
}

/// Returns whether the field has one entry per example, which is known at all positions.
bool is_once(const Examples& examples, const std::string& name) {
  const ExampleColumn* column = examples.find(name);
  return column != nullptr && column->once;
}

bool predicts(const std::vector<Predicted>& heads, const std::string& name) {
  return std::ranges::find(heads, name, &Predicted::field) != heads.end();
}

/// Returns whether the field is predicted from its own past: numbers, the events of a table, or a text.
bool reads_own_past(const Examples& examples, const Predicted& head) {
  const ExampleColumn& column = examples.column(head.field);
  if (examples.are_grids() || column.once || head.at_end) return false;
  if (!column.is_text()) return true;
  if (examples.schema == nullptr) return false;
  const ColumnSchema* text = examples.schema->text();
  return examples.schema->events || (text != nullptr && text->name == head.field);
}

/// Returns the fields that the schema of a table reads, with parts of words for an open vocabulary.
Names default_table_reads(const Examples& examples, const std::vector<Predicted>& heads, const TrainSettings& s) {
  Names reads;
  const bool past = std::ranges::any_of(heads, [&](const Predicted& head) { return reads_own_past(examples, head); });
  for (const std::string& name : schema_reads(examples, predicted_names(heads), past)) {
    const ExampleColumn& column = examples.column(name);
    if (column.once || past || column.characters || has_independent_rows(examples))
      reads.push_back(name);
    else if (examples.schema->text() != nullptr)
      add_with_runs(examples, column, heads, s, reads);
    else
      add_with_parts(column, kPartsOfWords, reads);
  }
  // If all other columns are left out, the earlier values are the only inputs.
  if (reads.empty())
    for (const Predicted& head : heads)
      if (!examples.column(head.field).once && !head.at_end) reads.push_back(head.field);
  return reads;
}

/// Returns all other fields at every position; predicted numbers are read too, because their past values are the most
/// informative.
Names default_reads(const Examples& examples, const std::vector<Predicted>& heads, const TrainSettings& s) {
  if (examples.schema != nullptr) return default_table_reads(examples, heads, s);
  Names reads;
  bool forecasts = false, tags = false;
  const bool source = has_source(examples), new_text = !examples.are_trees() && !predicts(heads, "form");
  for (const Predicted& head : heads) {
    const ExampleColumn& column = examples.column(head.field);
    tags = tags || (!column.once && !head.at_end);
    forecasts = forecasts || (!examples.are_grids() && !column.is_text() && !column.once && !head.at_end);
  }
  for (const ExampleColumn& column : examples.columns) {
    if (column.once || (source && !column.source) || !has_entry(column)) continue;
    if (new_text && is_annotation(examples, column.name)) continue;
    if (forecasts && !column.is_text()) reads.push_back(column.name);
    if (column.source)
      reads.push_back(column.name);
    else if (forecasts || predicts(heads, column.name))
      continue;
    else if (examples.are_trees() || tags)
      add_with_parts(column, examples.are_trees() ? kPartsOfLeaves : kPartsOfWords, reads);
    else
      add_with_runs(examples, column, heads, s, reads);
  }
  return reads;
}

/// A decoder reads its previous output.
void add_decoder(FieldPlan& plan, Problem problem) {
  plan.problem = problem;
  const auto is_target = [](const HeadSpecification& head) { return !head.field.ends_with(kStopSuffix); };
  const auto found = std::ranges::find_if(plan.layout.heads, is_target);
  if (found == plan.layout.heads.end())
    throw UsageError("--predict names stop units, but no field whose end they predict; add target");
  const std::string target = found->field;
  const std::string previous = FieldRead{target, 1}.name();
  if (std::ranges::find(plan.layout.reads, previous) != plan.layout.reads.end()) return;
  plan.layout.reads.push_back(previous);
  plan.choice.reads.push_back(target);
}

/// Whole sequences: their ends are predicted, or the number of remaining steps is read.
void add_ends(const Examples& examples, const TrainSettings& s, FieldPlan& plan) {
  if (has_source(examples))
    throw UsageError("--ends: targets of pairs already have ends; use --predict target,target.stop for a stop unit");
  if (plan.layout.heads.size() > 1 || !plan.choice.once.empty())
    throw UsageError(
        "--ends requires a single field that is predicted at every position; name only this field with --predict");
  if (s.ahead.value_or(0) > 1)
    throw UsageError("--ends predicts each symbol from the preceding ones; leave out --ahead");
  const SequenceEndOptions whole = whole_sequences(*s.ends, {}, plan.choice.predicts);
  const auto add_read = [&](const std::string& field, Index back) {
    plan.layout.reads.push_back(FieldRead{field, back}.name());
    plan.choice.reads.push_back(field);
  };
  // Other fields with one entry per position are unknown until the sequence is known.
  for (const std::string& name : plan.choice.reads)
    if (const ExampleColumn& column = examples.column(name); !column.once && name != whole.field)
      throw UsageError(fmt::format(
          "--ends: {} has one entry per position, so it is not known before {}; read fields with one entry per example",
          name, whole.field));
  // Given fields are available from the first position on.
  std::erase_if(plan.layout.reads, [&](const std::string& read) { return parse_read(read).field != whole.field; });
  for (const std::string& name : plan.choice.reads)
    if (name != whole.field) plan.layout.reads.push_back(name);
  if (whole.end == SequenceEnd::left) add_read(whole.field + std::string(kStepsLeftSuffix), 0);
  if (whole.end == SequenceEnd::stop) {
    const std::string stop = whole.field + std::string(kStopSuffix);
    plan.layout.heads.push_back({.field = stop});
    plan.choice.predicts.push_back(stop);
  }
  add_decoder(plan, Problem::generating);
}

/// Replaces earlier entries of predicted fields with the network's own outputs (--feedback always).
void read_own_outputs(const Examples& examples, const TrainSettings& s, FieldPlan& plan) {
  if (s.ends || has_source(examples))
    throw UsageError(
        "--feedback always: the symbols of a target are chosen one by one, so the next one depends on the chosen "
        "symbol, not only on its probability; use --feedback N+K, which changes only training");
  for (const HeadSpecification& head : plan.layout.heads) {
    if (plan.choice.once.contains(head.field))
      throw UsageError(fmt::format(
          "--feedback always: {} is predicted once per sequence, so there is no previous output; leave it out",
          head.field));
    const auto is_own = [&](const std::string& read) {
      const FieldRead what = parse_read(read);
      return what.field == head.field && what.back > 0;
    };
    std::vector<std::string>& reads = plan.layout.reads;
    const auto own = std::stable_partition(reads.begin(), reads.end(), std::not_fn(is_own));
    if (own == reads.end()) plan.layout.feedback.push_back(FieldRead{head.field, 1}.name());
    plan.layout.feedback.insert(plan.layout.feedback.end(), own, reads.end());
    reads.erase(own, reads.end());
    std::erase(plan.choice.reads, head.field);
  }
}

/// Returns the field that a name is derived from.
std::string underived(std::string name) {
  while (const std::optional<DerivedField> derived = parse_derived(name)) name = derived->field;
  return name;
}

/// Returns how a network reads the labels that it predicts, "F[-k]": as "previous(k) F". Empty for all other names.
/// Throws UsageError for entries that a search of labels could not replace.
std::optional<FieldRead> earlier_label(const Examples& examples, const std::string& name,
                                       const std::vector<Predicted>& heads, const TrainSettings& s) {
  const std::vector<TemplatePart> parts = parse_template(name);
  const auto is_own = [&](const TemplatePart& part) {
    const std::string field = predicts(heads, part.field) ? part.field : underived(part.field);
    return part.offset < 0 && predicts(heads, field) && examples.column(field).is_text();
  };
  const auto own = std::ranges::find_if(parts, is_own);
  if (own == parts.end()) return std::nullopt;
  if (is_of_crf(s.model))
    throw UsageError(fmt::format(
        "--read {0}: {1} predicts neighboring labels jointly and cannot read labels; leave out {0}", name, s.model));
  if (parts.size() > 1 || !predicts(heads, own->field))
    throw UsageError(fmt::format("--read {}: only whole labels can be read, not parts of them or combinations; use {}",
                                 name, template_name({{underived(own->field), own->offset}})));
  return FieldRead{own->field, -own->offset};
}

/// Returns whether a loss predicts numbers that are not standardized: bits and counts.
bool wants_raw_numbers(const std::string& loss) {
  return loss.starts_with("bernoulli") || loss == "poisson" || loss == "negative-binomial";
}

bool all_bits(const ExampleColumn& column) {
  return std::ranges::all_of(column.numbers, [](double x) { return x == 0 || x == 1; });
}

/// Adds the columns whose words follow those of the text. They are not fields, but a run that is repeated or continued
/// with these reads reads them again.
Names with_further_texts(const Examples& examples, Names reads) {
  if (examples.schema == nullptr) return reads;
  for (const ColumnSchema& column : examples.schema->columns)
    if (examples.schema->continues_text(column)) reads.push_back(column.name);
  return reads;
}

/// Returns the default loss of numbers: Bernoulli for bits, otherwise a normal distribution with a learned variance.
std::string default_loss(const ExampleColumn& column) {
  if (column.is_text()) return {};
  return all_bits(column) ? "bernoulli" : "normal";
}

}  // namespace

std::string obvious_target(const Examples& examples) {
  if (has_source(examples)) return "target";
  if (examples.schema != nullptr) return schema_target(examples);
  for (const char* name : {"label", "notes", "value", "class", "upos", "tags", "tag"})
    if (examples.find(name) != nullptr) return name;
  for (const ExampleColumn& column : examples.columns)
    if (is_class_name(column.name) && column.width <= 1) return column.name;
  Names once, numbers;
  for (const ExampleColumn& column : examples.columns) {
    if (column.name == kExampleWeights) continue;
    if (column.once) once.push_back(column.name);
    if (!column.once && !column.is_text()) numbers.push_back(column.name);
  }
  if (once.size() == 1) return once.front();
  const Names names = column_names(examples);
  if (once.empty() && numbers.size() == 1 && names.size() <= 2) return numbers.front();
  const bool all_text =
      std::ranges::all_of(names, [&](const std::string& name) { return examples.column(name).is_text(); });
  return all_text && names.size() > 1 ? names.back() : std::string();
}

namespace {

/// The column that separates sequences has the same value at all positions of a sequence, so reading it would reveal
/// the target.
void require_other_fields(const char* option, const std::optional<std::string>& list, const TrainSettings& s,
                          const Names& known) {
  if (!s.sequences || !list) return;
  for (const std::string& text : split_predicted(*list, known))
    if (parse_predicted(text, known).field == *s.sequences)
      throw UsageError(fmt::format("--{0} {1}: {1} separates the sequences (--sequences {1}); name another field",
                                   option, *s.sequences));
}

}  // namespace

FieldPlan plan_fields(const Examples& examples, TrainSettings& s) {
  require_other_fields("predict", s.predict, s, column_names(examples));
  require_other_fields("read", s.read, s, column_names(examples));
  const bool reads_outputs = s.feedback && Feedback::parse(*s.feedback).always;
  if (names_density(s.model) && reads_outputs)
    throw UsageError(fmt::format(
        "--feedback always: {} is a distribution of independent rows, which have no previous outputs; leave it out",
        s.model));
  if (names_density(s.model)) return plan_density(examples, s);
  if (is_of_crf(s.model)) take_template(column_names(examples), s);
  if (!s.predict) {
    s.predict = obvious_target(examples);
    if (s.predict->empty()) {
      throw UsageError(fmt::format("--predict FIELD is required: {} has the fields {}", examples.source,
                                   joined(column_names(examples))));
    }
  }
  std::vector<Predicted> heads;
  const Names known = column_names(examples);
  for (const std::string& text : split_predicted(*s.predict, known)) heads.push_back(parse_predicted(text, known));
  Names reads = s.read               ? split_names(*s.read, known)
                : s.ends             ? Names{heads.front().field}
                : is_of_crf(s.model) ? default_templates(examples, predicted_names(heads))
                                     : default_reads(examples, heads, s);
  reads = with_date_parts(examples, reads);
  std::erase_if(reads, [&](const std::string& name) { return name == s.sequences.value_or(""); });
  const bool grids = examples.are_grids();
  if (grids && reads.empty())  // predicted from the preceding positions
    for (const Predicted& head : heads)
      if (!examples.column(head.field).once) reads.push_back(head.field);
  if (reads.empty())
    throw UsageError(fmt::format("no input fields are left in {}; name fields with --read", examples.source));
  if (is_of_crf(s.model)) {
    std::vector<std::string*> judged;
    judged.reserve(heads.size());
    for (Predicted& head : heads) judged.push_back(&head.loss);
    take_steps(s.model, reads, judged);
    s.predict = text_of(heads);
  }
  if (!s.ahead)
    s.ahead = Index{!grids && std::ranges::any_of(reads, [&](const auto& name) { return predicts(heads, name); })};
  s.read = joined(with_further_texts(examples, reads));

  FieldPlan plan;
  for (const Predicted& head : heads) {
    const ExampleColumn& column = examples.column(head.field);
    const std::string loss = head.loss.empty() ? default_loss(column) : head.loss;
    plan.layout.heads.push_back({.field = head.field, .loss = loss});
    plan.choice.predicts.push_back(head.field);
    if (head.at_end || column.once) plan.choice.once.insert(head.field);
    if (wants_raw_numbers(loss)) plan.choice.unstandardized.insert(head.field);
    if (loss == "log-normal") plan.choice.scaled.insert(head.field);
    if (*s.ahead == 0 && !grids && std::ranges::find(reads, head.field) != reads.end())
      throw UsageError(
          fmt::format("{} is read and predicted at the same position; --ahead 1 predicts it one position "
                      "ahead",
                      head.field));
  }
  for (const std::string& name : reads) {
    if (const auto label = earlier_label(examples, name, heads, s)) {
      plan.layout.reads.push_back(FieldRead{label->field, *s.ahead + label->back}.name());
      plan.choice.reads.push_back(label->field);
      continue;
    }
    // Dates are known in advance, and per-example values are known everywhere.
    const bool known_ahead = is_part_of_date(examples, name) || is_once(examples, name);
    plan.layout.reads.push_back(FieldRead{name, known_ahead ? 0 : *s.ahead}.name());
    plan.choice.reads.push_back(name);
  }
  if (is_of_crf(s.model)) {
    const ModelSpec spec = parse_model_spec(s.model);
    plan.choice.least = spec.options.as<LinearOptions>().cut;
    plan.choice.hash_bits = spec.options.as<LinearOptions>().hash;
  }
  if (reads_outputs) read_own_outputs(examples, s, plan);
  plan.problem = problem_of(plan.layout, plan.choice.once);
  if (reads_earlier_labels(plan, examples, s)) plan.problem = Problem::tagging;
  if (s.ends) add_ends(examples, s, plan);
  if (has_source(examples)) add_decoder(plan, Problem::transducing);
  return plan;
}

bool reads_earlier_labels(const FieldPlan& plan, const Examples& examples, const TrainSettings& s) {
  return s.ahead == 0 && !s.ends && !has_source(examples) &&
         !label_reads(plan.layout.reads, plan.choice.predicts).empty();
}

Problem stored_problem(const Model& model, const NetworkLayout& layout) {
  if (predicts_whole_sequences(model)) return Problem::generating;
  return decodes_labels(model, layout) ? Problem::tagging : problem_of(layout, model.data());
}

Problem problem_of(const NetworkLayout& layout, const std::set<std::string, std::less<>>& once) {
  if (layout.reads.empty()) return Problem::forecasting;  // reads only its own outputs
  for (const std::string& read : layout.reads)
    if (parse_read(read).back > 0) return Problem::forecasting;
  const bool at_ends = std::ranges::all_of(layout.heads, [&](const auto& head) { return once.contains(head.field); });
  return at_ends ? Problem::classifying : Problem::tagging;
}

Problem problem_of(const NetworkLayout& layout, const DataSpecification& data) {
  if (std::ranges::any_of(data.fields, [](const FieldSpecification& f) { return f.source && !f.once; }))
    return Problem::transducing;
  std::set<std::string, std::less<>> once;
  for (const FieldSpecification& field : data.fields)
    if (field.once) once.insert(field.name);
  return problem_of(layout, once);
}

void check_fields(const FieldPlan& plan, const Examples& examples, const TrainSettings& s) {
  for (const HeadSpecification& head : plan.layout.heads) check_loss_domain(examples, head.field, head.loss);
  // A decoder reads its own output so far, and a grid network reads the positions before the predicted one.
  if (examples.are_grids()) return;
  if (plan.problem == Problem::transducing || plan.problem == Problem::generating || names_density(s.model)) return;
  std::vector<std::string> reads = plan.layout.reads;  // with the names of earlier labels in --read
  if (reads_earlier_labels(plan, examples, s))
    for (const LabelRead& label : label_reads(plan.layout.reads, plan.choice.predicts))
      std::ranges::replace(reads, label.name, template_name({{label.read.field, -label.read.back}}));
  refuse_leaks(examples, reads, plan.choice.predicts, parse_model_spec(s.model).both_directions);
}

}  // namespace unfold
