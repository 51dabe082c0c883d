#include "app/fields/field_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "app/fields/density_data.h"
#include "app/fields/grid_data.h"
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
#include "data/schema/column_profile.h"
#include "data/schema/describe_schema.h"
#include "data/schema/infer_schema.h"
#include "model/decoding/objective.h"
#include "model/network/density_model.h"
#include "model/network/length_model.h"
#include "model/network/linear.h"
#include "model/network/readout.h"
#include "unfold/base/error.h"
#include "unfold/optim/optimizer.h"

namespace unfold {
namespace {

using Names = std::vector<std::string>;

std::string joined(const Names& names) { return fmt::format("{}", fmt::join(names, ",")); }

/// A source sequence with its own length, as opposed to a value given once.
bool is_long_source(const ExampleColumn& column) { return column.source && !column.once; }
bool has_source(const Examples& examples) { return std::ranges::any_of(examples.columns, is_long_source); }

/// Minimum number of distinct values of a text field that is treated as words and read by their parts.
constexpr std::size_t kOpenVocabulary = 500;
bool is_open(const ExampleColumn& column) {
  std::set<std::string_view> distinct;
  for (const std::string& text : column.texts) {
    distinct.insert(text);
    if (distinct.size() > kOpenVocabulary) return true;
  }
  return false;
}

void add_with_parts(const ExampleColumn& column, const std::vector<const char*>& parts, Names& reads) {
  reads.push_back(column.name);
  if (!column.is_text() || !is_open(column)) return;
  for (const char* part : parts) reads.push_back(fmt::format("{}.{}", column.name, part));
}

/// A field with one entry per example, which is known at all positions.
bool is_once(const Examples& examples, const std::string& name) {
  const ExampleColumn* column = examples.find(name);
  return column != nullptr && column->once;
}

bool predicts(const std::vector<Predicted>& heads, const std::string& name) {
  return std::ranges::find(heads, name, &Predicted::field) != heads.end();
}

/// Features of unseen words for taggers, and neighbors of words for classifiers.
const std::vector<const char*> kPartsOfWords = {"lower", "shape", "prefix2", "prefix3", "suffix2", "suffix3"};
const std::vector<const char*> kRunsOfWords = {"lower", "run2", "run3"};
/// Features of unseen words at the leaves of a tree.
const std::vector<const char*> kPartsOfLeaves = {"lower", "prefix3", "suffix3"};

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
Names default_table_reads(const Examples& examples, const std::vector<Predicted>& heads) {
  Names reads;
  const bool past = std::ranges::any_of(heads, [&](const Predicted& head) { return reads_own_past(examples, head); });
  for (const std::string& name : schema_reads(examples, predicted_names(heads), past)) {
    const ExampleColumn& column = examples.column(name);
    if (column.once || past || column.characters)
      reads.push_back(name);
    else
      add_with_parts(column, examples.schema->text() != nullptr ? kRunsOfWords : kPartsOfWords, reads);
  }
  // If all other columns are left out, the earlier values are the only inputs.
  if (reads.empty())
    for (const Predicted& head : heads)
      if (!examples.column(head.field).once && !head.at_end) reads.push_back(head.field);
  return reads;
}

bool has_entry(const ExampleColumn& column) {
  for (Index e = 0; e < column.entries(); ++e)
    if (column.present(e)) return true;
  return false;
}

/// Returns all other fields at every position; predicted numbers are read too, because their past values are the most
/// informative.
Names default_reads(const Examples& examples, const std::vector<Predicted>& heads) {
  if (examples.schema != nullptr) return default_table_reads(examples, heads);
  Names reads;
  bool forecasts = false, tags = false;
  const bool source = has_source(examples);
  for (const Predicted& head : heads) {
    const ExampleColumn& column = examples.column(head.field);
    tags = tags || (!column.once && !head.at_end);
    forecasts = forecasts || (!examples.are_grids() && !column.is_text() && !column.once && !head.at_end);
  }
  for (const ExampleColumn& column : examples.columns) {
    if (column.once || (source && !column.source) || !has_entry(column)) continue;
    if (forecasts && !column.is_text()) reads.push_back(column.name);
    if (column.source)
      reads.push_back(column.name);
    else if (!forecasts && !predicts(heads, column.name))
      add_with_parts(column, examples.are_trees() ? kPartsOfLeaves : tags ? kPartsOfWords : kRunsOfWords, reads);
  }
  return reads;
}

/// A decoder reads its previous output.
void add_decoder(FieldPlan& plan, Problem problem) {
  plan.problem = problem;
  const auto is_target = [](const HeadSpecification& head) { return !head.field.ends_with(kStopSuffix); };
  const auto found = std::ranges::find_if(plan.layout.heads, is_target);
  if (found == plan.layout.heads.end())
    throw UsageError("--predict names stop units, but no field that they end; add target");
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
    throw UsageError("--ends is for one field that is predicted at every position");
  if (s.ahead.value_or(0) > 1)
    throw UsageError("--ends predicts each symbol from the preceding ones; leave out --ahead");
  const SequenceEndOptions whole = whole_sequences(*s.ends, {}, plan.choice.predicts);
  const auto add_read = [&](const std::string& field, Index back) {
    plan.layout.reads.push_back(FieldRead{field, back}.name());
    plan.choice.reads.push_back(field);
  };
  // Other fields with one entry per position are unknown before the sequence is.
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

/// Returns whether a loss predicts numbers that are not standardized: bits and counts.
bool wants_raw_numbers(const std::string& loss) { return loss.starts_with("bernoulli") || loss.starts_with("poisson"); }

bool all_bits(const ExampleColumn& column) {
  return std::ranges::all_of(column.numbers, [](double x) { return x == 0 || x == 1; });
}

/// The default loss of numbers: Bernoulli for bits, otherwise a normal distribution with a learned variance.
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
    if (column.once) once.push_back(column.name);
    if (!column.once && !column.is_text()) numbers.push_back(column.name);
  }
  if (once.size() == 1) return once.front();
  if (once.empty() && numbers.size() == 1 && examples.columns.size() <= 2) return numbers.front();
  const bool all_text = std::ranges::all_of(examples.columns, &ExampleColumn::is_text);
  return all_text && examples.columns.size() > 1 ? examples.columns.back().name : std::string();
}

SequenceEndOptions whole_sequences(const std::string& ends, const std::vector<std::string>& reads,
                                   const std::vector<std::string>& predicts) {
  SequenceEndOptions whole{.end = SequenceEnd::left, .field = predicts.empty() ? "" : predicts.front(), .given = reads};
  if (ends == "symbol") {
    whole.end = SequenceEnd::symbol;
  } else if (ends == "stop") {
    whole.end = SequenceEnd::stop;
  } else if (std::ranges::find(LengthModel::kinds(), ends) == LengthModel::kinds().end()) {
    throw UsageError(fmt::format("--ends {}: expected symbol, stop, {}{}", ends, fmt::join(LengthModel::kinds(), ", "),
                                 did_you_mean(ends, LengthModel::kinds())));
  }
  return whole;
}

ReaderOptions reader_options(const TrainSettings& s) {
  ReaderOptions options{.format = s.format.value_or("")};
  if (s.symbols != kAnyText) {
    std::tie(options.text, options.target_text) = parse_symbol_kinds(s.symbols);
    options.text_kind_set = true;
  }
  options.sequence_column = s.sequences.value_or("");
  options.schema = stated_schema(s);
  options.rows = density_rows(s);
  if (s.trees) {
    options.trees = parse_tree_shape(*s.trees);
    if (s.ends) throw UsageError("--ends requires sequences and does not apply to trees; leave out --trees");
  }
  for (const std::string& name : split_predicted(s.predict.value_or("")))
    options.stops = options.stops || name.ends_with(kStopSuffix);
  if (s.ends) {
    if (!s.predict) throw UsageError("--ends requires a field: name it with --predict FIELD");
    Names predicted;
    for (const std::string& text : split_predicted(s.predict.value_or("")))
      predicted.push_back(parse_predicted(text).field);
    options.whole = whole_sequences(*s.ends, split_names(s.read.value_or("")), predicted);
  }
  return options;
}

namespace {

/// Passes the columns named by --read and --predict to the reader, which needs to know their roles.
void choose_columns(const Names& known, const TrainSettings& s, ReaderOptions& options) {
  if (known.empty() || !options.rows.field.empty()) return;
  const auto add = [&](Names& list, std::string name) {
    list.push_back(name);
    if (std::ranges::find(known, name) != known.end()) return;
    for (std::size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0; dot = name.rfind('.')) {
      name.resize(dot);
      list.push_back(name);
    }
  };
  for (const std::string& name : s.read ? split_names(*s.read, known) : Names()) {
    add(options.schema.read, name);
    for (const TemplatePart& part : parse_template(name)) add(options.schema.read, part.field);
  }
  for (const std::string& text : s.predict ? split_predicted(*s.predict, known) : Names())
    options.schema.predict.push_back(parse_predicted(text, known).field);
  for (const auto& [name, type] : options.schema.types) require_column("--types", name, known);
  options.schema.ignore_absent = true;
}

/// A loss determines whether a column is predicted as classes or as numbers.
void choose_types(const TrainSettings& s, const Names& known, ReaderOptions& options) {
  if (!s.predict || !options.rows.field.empty()) return;
  for (const std::string& text : split_predicted(*s.predict, known)) {
    const Predicted head = parse_predicted(text, known);
    const std::string_view loss = spec_name(head.loss);
    const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
      return std::ranges::find(names, loss) != names.end();
    };
    if (is_one_of({"softmax", "crf", "ctc"})) options.texts.push_back(head.field);
    if (is_one_of({"normal", "gaussian", "mixture", "bernoulli", "poisson"})) options.numbers.push_back(head.field);
  }
}

/// Returns the data in memory that the file names refer to; null if they are files.
MemoryData* memory_of(const std::vector<std::string>& files) {
  return files.empty() ? nullptr : MemoryFiles::find(files.front());
}

Examples read_inputs(const std::vector<Input>& inputs, const ReaderOptions& options) {
  Examples all;
  ReaderOptions next = options;
  for (const Input& input : inputs) {
    Examples more = read_examples(input, next);
    if (!next.rows.field.empty()) next.rows.classes = classes_of(more.column(next.rows.field));
    if (!all.columns.empty()) {
      append(all, more);
      continue;
    }
    all = std::move(more);
    read_like(all, next);
  }
  return all;
}

Examples read_memory(MemoryData& memory, const ReaderOptions& options) {
  return memory.texts.empty() ? take_examples(memory, options) : read_inputs(memory.texts, options);
}

}  // namespace

