#include "app/settings/setting_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/readers/example_reader.h"
#include "unfold/data/tasks/task_spec.h"

namespace unfold {

OptionRow format_row(TrainSettings& s) {
  std::vector<std::string> formats = {"text", kLogFormat, "fasta", "fastq"};
  for (std::string& name : readers().names()) formats.push_back(std::move(name));
  return {.name = "format",
          .target = &s.format,
          .placeholder = "FORMAT",
          .help = fmt::format("format of DATA: {}", fmt::join(formats, ", ")),
          .choices = formats,
          .keep = Keep::model,
          .default_text = "detected from the file name and the first lines",
          .group = OptionGroup::data,
          .common = true,
          .kinds = kFiniteFiles};
}

OptionRow row_meaning_row(TrainSettings& s) {
  return {.name = "rows",
          .target = &s.rows,
          .placeholder = "MEANING",
          .help =
              "tables: independent (each row is an example) or sequence (the rows, or the rows of each group, follow "
              "each other)",
          .choices = {"independent", "sequence"},
          .keep = Keep::model,
          .default_text = "the schema of the table, see unfold inspect",
          .group = OptionGroup::data,
          .common = true,
          .kinds = kFields};
}

OptionRows table_rows(TrainSettings& s) {
  OptionRows rows;
  rows.push_back({.name = "sequences",
                  .target = &s.sequences,
                  .placeholder = "FIELD",
                  .help = "tables: rows with the same value in this column form a sequence; alias: --group",
                  .default_text = "the schema of the table, see unfold inspect",
                  .common = true,
                  .aliases = {"group"}});
  rows.push_back({.name = "order",
                  .target = &s.order,
                  .placeholder = "FIELD",
                  .help = "tables: order the rows of each sequence by this column of dates or numbers",
                  .default_text = "the schema of the table",
                  .common = true});
  rows.push_back(
      {.name = "types",
       .target = &s.types,
       .placeholder = "FIELD=TYPE,...",
       .help = "tables: types of columns: number, integer, category, text, words, characters, date, date:PATTERN, id",
       .default_text = "inferred, see unfold inspect",
       .common = true});
  rows.push_back({.name = "missing",
                  .target = &s.missing,
                  .placeholder = "A,B,...",
                  .help = "tables: further cells that represent missing values, besides null, NA, nan, ..."});
  rows.push_back({.name = "default-missing",
                  .target = &s.default_missing,
                  .placeholder = "yes|no",
                  .help = "tables: whether null, NA, nan, ... (docs/data.md) represent missing values; no: only empty "
                          "cells and those of --missing",
                  .choices = {"yes", "no"},
                  .default_text = "yes"});
  rows.push_back({.name = "decimal",
                  .target = &s.decimal,
                  .placeholder = "comma|point",
                  .help = "tables: decimal mark in numbers",
                  .choices = {"comma", "point"},
                  .default_text = "inferred"});
  rows.push_back({.name = "thousands",
                  .target = &s.thousands,
                  .placeholder = "MARK",
                  .help = "tables: thousands separator in numbers",
                  .choices = {"none", "comma", "point", "space"},
                  .default_text = "inferred"});
  rows.push_back({.name = "header",
                  .target = &s.header,
                  .placeholder = "yes|no",
                  .help = "tables: whether the first row contains the column names",
                  .choices = {"yes", "no"},
                  .default_text = "inferred"});
  rows.push_back({.name = "comment",
                  .target = &s.comment,
                  .placeholder = "PREFIX",
                  .help = "tables: skip lines that begin with this text",
                  .default_text = "none"});
  rows.push_back({.name = "bad-rows",
                  .target = &s.bad_rows,
                  .placeholder = "error|skip",
                  .help = "tables: rows with a cell that does not fit its column, or with more or fewer cells than the "
                          "others: stop with an error, or skip them and report how many",
                  .choices = {"error", "skip"},
                  .default_text = "error"});
  for (OptionRow& row : rows) {
    row.keep = Keep::model;
    row.group = OptionGroup::data;
    row.kinds = kFields;
  }
  return rows;
}

OptionRows choice_rows(TrainSettings& s) {
  OptionRows rows;
  rows.push_back({.name = "read",
                  .target = &s.read,
                  .placeholder = "FIELD,...",
                  .help = "input fields; FIELD.lower, .shape, .prefix3, .suffix3 are derived from text fields",
                  .keep = Keep::model,
                  .default_text = "all others, and predicted numbers; tables: see unfold inspect",
                  .group = OptionGroup::data,
                  .common = true,
                  .kinds = kFields});
  rows.push_back(
      {.name = "predict",
       .target = &s.predict,
       .placeholder = "FIELD,...",
       .help = "output fields; FIELD@end: once, at the end; FIELD=LOSS: normal, log-normal, student-t, mixture:5, "
               "gaussian, bernoulli, poisson, negative-binomial, softmax",
       .keep = Keep::model,
       .default_text = "label, notes, value, or the only candidate",
       .group = OptionGroup::data,
       .common = true,
       .kinds = kFields});
  rows.push_back({.name = "ahead",
                  .target = &s.ahead,
                  .placeholder = "K",
                  .help = "offset in positions from input to prediction",
                  .least = 0,
                  .most = 1e6,
                  .keep = Keep::model,
                  .default_text = "1 if a predicted field is also an input, otherwise 0",
                  .group = OptionGroup::data,
                  .common = true,
                  .kinds = kFields});
  return rows;
}

void add_data_rows(OptionRows& rows, TrainSettings& s) {
  std::string known;
  for (const TaskHelp& task : tasks()) known += (known.empty() ? "" : ", ") + task.name;
  rows.push_back(
      {.name = "data",
       .target = &s.data,
       .placeholder = "DATA...",
       .help = "files (also .gz, .xz, .zst; - is standard input): text (one sequence per file) or data with fields",
       .least = 0,
       .most = std::numeric_limits<double>::infinity(),
       .keep = Keep::fixed,
       .file = FileUse::data,
       .group = OptionGroup::data,
       .is_input = true});
  rows.push_back(format_row(s));
  for (OptionRow& row : choice_rows(s)) rows.push_back(std::move(row));
  rows.push_back(row_meaning_row(s));
  for (OptionRow& row : table_rows(s)) {
    if (address_of(row.target) == &s.sequences) {
      row.help =
          "tables: rows with the same value in this column form a sequence; logs: lines with the same value of "
          "this field, such as request_id or pid, form a session; also spelled --group";
      row.default_text =
          "tables: their schema, see unfold inspect; logs: the field that makes the order of lines most "
          "predictable";
      row.kinds = kFields | Kind::log;
    }
    rows.push_back(std::move(row));
  }
  rows.push_back({.name = "weights",
                  .target = &s.weights,
                  .placeholder = "FIELD",
                  .help =
                      "a field of numbers of at least 0, one per example, which multiply the losses of the examples; "
                      "examples with weight 0 are left out",
                  .keep = Keep::model,
                  .default_text = "all are 1",
                  .group = OptionGroup::data,
                  .kinds = kFields});
  rows.push_back({.name = "ends",
                  .target = &s.ends,
                  .placeholder = "HOW",
                  .help = "predict whole sequences including their ends: symbol, stop (a separate unit), or a length "
                          "model: geometric, poisson, negative-binomial, table",
                  .keep = Keep::model,
                  .group = OptionGroup::data,
                  .kinds = kFields});
  rows.push_back({.name = "trees",
                  .target = &s.trees,
                  .placeholder = "SHAPE",
                  .help = "trees for data with fields: heads (from CoNLL-U), or over the words of sentences and trees: "
                          "balanced, left, right, or found (latent trees)",
                  .choices = {"heads", "balanced", "left", "right", "found"},
                  .keep = Keep::model,
                  .group = OptionGroup::data,
                  .kinds = kFields});
  rows.push_back({.name = "test",
                  .target = &s.test,
                  .placeholder = "FILE",
                  .help = "data with fields: evaluate the best model on this file at the end",
                  .keep = Keep::fixed,
                  .file = FileUse::data,
                  .group = OptionGroup::data,
                  .kinds = kFields});
  rows.push_back({.name = "word-dropout",
                  .target = &s.word_dropout,
                  .placeholder = "SHARE",
                  .help = "data with fields: fraction of positions whose inputs are dropped in training",
                  .least = 0,
                  .most = 0.99,
                  .keep = Keep::model,
                  .group = OptionGroup::loss,
                  .kinds = kFields,
                  .default_varies = true});
  rows.push_back({.name = "shift",
                  .target = &s.shift,
                  .placeholder = "N",
                  .help = "images and other grids: random shift by up to N positions in training",
                  .least = 0,
                  .most = 1024,
                  .keep = Keep::model,
                  .group = OptionGroup::loss,
                  .kinds = kFields,
                  .default_varies = true});
  rows.push_back({.name = "log-rules",
                  .target = &s.log_rules,
                  .placeholder = "FILE",
                  .help = "with --format log: custom rules, tried before the built-in ones (docs/logs.md)",
                  .keep = Keep::fixed,
                  .file = FileUse::data,
                  .group = OptionGroup::data,
                  .kinds = kText});
  rows.push_back({.name = "record-start",
                  .target = &s.record_start,
                  .placeholder = "REGEX",
                  .help = "logs: lines that do not match REGEX, such as those of a stack trace, belong to the line "
                          "before them; '': each line is a record",
                  .keep = Keep::fixed,
                  .default_text = "stack traces and indented lines are joined; in logs without times, only if training "
                                  "contains none",
                  .group = OptionGroup::data,
                  .kinds = kText});
  rows.push_back({.name = "symbols",
                  .target = &s.symbols,
                  .placeholder = "KIND",
                  .help = "the symbols of text: bytes, chars or words",
                  .keep = Keep::model,
                  .group = OptionGroup::data,
                  .common = true,
                  .kinds = kFiles,
                  .default_varies = true});
  rows.push_back({.name = "vocabulary",
                  .target = &s.vocabulary,
                  .placeholder = "N",
                  .help = "words: keep the N most frequent, the others become <unk>; 0: keep all",
                  .least = 0,
                  .keep = Keep::model,
                  .group = OptionGroup::data,
                  .kinds = kFiniteText});
  rows.push_back({.name = "label-column",
                  .target = &s.label_column,
                  .help = "the first column of every line is a label, which the model does not read",
                  .keep = Keep::model,
                  .group = OptionGroup::data,
                  .common = true,
                  .kinds = kFiniteText | Kind::task});
  rows.push_back({.name = "only-label",
                  .target = &s.only_label,
                  .placeholder = "LABEL",
                  .help =
                      "with --label-column: read only lines with this label; for anomaly detection, use the label of "
                      "normal lines, so that the model does not learn anomalies",
                  .keep = Keep::model,
                  .group = OptionGroup::data,
                  .kinds = kFiniteText | Kind::task});
  rows.push_back({.name = "lines",
                  .target = &s.lines,
                  .help = "each line is a separate sequence",
                  .keep = Keep::model,
                  .group = OptionGroup::data,
                  .common = true,
                  .kinds = kFiniteText});
  rows.push_back({.name = "split",
                  .target = &s.split,
                  .placeholder = "A/B[/C]",
                  .help = "percentages for training, validation and test",
                  .keep = Keep::model,
                  .default_text = std::string(kDefaultSplit) + " without --valid",
                  .group = OptionGroup::data,
                  .common = true,
                  .kinds = kFiniteFiles});
  rows.push_back({.name = "valid",
                  .target = &s.valid,
                  .placeholder = "FILE",
                  .help = "validate on this file and train on all of DATA",
                  .keep = Keep::fixed,
                  .file = FileUse::data,
                  .group = OptionGroup::data,
                  .common = true,
                  .kinds = kFiniteFiles});
  rows.push_back({.name = "unknown",
                  .target = &s.unknown,
                  .placeholder = "error|skip",
                  .help = "for symbols or labels of --valid that do not occur in DATA: stop, or skip them",
                  .keep = Keep::model,
                  .group = OptionGroup::data,
                  .kinds = kFiniteFiles});
  rows.push_back({.name = "task",
                  .target = &s.task,
                  .placeholder = "SPEC",
                  .help = "instead of text: examples of a task, generated without limit if possible: " + known,
                  .keep = Keep::model,
                  .group = OptionGroup::data,
                  .common = true});
  rows.push_back({.name = "validate-on",
                  .target = &s.validate_on,
                  .placeholder = "N",
                  .help = "tasks: number of examples per validation",
                  .least = 1,
                  .most = 1e7,
                  .keep = Keep::model,
                  .group = OptionGroup::validation,
                  .kinds = kTask});
  rows.push_back({.name = "goal-error",
                  .target = &s.goal_error,
                  .placeholder = "X",
                  .help = "tasks: stop when at most this fraction of validation sequences is wrong",
                  .least = 0,
                  .most = 1,
                  .keep = Keep::model,
                  .group = OptionGroup::validation,
                  .kinds = kTask});
  rows.push_back({.name = "predict-after",
                  .target = &s.predict_after,
                  .placeholder = "SYMBOL",
                  .help = "predict only the symbols that follow this one",
                  .keep = Keep::model,
                  .group = OptionGroup::data,
                  .kinds = kFiniteText});
  rows.push_back({.name = "mask",
                  .target = &s.mask,
                  .placeholder = "FILE",
                  .help = "a file with 1 for every symbol of DATA to be predicted and 0 for the others",
                  .keep = Keep::fixed,
                  .file = FileUse::data,
                  .group = OptionGroup::data,
                  .kinds = kFiniteText});
  rows.push_back({.name = "valid-mask",
                  .target = &s.valid_mask,
                  .placeholder = "FILE",
                  .help = "like --mask, but for the --valid file",
                  .keep = Keep::fixed,
                  .file = FileUse::data,
                  .group = OptionGroup::data,
                  .kinds = kFiniteText});
}

}  // namespace unfold
