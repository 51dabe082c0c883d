#include "app/fields/field_reading.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>
#include "app/fields/density_data.h"
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
#include "data/schema/require_column.h"
#include "data/text/example_weights.h"
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

using Names = std::vector<std::string>;

/// Returns whether the column is a source sequence with its own length.
bool is_long_source(const ExampleColumn& column) { return column.source && !column.once; }

}  // namespace

bool has_source(const Examples& examples) { return std::ranges::any_of(examples.columns, is_long_source); }

bool has_independent_rows(const Examples& examples) {
  return examples.schema != nullptr && examples.schema->independent_rows;
}

std::vector<std::string> column_names(const Examples& examples) {
  Names names;
  for (const ExampleColumn& column : examples.columns)
    if (column.name != kExampleWeights) names.push_back(column.name);
  return names;
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
  if (s.weights) {
    options.weights = *s.weights;
    options.numbers.push_back(*s.weights);
  }
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
  if (s.weights && !known.empty()) require_column("--weights", *s.weights, known);
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
    if (is_one_of(
            {"normal", "log-normal", "student-t", "gaussian", "mixture", "bernoulli", "poisson", "negative-binomial"}))
      options.numbers.push_back(head.field);
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

namespace {

/// The schema of a table does not know which column contains the weights.
void require_target_beside_weights(const Examples& examples, const TrainSettings& s) {
  if (!s.weights || s.predict || examples.schema == nullptr) return;
  const ColumnSchema* weights = examples.schema->find(*s.weights);
  if (weights != nullptr && weights->role == ColumnRole::predicted)
    throw UsageError(
        fmt::format("--weights {0}: without --predict, {0} would be the predicted field; name it with --predict FIELD",
                    *s.weights));
}

/// Returns whether the model, or the fields that it reads and predicts, relate the rows of a table to each other.
bool needs_sequences(const TrainSettings& s) {
  if (s.rows || !density_rows(s).field.empty()) return false;
  if (s.ends || s.ahead.value_or(0) > 0 || is_of_crf(s.model) || is_hidden_markov(parse_model_spec(s.model)))
    return true;
  return std::ranges::any_of(split_names(s.read.value_or("")),
                             [](const std::string& name) { return parse_read(name).back != 0; });
}

}  // namespace

ReaderOptions training_reader_options(const TrainSettings& s, const std::vector<std::string>& columns) {
  ReaderOptions options = reader_options(s);
  choose_columns(columns, s, options);
  choose_types(s, columns, options);
  if (needs_sequences(s)) options.schema.rows = RowMeaning::sequence;
  return options;
}

namespace {

/// Removes the column that groups the rows from the inputs, which a note of the schema states. If the user has chosen
/// this column, reading it is an error.
void leave_out_group(const Examples& examples, TrainSettings& s) {
  if (!s.read || s.sequences) return;
  Names reads = split_names(*s.read, column_names(examples));
  for (const ColumnSchema& column : examples.schema->columns)
    if (column.role == ColumnRole::group && std::erase(reads, column.name) > 0)
      s.read = fmt::format("{}", fmt::join(reads, ","));
}

}  // namespace

Examples read_training_fields(TrainSettings& s, Reporter& reporter) {
  ReaderOptions options = reader_options(s);
  MemoryData* memory = memory_of(s.data);
  const std::vector<Input> inputs = memory == nullptr ? open_data(s.data, options.format) : std::vector<Input>();
  options = training_reader_options(s, memory != nullptr ? column_names_of(*memory, options)
                                       : inputs.empty()  ? Names()
                                                         : column_names_of(inputs.front(), options));
  Examples examples = memory != nullptr ? read_memory(*memory, options) : read_inputs(inputs, options);
  report_reader_notes(examples, reporter);
  if (!options.rows.field.empty() || examples.schema == nullptr) return examples;
  refuse_header_only(*examples.schema);
  require_target_beside_weights(examples, s);
  reporter.remark(describe_briefly(*examples.schema));
  if (!s.read && !s.predict) refuse_rows_of_periods(*examples.schema);
  leave_out_group(examples, s);
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
        "the {} part contains values that do not occur in training: {}; they count as wrong and are left out of the "
        "loss; if the order of the rows has no meaning, shuffle the rows; --split 100/0 trains on all of them",
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
    // The field from which a field is derived is text, too.
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

}  // namespace unfold