Examples read_fields(const std::vector<std::string>& files, const ReaderOptions& options) {
  if (MemoryData* memory = memory_of(files)) return read_memory(*memory, options);
  return read_inputs(open_data(files, options.format), options);
}

Examples peek_fields(const std::vector<std::string>& files, const ReaderOptions& options) {
  const MemoryData* memory = memory_of(files);
  if (memory == nullptr) return read_fields(files, options);
  MemoryData copy = *memory;
  return read_memory(copy, options);
}

Examples read_training_fields(TrainSettings& s, Reporter& reporter) {
  ReaderOptions options = reader_options(s);
  MemoryData* memory = memory_of(s.data);
  const std::vector<Input> inputs = memory == nullptr ? open_data(s.data, options.format) : std::vector<Input>();
  const Names known = memory != nullptr ? column_names_of(*memory, options)
                      : inputs.empty()  ? Names()
                                        : column_names_of(inputs.front(), options);
  choose_columns(known, s, options);
  choose_types(s, known, options);
  Examples examples = memory != nullptr ? read_memory(*memory, options) : read_inputs(inputs, options);
  report_reader_notes(examples, reporter);
  if (!options.rows.field.empty() || examples.schema == nullptr) return examples;
  reporter.remark(describe_briefly(*examples.schema));
  if (!s.read && !s.predict) refuse_rows_of_periods(*examples.schema);
  settle_sequences(examples, s);
  return examples;
}

