#include "app/predict/predict.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/fields/condition.h"
#include "app/fields/density_data.h"
#include "app/fields/evaluation/field_metrics.h"
#include "app/fields/evaluation/transduction_metrics.h"
#include "app/fields/example_split.h"
#include "app/fields/field_model.h"
#include "app/fields/field_reading.h"
#include "app/fields/field_stepper.h"
#include "app/fields/field_stream.h"
#include "app/predict/forecast.h"
#include "app/predict/n_best.h"
#include "app/predict/predicted_columns.h"
#include "app/predict/predictions.h"
#include "app/predict/table_writer.h"
#include "base/options/integer_range.h"
#include "base/options/shell_argument.h"
#include "data/readers/conllu_lines.h"
#include "data/readers/memory_data.h"
#include "data/readers/open_data.h"
#include "data/schema/table_schema.h"
#include "loss/hmm/hidden_states.h"
#include "model/network/fitting/hmm_fit.h"

namespace unfold {
namespace {

/// Divides the examples into portions whose results take at most 128 MB, or that consist of one example: with
/// --probabilities, a position has a number for each class. All examples form one portion if a result depends on the
/// index of the example, or if results are small.
template <class T>
std::vector<std::vector<Index>> portions_of(const NetworkModel<T>& model, const ExampleSet& set,
                                            const PredictRequest& request) {
  constexpr Index kMostNumbers = Index{1} << 24;
  std::vector<std::vector<Index>> portions(1);
  bool divides = request.probabilities && !PredictionKind<T>(model, request).finds;
  Index each = 0, numbers = 0;
  for (const Head<T>& head : model.network().heads) {
    each += head.signal.size();
    divides = divides && model.data().field(head.field).type == FieldSpecification::Type::symbols;
  }
  for (Index e = 0; e < set.count(); ++e) {
    numbers += each * set.length(e);
    if (divides && numbers > kMostNumbers && !portions.back().empty()) {
      portions.emplace_back();
      numbers = each * set.length(e);
    }
    portions.back().push_back(e);
  }
  return portions;
}

/// Returns the lines of CoNLL-U files that are not positions; empty if there are none. Standard input must be kept
/// (Input::keep) for this second reading.
std::optional<ConlluLines> conllu_lines_of(const Model& model, const std::vector<std::string>& files) {
  if (model.data().source != "columns" || files.empty() || MemoryFiles::find(files.front()) != nullptr) return {};
  ConlluLines lines(open_data(files, "columns"));
  return lines.empty() ? std::nullopt : std::optional(std::move(lines));
}

/// Predicts all examples and writes the results.
template <class T>
void write_predictions(const NetworkModel<T>& model, Examples examples, const PredictRequest& request,
                       const std::function<void(std::string_view)>& write, Reporter& reporter) {
  std::optional<ConlluLines> others;
  if (!examples.are_trees() && request.format == TableFormat::tsv) others = conllu_lines_of(model, request.data);
  if (others && others->positions() != examples.positions()) others.reset();
  const auto data = std::make_shared<const DataSpecification>(model.data());
  const ExampleSet set(examples, data, {});  // unseen labels do not matter here
  reporter.remark(fmt::format("{} examples, {} positions", set.count(), set.positions()));
  Team team(thread_count(request.threads));
  const std::string symbols = stored_settings(model).symbols;
  const auto write_portion = [&](Examples portion, const ExampleSet& numbers, bool first) {
    std::vector<AddedColumn> added = predictions(model, numbers, request, team);
    mark_integers(model, portion, added);
    if (model.data().found) portion.parents = found_parents(model, numbers, team);
    drop_constant(model.spec(), portion);
    const TableWriter writer(portion, added, symbols, write, others ? &*others : nullptr);
    const bool rows =
        has_independent_rows(portion) ||
        (model.data().source == kRecords && (portion.schema == nullptr || portion.schema->text() == nullptr));
    if (request.format == TableFormat::jsonl) return rows ? writer.json_rows() : writer.jsonl();
    if (first)
      writer.heading();
    else if (writer.has_runs())
      write("\n");
    writer.rows();
  };
  const std::vector<std::vector<Index>> portions = portions_of(model, set, request);
  if (portions.size() == 1)
    write_portion(std::move(examples), set, true);
  else
    for (const std::vector<Index>& portion : portions)
      write_portion(subset(examples, portion), set.subset(portion), &portion == &portions.front());
  if (others) others->end([&](std::string_view line) { write(fmt::format("{}\n", line)); });
}

/// Restores the row order of a table in memory, which grouping and sorting by time have changed.
template <class Entry>
void restore_order(const std::vector<Index>& rows, std::vector<Entry>& entries) {
  if (entries.size() != rows.size()) return;
  std::vector<Entry> restored(entries.size());
  for (std::size_t i = 0; i < rows.size(); ++i) restored[at(rows[i] - 1)] = std::move(entries[i]);
  entries = std::move(restored);
}

/// Predicts all examples and returns columns.
template <class T>
std::vector<PredictedColumn> prediction_columns(const NetworkModel<T>& model, const Examples& examples,
                                                const PredictRequest& request) {
  const ExampleSet set(examples, std::make_shared<const DataSpecification>(model.data()), {});
  Team team(thread_count(request.threads));
  std::vector<PredictedColumn> columns;
  for (const std::vector<Index>& portion : portions_of(model, set, request)) {
    std::vector<AddedColumn> added = predictions(model, set.subset(portion), request, team);
    columns.resize(added.size());
    for (std::size_t c = 0; c < added.size(); ++c) {
      columns[c].name = added[c].name;
      columns[c].once = added[c].once;
      std::ranges::move(added[c].texts, std::back_inserter(columns[c].texts));
      columns[c].numbers.insert(columns[c].numbers.end(), added[c].numbers.begin(), added[c].numbers.end());
    }
  }
  const bool sorted = std::ranges::is_sorted(examples.lines);
  if (sorted || request.data.empty() || MemoryFiles::find(request.data.front()) == nullptr) return columns;
  for (PredictedColumn& column : columns) {
    if (column.once) continue;
    restore_order(examples.lines, column.texts);
    restore_order(examples.lines, column.numbers);
  }
  return columns;
}

/// Predicts a stream piece by piece.
template <class T>
void follow_stream(const NetworkModel<T>& model, const PredictRequest& request,
                   const std::function<void(std::string_view)>& write, Reporter& reporter) {
  const PredictionKind<T> kind(model, request);
  if (request.best > 1 && !kind.finds && !kind.decodes)
    throw UsageError("--best is not supported for labels with --follow; leave one of them out");
  if (request.constraint) throw UsageError("--constraint is not supported with --follow; leave one of them out");
  if (request.sampled)
    throw UsageError(
        "--sample is not supported with --follow, because the examples of a stream are not numbered; leave out one of "
        "them");
  if (request.ahead > 0)
    throw UsageError(
        "--ahead cannot be combined with --follow, because it needs the end of the data; leave one of them out");
  if (request.data.size() != 1) throw UsageError("--follow reads one stream; name one file, or - for standard input");
  const bool by_row = goes_row_by_row(model) && !kind.finds && !kind.decodes;
  FieldStream stream(request.data.front(), reader_options_for(model, request.stated), model.data(),
                     by_row ? StreamPiece::row : StreamPiece::example, lookback(model), &reporter);
  const auto data = std::make_shared<const DataSpecification>(model.data());
  const bool json = request.format == TableFormat::jsonl;
  const std::string symbols = stored_settings(model).symbols;
  Team team(by_row ? 1 : thread_count(request.threads));
  std::optional<FieldStepper<T>> stepper;
  if (by_row) stepper.emplace(model, team);
  bool first = true;
  for (Examples piece; stream.next(piece);) {
    report_reader_notes(piece, reporter);
    if (by_row && stream.begins()) stepper->reset();
    give(model, request.given, piece);
    const ExampleSet set(by_row ? stream.window() : piece, data, {});
    std::vector<AddedColumn> added =
        by_row ? stepped_columns(model, set, *stepper, request) : predictions(model, set, request, team);
    mark_integers(model, piece, added);
    if (model.data().found) piece.parents = found_parents(model, set, team);
    drop_constant(model.spec(), piece);
    const TableWriter writer(piece, added, symbols, write);
    if (json) {
      by_row || has_independent_rows(piece) ? writer.json_rows() : writer.jsonl();
      continue;
    }
    if (std::exchange(first, false))
      writer.heading();
    else if (writer.has_runs() && (!by_row || stream.begins()))
      write("\n");
    writer.rows();
  }
}

/// Returns whether --probabilities adds columns for classes, tags or hidden states.
template <class T>
bool has_probabilities(const NetworkModel<T>& model) {
  return std::ranges::any_of(model.network().heads, [&](const Head<T>& head) {
    return model.data().field(head.field).type == FieldSpecification::Type::symbols ||
           head.loss->template as<HiddenStates<T>>() != nullptr;
  });
}

/// Rejects options that do not apply to forecasts: a forecast requires the end of the data and contains only later
/// positions.
template <class T>
void check_ahead(const NetworkModel<T>& model, const PredictRequest& request) {
  if (request.ahead == 0) return;
  const DataSpecification& data = model.data();
  for (const Head<T>& head : model.network().heads)
    if (head.loss->template as<HiddenStates<T>>() != nullptr && !is_hidden_markov(model.spec()))
      throw UsageError(
          fmt::format("{} infers hidden states of existing positions and does not forecast; --model gaussian-hmm:K "
                      "without a network "
                      "does",
                      model.spec_text()));
  if (data.grids || data.trees)
    throw UsageError(fmt::format(
        "--ahead continues sequences and does not apply to a {0}; use predict without --ahead for the existing {0}s",
        data.grids ? "grid" : "tree"));
  if (request.constraint) throw UsageError("--constraint cannot be combined with --ahead; leave one of them out");
  if (request.probabilities && is_hidden_markov(model.spec()))
    throw UsageError(
        "--probabilities of hidden states applies only to existing positions, not to positions beyond the end "
        "(--ahead); leave out one of the two options");
  if (request.best > 1)
    throw UsageError(
        "--best applies only to existing positions, not to positions beyond the end (--ahead); leave out one of the "
        "two options");
}

/// Returns the message for a request without data. `finds`: the model finds sequences that conditions may define.
std::string missing_data(const PredictRequest& request, bool finds) {
  if (finds) return "predict needs DATA, or --given FIELD=VALUE";
  const std::string format = "in the format that the model was trained on";
  if (request.ahead == 0) return fmt::format("predict needs DATA: a file {}", format);
  return fmt::format(
      "predict needs DATA: the sequences that --ahead {0} continues, {1}, such as the training data: unfold predict "
      "{2} DATA --ahead {0}",
      request.ahead, format, shell_argument(request.model));
}

}  // namespace

void predict(const PredictRequest& request, const std::function<void(std::string_view)>& write, Reporter& reporter) {
  require_in_range("ahead", request.ahead, 0, kMaxAhead);
  require_in_range("samples", request.samples, 1, kMaxSamples);
  require_in_range("beam", request.beam, 1, kMaxAnswers);
  require_in_range("best", request.best, 1, kMaxAnswers);
  with_model_of(request, [&]<class T>(const NetworkModel<T>& model) {
    const bool labels =
        std::ranges::any_of(model.network().heads, [](const Head<T>& head) { return has_n_best(head); });
    const auto& [source, finds, decodes, numbers, searches] = PredictionKind<T>(model, request);
    if (decodes && request.sampled && (request.beam > 1 || request.best > 1))
      throw UsageError("--beam and --best cannot be combined with --sample; leave out one of them");
    if (!finds && (searches || !request.given.empty()))
      throw UsageError(
          "--beam, --sample, --attention and --given apply only to models that read a source (--format pairs) or "
          "predict whole sequences (train --ends); --beam and --sample also to models that read earlier labels");
    if (!finds && !labels && !decodes && request.best > 1 && !request.constraint)
      throw UsageError(
          "--best applies only to labels of whole sequences (crf, ctc), to models that read a source or earlier "
          "labels, "
          "and to models that predict whole sequences");
    if (finds && request.ahead > 0)
      throw UsageError(
          "--ahead continues sequences beyond their end, but this model predicts the end itself; omit --ahead");
    check_ahead(model, request);
    if (request.probabilities && !has_probabilities(model))
      throw UsageError(
          fmt::format("--probabilities applies only to classes, tags and hidden states, but {} predicts numbers; omit "
                      "--probabilities: the columns F.q10 and F.q90 are quantiles of each number F",
                      model.spec_text()));
    const bool invented = request.data.empty();
    if (numbers && (searches || (invented && !request.follow)))
      throw UsageError(
          fmt::format("{} contains numbers; use `unfold sample {}` to sample sequences, or predict with DATA and "
                      "without search options, which gives the next value at every position",
                      target_field(model), request.model));
    if (request.follow) return follow_stream<T>(model, request, write, reporter);
    if (invented && request.given.empty()) throw UsageError(missing_data(request, finds));
    if (model.data().source == "columns")
      for (const std::string& file : request.data)
        if (MemoryFiles::find(file) == nullptr) Input::keep(file);
    Examples examples = invented ? conditioned_examples(model, request.given, 1)
                                 : read_for(model, request.data, &reporter, request.stated);
    if (!invented) give(model, request.given, examples);
    if (request.ahead > 0) return forecast<T>(model, examples, request, write, reporter);
    write_predictions(model, std::move(examples), request, write, reporter);
  });
}

std::vector<PredictedColumn> predict_columns(const PredictRequest& request, Reporter& reporter) {
  return with_model_of(request, [&]<class T>(const NetworkModel<T>& model) {
    const PredictionKind<T> kind(model, request);
    if (kind.finds || kind.searches || request.ahead > 0 || request.follow)
      throw UsageError(fmt::format("{} cannot be returned as columns; write the predictions to a file",
                                   request.ahead > 0 ? "forecasts"
                                   : request.follow  ? "predictions for a stream"
                                                     : "targets that are found by a search"));
    return prediction_columns(model, read_for(model, request.data, &reporter, request.stated), request);
  });
}

bool holds_field_model(const std::string& model) {
  try {
    const ModelFile file = ModelFile::open(model_file(model));
    return file.kind() == NetworkModel<float>::kKind && readers().find(file.data().source) != nullptr;
  } catch (const ModelError&) {
    return false;  // the loader reports the error
  }
}

}  // namespace unfold