Examples read_fields(const std::vector<std::string>& files, const ReaderOptions& options, Reporter& reporter) {
  Examples examples = read_fields(files, options);
  report_reader_notes(examples, reporter);
  return examples;
}

void report_reader_notes(const Examples& examples, Reporter& reporter) {
  for (const std::string& remark : examples.remarks) reporter.remark(remark);
}

namespace {

/// Returns whether any predicted symbol is known.
bool predicts_known(const ExampleSet& part, const std::string& field) {
  const std::vector<Symbol>& symbols = part.column(field).symbols;
  if (part.data().field(field).once) return std::ranges::any_of(symbols, [](Symbol s) { return s != kNoSymbol; });
  for (Index e = 0; e < part.count(); ++e)
    for (Index p = part.begin(e) + part.warmup(e); p < part.begin(e) + part.length(e); ++p)
      if (symbols[static_cast<std::size_t>(p)] != kNoSymbol) return true;
  return false;
}

}  // namespace

void report_unseen_values(const ExampleSet& part, const std::vector<std::string>& predicts, const char* name,
                          Reporter& reporter) {
  bool measured = part.count() == 0;
  std::string unseen;
  for (const std::string& field : predicts) {
    if (!part.has(field)) continue;
    const FieldColumn& column = part.column(field);
    measured = measured || column.unseen.empty() || predicts_known(part, field);
    if (!column.unseen.empty())
      unseen += fmt::format("{}{} of {} (the first is \"{}\")", unseen.empty() ? "" : ", ", column.unseen.size(), field,
                            column.unseen.begin()->second);
  }
  if (!measured)
    throw DataError(
        fmt::format("{}: no value to be predicted in the {} part occurs in training: {}; shuffle the examples, or "
                    "split them differently (--split, --valid)",
                    part.source(), name, unseen));
  if (!unseen.empty())
    reporter.remark(fmt::format(
        "the {} part contains values that do not occur in training: {}; they count as wrong and have no nats; if "
        "the order of the rows has no meaning, shuffle them; --split 100/0 trains on all of them",
        name, unseen));
}

void request_types(const DataSpecification& data, ReaderOptions& options) {
  for (const FieldSpecification& field : data.fields) {
    options.stops = options.stops || field.name.ends_with(kStopSuffix);
    if (field.type == FieldSpecification::Type::values) {
      options.numbers.push_back(field.name);
      continue;
    }
    options.texts.push_back(field.name);
    for (const TemplatePart& part : parse_template(field.name)) options.texts.push_back(part.field);
    if (field.name.ends_with(kStopSuffix)) continue;  // stops also occur with numbers
    // The origin of a derived field is text, too.
    for (std::size_t dot = field.name.rfind('.'); dot != std::string::npos && dot > 0;
         dot = field.name.rfind('.', dot - 1))
      options.texts.push_back(field.name.substr(0, dot));
  }
}

std::string tokenization_of(const Examples& examples) {
  const auto kind_of = [&](const char* name) {
    const ExampleColumn* column = examples.find(name);
    return to_string(column != nullptr && column->characters ? SymbolKind::chars : SymbolKind::words);
  };
  if (has_source(examples)) return fmt::format("{},{}", kind_of("source"), kind_of("target"));
  return std::string(kind_of("text"));
}

namespace {

Names column_names(const Examples& examples) {
  Names names;
  for (const ExampleColumn& column : examples.columns) names.push_back(column.name);
  return names;
}

}  // namespace

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
                                     : default_reads(examples, heads);
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
  s.read = joined(reads);

  FieldPlan plan;
  for (const Predicted& head : heads) {
    const ExampleColumn& column = examples.column(head.field);
    const std::string loss = head.loss.empty() ? default_loss(column) : head.loss;
    plan.layout.heads.push_back({.field = head.field, .loss = loss});
    plan.choice.predicts.push_back(head.field);
    if (head.at_end || column.once) plan.choice.once.insert(head.field);
    if (wants_raw_numbers(loss)) plan.choice.unstandardized.insert(head.field);
    if (*s.ahead == 0 && !grids && std::ranges::find(reads, head.field) != reads.end())
      throw UsageError(
          fmt::format("{} is read and predicted at the same position; --ahead 1 predicts it one position "
                      "ahead",
                      head.field));
  }
  for (const std::string& name : reads) {
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
  plan.problem = problem_of(plan.layout, plan.choice.once);
  if (s.ends) add_ends(examples, s, plan);
  if (has_source(examples)) add_decoder(plan, Problem::transducing);
  return plan;
}

Problem problem_of(const NetworkLayout& layout, const std::set<std::string, std::less<>>& once) {
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

namespace {

/// Optimizers that compare losses must see the same examples at every step: all of them, up to this number.
constexpr Index kWholeSet = 2048;
/// Positions that an optimizer that compares losses reads at once: about a gigabyte for every 10^6 with 20 units.
constexpr Index kMostWholePositions = 2'000'000;

/// Steps after which an optimizer that detects its convergence is stopped.
constexpr double kUntilConverged = 1000;

/// Returns whether the network reads fields that are derived in this way (data/examples/derived.h).
bool reads_derived(const FieldPlan& plan, std::string_view how) {
  const std::string ending = fmt::format(".{}", how);
  return std::ranges::any_of(plan.layout.reads,
                             [&](const std::string& read) { return read.find(ending) != std::string::npos; });
}
/// Returns whether the network reads word n-grams, that is, text with an open vocabulary.
bool reads_runs(const FieldPlan& plan) { return reads_derived(plan, "run"); }

/// Returns the number of epochs, more for small sets than for large ones, after which a network typically overfits.
double epochs_for(const Examples& examples, double to_read) {
  constexpr double kFewest = 5, kMost = 15;
  return std::clamp(std::round(to_read / static_cast<double>(std::max<Index>(1, examples.count()))), kFewest, kMost);
}

/// Small sets are trained for a fixed number of updates in small batches, because a few epochs contain only few
/// updates. Training ends early if validation has not improved for a third of the updates. REQUIRES a default budget.
void settle_small_set(const FieldPlan& plan, const Examples& examples, const Given& given, TrainSettings& s) {
  constexpr Index kUpdates = 600, kValidations = 60, kPatience = 20, kSmallestBatch = 4, kBatches = 16;
  if (plan.problem != Problem::classifying && plan.problem != Problem::tagging) return;
  if (readout_of(parse_model_spec(s.model))) return;
  const Index count = std::max<Index>(1, examples.count());
  if (static_cast<double>(count) * *s.epochs >= static_cast<double>(kUpdates * s.batch)) return;
  if (!given.contains(&TrainSettings::batch))
    s.batch = std::clamp(count / kBatches, kSmallestBatch, std::max(s.batch, kSmallestBatch));
  s.epochs = std::max(*s.epochs, std::ceil(static_cast<double>(kUpdates * s.batch) / static_cast<double>(count)));
  if (!validates(s)) return;
  if (!given.contains(&TrainSettings::validate_every)) s.validate_every = kUpdates / kValidations;
  if (!given.contains(&TrainSettings::early_stop)) s.early_stop = kPatience;
}

bool is_of_bits(const HeadSpecification& head) { return head.loss == "bernoulli"; }

/// Maximum number of labels for which a CRF costs little compared with the network.
constexpr std::size_t kFewLabels = 100;
bool has_few_labels(const ExampleColumn& column) {
  std::set<std::string_view> distinct;
  for (const std::string& text : column.texts)
    if (distinct.insert(text).second && distinct.size() > kFewLabels) return false;
  return column.is_text();
}

/// Optimizers whose metric needs independent rows.
bool wants_rows(const std::string& optimizer) {
  return std::ranges::any_of(std::array{"ruop", "rbpm", "ascent"},
                             [&](const char* name) { return optimizer.starts_with(name); });
}

/// By default, a network that reads whole sequences predicts all labels jointly (CRF).
void settle_label_loss(FieldPlan& plan, const Examples& examples, TrainSettings& s) {
  if (plan.problem == Problem::transducing) return;
  const ModelSpec model = parse_model_spec(s.model);
  if ((!model.both_directions && !is_linear(model)) || wants_rows(s.optimizer)) return;
  Names all = split_predicted(*s.predict, column_names(examples));
  for (std::size_t h = 0; h < plan.layout.heads.size(); ++h) {
    HeadSpecification& head = plan.layout.heads[h];
    if (!head.loss.empty() || plan.choice.once.contains(head.field)) continue;
    if (!has_few_labels(examples.column(head.field))) continue;
    head.loss = "crf";
    all[h] += "=crf";
  }
  s.predict = joined(all);
}

/// Returns whether only a target is predicted, symbol by symbol, and no numbers, unaligned labels or stops.
bool finds_by_symbols(const FieldPlan& plan) {
  const std::string& loss = plan.layout.heads.front().loss;
  return plan.layout.heads.size() == 1 && (loss.empty() || loss == "softmax");
}

/// Returns a tree-lstm with separate weights for each child, or one that sums over the children if there are many.
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

/// Labels at all nodes give much information from few trees; dropout limits memorization.
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
  switch (plan.problem) {
    case Problem::tagging:
      settle(&TrainSettings::model, kTaggingModel);
      if (!is_of_crf(s.model)) settle(&TrainSettings::optimizer, kTaggingOptimizer);
      if (!is_of_crf(s.model) && reads_derived(plan, "suffix")) settle(&TrainSettings::word_dropout, 0.1);
      if (!budget) s.epochs = kTaggingEpochs;
      settle_label_loss(plan, examples, s);
      break;
    case Problem::classifying:
      if (reads_runs(plan)) {  // the order of words matters little; their frequencies matter
        settle(&TrainSettings::model, kTextLabelModel);
        settle(&TrainSettings::optimizer, kTextLabelOptimizer);
        settle(&TrainSettings::word_dropout, 0.3);
        settle(&TrainSettings::batch, kTextLabelBatch);
        if (!budget) s.epochs = epochs_for(examples, 80'000);
        break;
      }
      settle(&TrainSettings::model, kLabelModel);
      settle(&TrainSettings::optimizer, kLabelOptimizer);
      if (!budget) s.epochs = epochs_for(examples, 40'000);
      break;
    case Problem::forecasting:
      if (of_bits) {
        settle(&TrainSettings::model, "lstm:256,dropout=0.5,embedding=128");
        // Small corpora are memorized: regularization and the number of steps decide.
        settle(&TrainSettings::optimizer, "adamw:rate=0.003,clip=1,decay=0.4,schedule=cosine,warmup=100");
        settle(&TrainSettings::batch, Index{8});
        if (!budget) s.epochs = 60;
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
      // Nats increase again long before the error rate of targets stops improving.
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
                       (plan.problem == Problem::forecasting && of_bits);
  if (everything)
    settle(&TrainSettings::batch, std::max<Index>(1, examples.count()));
  else if (!settled || compares)
    settle(&TrainSettings::batch, compares ? kWholeSet : Index{16});
  if (!budget && !everything && !compares) settle_small_set(plan, examples, given, s);
  const bool affordable = compares && examples.positions() <= kMostWholePositions;  // otherwise memory does not suffice
  const bool cut = plan.problem == Problem::forecasting && !parse_model_spec(s.model).both_directions && !affordable;
  if (!given.contains(&TrainSettings::whole_sequences) && !given.contains(&TrainSettings::window))
    s.whole_sequences = !cut;
  if (parse_model_spec(s.model).both_directions && !s.whole_sequences)
    throw UsageError(fmt::format("{} reads whole sequences, from both ends: leave out --window", s.model));
}

void check_fields(const FieldPlan& plan, const Examples& examples, const TrainSettings& s) {
  for (const HeadSpecification& head : plan.layout.heads) check_loss_domain(examples, head.field, head.loss);
  // A decoder reads its own output so far, and a grid network the positions before the predicted one.
  if (examples.are_grids()) return;
  if (plan.problem == Problem::transducing || plan.problem == Problem::generating || names_density(s.model)) return;
  refuse_leaks(examples, plan.layout.reads, plan.choice.predicts, parse_model_spec(s.model).both_directions);
}

}  // namespace unfold
