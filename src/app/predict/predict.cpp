#include "app/predict/predict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/fields/condition.h"
#include "app/fields/density_data.h"
#include "app/fields/example_split.h"
#include "app/fields/field_entries.h"
#include "app/fields/field_metrics.h"
#include "app/fields/field_model.h"
#include "app/fields/field_reading.h"
#include "app/fields/field_stepper.h"
#include "app/fields/field_stream.h"
#include "app/fields/transduction_metrics.h"
#include "app/predict/constraint.h"
#include "app/predict/forecast.h"
#include "app/predict/n_best.h"
#include "app/predict/predicted_columns.h"
#include "base/options/integer_range.h"
#include "base/printable.h"
#include "data/readers/memory_data.h"
#include "data/schema/numeric_cell.h"
#include "data/schema/table_schema.h"
#include "loss/crf/label_sequences.h"
#include "loss/ctc/unaligned_labels.h"
#include "loss/distribution.h"
#include "loss/hmm/hidden_states.h"
#include "numerics/functions.h"

namespace unfold {
namespace {

using Json = nlohmann::ordered_json;
using Type = FieldSpecification::Type;

/// The quantiles reported with a mean.
constexpr double kLow = 0.1, kHigh = 0.9;

constexpr const char* kParentColumn = "parent";
constexpr const char *kGridRow = "row", *kGridColumn = "column";

/// An added column of strings or numbers.
struct Added {
  std::string name;
  bool once = false;
  std::vector<std::string> texts = {};
  std::vector<double> numbers = {};
  std::vector<Json> values = {};  ///< only for JSON lines
  double deviation = 1;           ///< of the numbers; determines their digits
  bool integers = false;          ///< the strings are integers

  Json json(Index entry) const {
    if (!values.empty()) return values[at(entry)];
    if (texts.empty()) return numbers[at(entry)];
    return entry_json({.name = name, .texts = {texts[at(entry)]}, .integers = integers}, 0);
  }
  std::string text(Index entry) const {
    return texts.empty() ? predicted_number(numbers[at(entry)], deviation) : texts[at(entry)];
  }
};

/// The columns of one head, filled row by row.
template <class T>
class HeadColumns {
 public:
  HeadColumns(const Head<T>& head, const FieldSpecification& field, Index entries, bool probabilities)
      : head_(head), field_(field), classes_(field.type == Type::symbols && probabilities) {
    const auto add = [&](const std::string& what, bool texts) {
      Added& column = columns_.emplace_back(Added{.name = field.name + "." + what, .once = field.once});
      if (texts)
        column.texts.resize(at(entries));
      else
        column.numbers.resize(at(entries));
    };
    if (field.type == Type::symbols) {
      unsegmented_ = head.loss->template as<Unsegmented<T>>() != nullptr;
      if (head.loss->template as<LabelSequences<T>>() == nullptr && !unsegmented_)
        head.loss->template need<Categorical<T>>("predict");
      for (Symbol x = 0; x < field.size; ++x) names_.emplace_back(field.alphabet->text(x));
      add("best", true);
      add("probability", false);
      for (std::size_t x = 0; classes_ && x < names_.size(); ++x) add(names_[x], false);
      return;
    }
    if (const auto* hidden = head.loss->template as<HiddenStates<T>>()) {
      for (Index k = 1; k <= hidden->states(); ++k) names_.push_back(std::to_string(k));
      classes_ = probabilities;
      add("state", true);
      add("probability", false);
      for (std::size_t k = 0; classes_ && k < names_.size(); ++k) add("state." + names_[k], false);
      return;
    }
    head.loss->template need<ValueDistribution<T>>("predict");
    for (Index i = 0; i < field.size; ++i) {
      const std::string number = field.size > 1 ? fmt::format(".{}", i + 1) : "";
      for (const char* what : {"mean", "q10", "q90"}) {
        add(what + number, false);
        columns_.back().deviation = field.deviation.empty() ? 1 : field.deviation[at(i)];
      }
    }
  }

  /// `best`: the label to report if it is not the most probable one at this position.
  void set(Index entry, std::span<const T> signal, Symbol best = kNoSymbol) {
    if (field_.type == Type::symbols || !names_.empty())
      set_symbol(entry, signal, best);
    else
      set_values(entry, signal);
  }
  std::vector<Added>& columns() { return columns_; }

 private:
  void set_symbol(Index entry, std::span<const T> logits, Symbol chosen) {
    const auto largest = std::max_element(logits.begin(), logits.end());
    const bool none = unsegmented_ && chosen == kNoSymbol;  // then the probability is that of the blank
    const std::size_t best = none ? logits.size() - 1 : chosen == kNoSymbol ? at(largest - logits.begin()) : at(chosen);
    probabilities_.assign(logits.begin(), logits.end());
    double sum = 0;
    for (double& x : probabilities_) x -= static_cast<double>(*largest);
    vector_exp(probabilities_.data(), probabilities_.data(), static_cast<Index>(probabilities_.size()));
    for (const double x : probabilities_) sum += x;
    if (!none) columns_[0].texts[at(entry)] = names_[best];
    columns_[1].numbers[at(entry)] = probabilities_[best] / sum;
    for (std::size_t x = 0; classes_ && x < names_.size(); ++x)
      columns_[2 + x].numbers[at(entry)] = probabilities_[x] / sum;
  }

  void set_values(Index entry, std::span<const T> signal) {
    const auto& distribution = head_.loss->template need<ValueDistribution<T>>("predict");
    values_.resize(at(field_.size));
    const auto put = [&](std::size_t which) {
      for (Index i = 0; i < field_.size; ++i)
        columns_[at(3 * i) + which].numbers[at(entry)] = restored(field_, i, static_cast<double>(values_[at(i)]));
    };
    distribution.mean(signal, values_);
    put(0);
    distribution.quantile(signal, kLow, values_);
    put(1);
    distribution.quantile(signal, kHigh, values_);
    put(2);
  }

  const Head<T>& head_;
  const FieldSpecification& field_;
  bool classes_;
  bool unsegmented_ = false;
  std::vector<std::string> names_;  // of labels, or of hidden states
  std::vector<Added> columns_;
  std::vector<double> probabilities_;
  std::vector<T> values_;
};

/// Writes data with columns added.
class TableWriter {
 public:
  /// `symbols`: how the model's text was split into positions.
  TableWriter(const Examples& examples, const std::vector<Added>& added, std::string_view symbols,
              const std::function<void(std::string_view)>& write)
      : examples_(examples),
        added_(added),
        characters_(symbols.starts_with("chars")),
        target_characters_(symbols.ends_with("chars")),
        write_(write) {
    by_example_ = std::ranges::all_of(added, &Added::once);
    of_pairs_ = std::ranges::any_of(examples.columns, &ExampleColumn::source);
    for (const Added& column : added) names_.push_back(free_name(column.name));
  }

  void heading() const {
    std::vector<std::string> names;
    for (const ExampleColumn& column : examples_.columns)
      if (is_shown(column)) names.push_back(escape_cell(column.name));
    if (shows_parents()) names.emplace_back(kParentColumn);
    if (shows_places())
      for (const char* name : {kGridRow, kGridColumn}) names.emplace_back(name);
    for (const std::string& name : names_) names.push_back(escape_cell(name));
    write_(fmt::format("{}\n", fmt::join(names, "\t")));
  }

  void rows() const {
    for (Index e = 0; e < examples_.count(); ++e) {
      if (by_example_) {
        write_row(e, -1);
        continue;
      }
      if (e > 0) write_("\n");
      for (Index p = examples_.begin(e); p < examples_.end(e); ++p) write_row(e, p);
    }
  }

  /// Returns whether examples are sequences of rows, separated by empty lines.
  bool has_runs() const { return !by_example_; }

  /// Each row of a table as an object.
  void json_rows() const {
    for (Index e = 0; e < examples_.count(); ++e)
      for (Index p = examples_.begin(e); p < examples_.end(e); ++p) {
        Json object;
        for (const ExampleColumn& column : examples_.columns)
          if (!column.derived) object[column.name] = entry_json(column, column.once ? e : p);
        for (std::size_t i = 0; i < added_.size(); ++i) object[names_[i]] = added_[i].json(added_[i].once ? e : p);
        write_(object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
      }
  }

  void jsonl() const {
    for (Index e = 0; e < examples_.count(); ++e) {
      Json object;
      for (const ExampleColumn& column : examples_.columns) {
        if (column.derived) continue;
        if (column.once) {
          object[column.name] = entry_json(column, e);
          continue;
        }
        if (const auto cell = whole_cell(examples_, column, e)) {
          object[column.name] = std::string(*cell);
          continue;
        }
        Json& list = object[column.name] = Json::array();
        const Range own = entries(column, e);
        for (Index p = own.begin; p < own.end; ++p)
          if (!is_end(column, p)) list.push_back(entry_json(column, p));
      }
      for (Index p = examples_.begin(e); p < examples_.end(e) && examples_.are_trees(); ++p)
        object[kParentColumn].push_back(examples_.parents[at(p)] + 1);
      if (examples_.are_grids()) object["shape"] = {examples_.shapes[at(e)].first, examples_.shapes[at(e)].second};
      for (std::size_t i = 0; i < added_.size(); ++i) {
        const Added& column = added_[i];
        if (column.once) {
          object[names_[i]] = column.json(e);
          continue;
        }
        Json& list = object[names_[i]] = Json::array();
        for (Index p = examples_.begin(e); p < examples_.end(e); ++p) list.push_back(column.json(p));
      }
      write_(object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
    }
  }

 private:
  /// Returns whether to show the nodes of trees, numbered from 1 in each tree, with the number of the parent (0 for the
  /// root).
  bool shows_parents() const { return examples_.are_trees() && !by_example_; }
  /// Returns whether to show the coordinates of a position in its grid, from 1.
  bool shows_places() const { return examples_.are_grids() && !by_example_; }

  /// A sequence of numbers does not fit into the single cell of an example.
  bool is_shown(const ExampleColumn& column) const {
    return !column.derived && (!by_example_ || column.once || column.is_text() || has_independent_rows(examples_));
  }

  /// Returns the name of an added column, with a number appended if the name is already taken.
  std::string free_name(const std::string& wanted) const {
    const auto taken = [&](const std::string& name) {
      return examples_.find(name) != nullptr || std::ranges::find(names_, name) != names_.end();
    };
    std::string name = wanted;
    for (int copy = 2; taken(name); ++copy) name = fmt::format("{}.{}", wanted, copy);
    return name;
  }

  void write_row(Index example, Index position) const {
    std::vector<std::string> cells;
    for (const ExampleColumn& column : examples_.columns) {
      if (!is_shown(column)) continue;
      if (column.once)
        cells.push_back(entry_cell(column, example));
      else
        cells.push_back(position < 0 ? whole_text(column, example) : entry_cell(column, position));
    }
    if (shows_parents()) cells.push_back(std::to_string(examples_.parents[at(position)] + 1));
    if (shows_places()) {
      const Index width = examples_.shapes[at(example)].second, place = position - examples_.begin(example);
      for (const Index number : {place / width, place % width}) cells.push_back(std::to_string(number + 1));
    }
    for (const Added& column : added_) cells.push_back(escape_cell(column.text(column.once ? example : position)));
    write_(fmt::format("{}\n", fmt::join(cells, "\t")));
  }

  Range entries(const ExampleColumn& column, Index example) const {
    return column.source ? column.chain(example) : Range{examples_.begin(example), examples_.end(example)};
  }
  /// The end of a target is not part of the text.
  bool is_end(const ExampleColumn& column, Index entry) const {
    return of_pairs_ && column.is_text() && column.texts[at(entry)] == kTargetEnd;
  }

  std::string whole_text(const ExampleColumn& column, Index example) const {
    if (const auto cell = whole_cell(examples_, column, example)) return escape_cell(*cell);
    std::vector<std::string> texts;
    const Range own = entries(column, example);
    for (Index p = own.begin; p < own.end; ++p)
      if (!is_end(column, p)) texts.push_back(entry_cell(column, p));
    const bool together = of_pairs_ && !column.source ? target_characters_ : characters_;
    return fmt::format("{}", fmt::join(texts, together ? "" : " "));
  }

  const Examples& examples_;
  const std::vector<Added>& added_;
  std::vector<std::string> names_;  ///< of the added columns, which differ from those of the data
  bool characters_, target_characters_, by_example_ = false, of_pairs_ = false;
  const std::function<void(std::string_view)>& write_;
};

template <class T>
std::vector<HeadColumns<T>> empty_columns(const NetworkModel<T>& model, Index examples, Index positions,
                                          const PredictRequest& request) {
  std::vector<HeadColumns<T>> heads;
  for (const Head<T>& head : model.network().heads) {
    const FieldSpecification& field = model.data().field(head.field);
    heads.emplace_back(head, field, field.once ? examples : positions, request.probabilities);
  }
  return heads;
}

template <class T>
std::vector<Added> joined_columns(std::vector<HeadColumns<T>>& heads) {
  std::vector<Added> all;
  for (HeadColumns<T>& head : heads) std::ranges::move(head.columns(), std::back_inserter(all));
  return all;
}

template <class T>
std::vector<HeadColumns<T>> predicted_heads(const NetworkModel<T>& model, const ExampleSet& set,
                                            const PredictRequest& request, Team& team) {
  std::vector<HeadColumns<T>> heads = empty_columns(model, set.count(), set.positions(), request);
  for_each_prediction<T>(model, set, team, [&](const PredictedRow<T>& row) {
    const bool once = model.data().field(model.network().heads[row.head].field).once;
    heads[row.head].set(once ? row.example : set.begin(row.example) + row.position, row.signal, row.best);
  });
  return heads;
}

template <class T>
std::vector<Added> predicted_columns(const NetworkModel<T>& model, const ExampleSet& set, const PredictRequest& request,
                                     Team& team) {
  std::vector<HeadColumns<T>> heads = predicted_heads(model, set, request, team);
  return joined_columns(heads);
}

/// The N best labels of whole sequences: for each the labels, and their joint probability.
template <class T>
void add_n_best(const NetworkModel<T>& model, const ExampleSet& set, Index count, Team& team,
                std::vector<Added>& columns) {
  std::vector<std::size_t> first;  // column of each head
  for (const Head<T>& head : model.network().heads) {
    first.push_back(columns.size());
    for (Index n = 1; n <= count && has_n_best(head); ++n) {
      columns.push_back({.name = fmt::format("{}.best.{}", head.field, n)});
      columns.back().texts.resize(at(set.positions()));
      columns.push_back({.name = fmt::format("{}.sequence.{}", head.field, n)});
      columns.back().numbers.resize(at(set.positions()));
    }
  }
  for_each_n_best<T>(model, set, count, team, [&](std::size_t h, Index example, const auto& answers) {
    const FieldSpecification& field = model.data().field(model.network().heads[h].field);
    for (std::size_t n = 0; n < answers.size(); ++n) {
      double probability = answers[n].log_probability;
      vector_exp(&probability, &probability, 1);
      for (std::size_t t = 0; t < answers[n].labels.size(); ++t) {
        const std::size_t entry = at(set.begin(example)) + t;
        columns[first[h] + 2 * n + 1].numbers[entry] = probability;
        if (const Symbol label = answers[n].labels[t]; label != kNoSymbol)
          columns[first[h] + 2 * n].texts[entry] = field.alphabet->text(label);
      }
    }
  });
}

/// The best labels under the constraint, and their probability.
template <class T>
std::vector<Added> constrained_columns(const NetworkModel<T>& model, const ExampleSet& set,
                                       const PredictRequest& request, Team& team) {
  const FieldConstraint constraint = label_constraint(model, *request.constraint);
  std::vector<HeadColumns<T>> heads = predicted_heads(model, set, request, team);
  HeadColumns<T>& own = heads[constraint.head];
  const std::string& name = model.network().heads[constraint.head].field;
  const FieldSpecification& field = model.data().field(name);
  std::vector<Added> more(1);
  more[0].name = name + ".allowed";
  for (Index n = 1; n <= request.best && request.best > 1; ++n) {
    more.push_back(
        {.name = fmt::format("{}.best.{}", name, n), .texts = std::vector<std::string>(at(set.positions()))});
    more.push_back({.name = fmt::format("{}.sequence.{}", name, n)});
  }
  for (Added& column : more)
    if (column.texts.empty()) column.numbers.resize(at(set.positions()));
  const auto probability = [](double log_p) {
    vector_exp(&log_p, &log_p, 1);
    return std::min(log_p, 1.0);
  };
  for_each_allowed<T>(model, set, constraint, request.best, team, [&](Index example, const AllowedLabels& labels) {
    const auto length = labels.best.front().labels.size();
    std::vector<T> row(at(field.size));
    for (std::size_t t = 0; t < length; ++t) {
      const Index entry = set.begin(example) + static_cast<Index>(t);
      for (std::size_t j = 0; j < row.size(); ++j) row[j] = static_cast<T>(labels.log_posteriors[t * row.size() + j]);
      own.set(entry, row, labels.best.front().labels[t]);
      more[0].numbers[at(entry)] = probability(labels.log_probability);
      for (std::size_t n = 0; n < labels.best.size() && more.size() > 1; ++n) {
        more[2 * n + 1].texts[at(entry)] = field.alphabet->text(labels.best[n].labels[t]);
        more[2 * n + 2].numbers[at(entry)] = probability(labels.best[n].log_probability);
      }
    }
  });
  std::vector<Added> all = joined_columns(heads);
  std::ranges::move(more, std::back_inserter(all));
  return all;
}

/// Writes the targets of a model that reads a source.
template <class T>
std::vector<Added> found_targets(const NetworkModel<T>& model, const ExampleSet& set, const PredictRequest& request,
                                 Team& team) {
  if (request.probabilities)
    throw UsageError(
        "--probabilities applies only to labels; for targets, --best N gives the N best with their probabilities");
  if (request.sampled && (request.beam > 1 || request.best > 1))
    throw UsageError("--beam and --best cannot be combined with --sample; leave out one of them");
  if (request.attention && request.format != TableFormat::jsonl)
    throw UsageError("--attention requires --format jsonl");
  const FieldSpecification& field = model.data().field(target_field(model));
  const Index count = request.sampled ? request.samples : request.best;
  std::vector<Added> columns;
  const auto add = [&](const std::string& what, Index number) -> Added& {
    const bool numbered = number > 1 || request.sampled;
    const std::string name = fmt::format("{}.{}{}", field.name, what, numbered ? fmt::format(".{}", number) : "");
    return columns.emplace_back(Added{.name = name, .once = true});
  };
  constexpr std::size_t kEach = 3;
  for (Index n = 1; n <= count; ++n) {
    add(request.sampled ? "sample" : "best", n).texts.resize(at(set.count()));
    add("probability", n).numbers.resize(at(set.count()));
    add("attention", n).values.resize(at(set.count()));
  }
  std::optional<Automaton> allowed;
  if (request.constraint) {
    if (request.sampled) throw UsageError("--constraint applies only to the best targets, not to samples");
    allowed = target_constraint(model, *request.constraint);
  }
  const TransduceOptions options{.beam = std::max(request.beam, request.best),
                                 .best = request.best,
                                 .weights = request.attention,
                                 .allowed = allowed ? &*allowed : nullptr};
  const auto set_target = [&](Index example, const std::vector<Transduced>& found) {
    for (std::size_t n = 0; n < found.size(); ++n) {
      columns[kEach * n].texts[at(example)] = target_text(field, found[n].symbols);
      double probability = found[n].log_probability;
      vector_exp(&probability, &probability, 1);
      columns[kEach * n + 1].numbers[at(example)] = probability;
      columns[kEach * n + 2].values[at(example)] = found[n].weights;
    }
  };
  for_each_transduction<T>(model, set, options, request.sampled ? request.samples : 0, request.seed, team, set_target);
  if (!request.attention) std::erase_if(columns, [](const Added& column) { return !column.values.empty(); });
  return columns;
}

/// Predicts one row, from which the stepper continues.
template <class T>
std::vector<Added> stepped_columns(const NetworkModel<T>& model, const ExampleSet& window, FieldStepper<T>& stepper,
                                   const PredictRequest& request) {
  std::vector<HeadColumns<T>> heads = empty_columns(model, 1, 1, request);
  stepper.step_at_end_of(window);
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const Matrix<const T> signal = stepper.signal(model.network().heads[h]);
    heads[h].set(0, {signal.row(0), at(signal.cols)});
  }
  return joined_columns(heads);
}

/// How a model produces the requested predictions.
template <class T>
struct Answering {
  Answering(const NetworkModel<T>& model, const PredictRequest& request)
      : source(reads_source(model.data())),
        finds(source || predicts_whole_sequences(model)),
        numbers(finds && model.data().field(target_field(model)).type == Type::values),
        searches(request.beam > 1 || request.sampled || request.attention ||
                 (finds && (request.best > 1 || request.constraint))) {}
  bool source, finds;  ///< whether whole sequences are predicted, with or without a source
  bool numbers;        ///< of numbers
  bool searches;       ///< for whole sequences
};

template <class T>
std::vector<Added> answers(const NetworkModel<T>& model, const ExampleSet& set, const PredictRequest& request,
                           Team& team) {
  const Answering<T> how(model, request);
  if ((how.source && !how.numbers) || (how.finds && how.searches)) return found_targets(model, set, request, team);
  std::vector<Added> added = request.constraint ? constrained_columns(model, set, request, team)
                                                : predicted_columns(model, set, request, team);
  if (!how.finds && request.best > 1 && !request.constraint) add_n_best(model, set, request.best, team, added);
  return added;
}

/// Divides the examples into portions whose results take at most 128 MB, or that consist of one example: with
/// --probabilities, a position has a number for each class. All examples form one portion if a result depends on the
/// index of the example, or if results are small.
template <class T>
std::vector<std::vector<Index>> portions_of(const NetworkModel<T>& model, const ExampleSet& set,
                                            const PredictRequest& request) {
  constexpr Index kMostNumbers = Index{1} << 24;
  std::vector<std::vector<Index>> portions(1);
  bool divides = request.probabilities && !Answering<T>(model, request).finds;
  Index each = 0, numbers = 0;
  for (const Head<T>& head : model.network().heads) {
    each += head.signal.size();
    divides = divides && model.data().field(head.field).type == Type::symbols;
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

/// Returns whether a string can appear in JSON without quotes.
bool is_literal(std::string_view text) {
  return text == "true" || text == "false" || scan_number(text).shape == NumberShape::integer;
}

/// Predicted classes that are integers, true or false are written as in the data.
template <class T>
void mark_integers(const NetworkModel<T>& model, const Examples& examples, std::vector<Added>& added) {
  for (const Head<T>& head : model.network().heads) {
    const FieldSpecification& field = model.data().field(head.field);
    if (field.type != Type::symbols || !field.alphabet) continue;
    const ExampleColumn* column = examples.find(head.field);
    bool integers = column == nullptr || column->integers;
    for (Symbol x = 0; integers && x < field.size; ++x) integers = is_literal(field.alphabet->text(x));
    for (Added& more : added)
      if (more.name.starts_with(head.field + ".best")) more.integers = integers;
  }
}

/// Predicts all examples and writes the results.
template <class T>
void write_answers(const NetworkModel<T>& model, Examples examples, const PredictRequest& request,
                   const std::function<void(std::string_view)>& write, Reporter& reporter) {
  const auto data = std::make_shared<const DataSpecification>(model.data());
  const ExampleSet set(examples, data, {});  // unseen labels do not matter here
  reporter.remark(fmt::format("{} examples, {} positions", set.count(), set.positions()));
  Team team(thread_count(request.threads));
  const std::string symbols = stored_settings(model).symbols;
  const auto write_portion = [&](Examples portion, const ExampleSet& numbers, bool first) {
    std::vector<Added> added = answers(model, numbers, request, team);
    mark_integers(model, portion, added);
    if (model.data().found) portion.parents = found_parents(model, numbers, team);
    drop_constant(model.spec(), portion);
    const TableWriter writer(portion, added, symbols, write);
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
  if (portions.size() == 1) return write_portion(std::move(examples), set, true);
  for (const std::vector<Index>& portion : portions)
    write_portion(subset(examples, portion), set.subset(portion), &portion == &portions.front());
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
std::vector<PredictedColumn> answer_columns(const NetworkModel<T>& model, const Examples& examples,
                                            const PredictRequest& request) {
  const ExampleSet set(examples, std::make_shared<const DataSpecification>(model.data()), {});
  Team team(thread_count(request.threads));
  std::vector<PredictedColumn> columns;
  for (const std::vector<Index>& portion : portions_of(model, set, request)) {
    std::vector<Added> added = answers(model, set.subset(portion), request, team);
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
  const Answering<T> how(model, request);
  if (request.best > 1 && !how.finds) throw UsageError("--best of labels is not supported with --follow");
  if (request.constraint) throw UsageError("--constraint is not supported with --follow");
  if (request.sampled)
    throw UsageError(
        "--sample is not supported with --follow, because the examples of a stream have no numbers; leave out one of "
        "them");
  if (request.ahead > 0)
    throw UsageError("--ahead cannot be combined with --follow, because it needs the end of the data");
  if (request.data.size() != 1) throw UsageError("--follow reads one stream; name one file, or - for standard input");
  const bool by_row = goes_row_by_row(model) && !how.finds;
  FieldStream stream(request.data.front(), reader_options_for(model, request.stated), model.data(),
                     by_row ? StreamPiece::row : StreamPiece::example, lookback(model));
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
    std::vector<Added> added =
        by_row ? stepped_columns(model, set, *stepper, request) : answers(model, set, request, team);
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
    return model.data().field(head.field).type == Type::symbols || head.loss->template as<HiddenStates<T>>() != nullptr;
  });
}

/// Rejects options that do not apply to forecasts, which require an end of the data and contain only later positions.
template <class T>
void check_ahead(const NetworkModel<T>& model, const PredictRequest& request) {
  if (request.ahead == 0) return;
  const DataSpecification& data = model.data();
  for (const Head<T>& head : model.network().heads)
    if (head.loss->template as<HiddenStates<T>>() != nullptr)
      throw UsageError(fmt::format(
          "{} predicts states of existing positions and cannot forecast; programs can use src/loss/hmm/vector_hmm.h",
          model.spec_text()));
  if (data.grids || data.trees)
    throw UsageError(fmt::format(
        "--ahead continues sequences and does not apply to a {0}; use predict without --ahead for the existing {0}s",
        data.grids ? "grid" : "tree"));
  if (request.constraint) throw UsageError("--constraint cannot be combined with --ahead");
  if (request.probabilities)
    throw UsageError(
        "--probabilities applies only to existing positions, not to those of --ahead; leave out one of them");
  if (request.best > 1)
    throw UsageError("--best applies only to existing positions, not to those of --ahead; leave out one of them");
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
    const auto& [source, finds, numbers, searches] = Answering<T>(model, request);
    if (!finds && (searches || !request.given.empty()))
      throw UsageError(
          "--beam, --sample, --attention and --given apply only to models that read a source (--format pairs) or "
          "predict whole sequences (train --ends)");
    if (!finds && !labels && request.best > 1 && !request.constraint)
      throw UsageError(
          "--best applies only to labels of whole sequences (crf, ctc), models that read a source and those that "
          "predict whole sequences");
    if (finds && request.ahead > 0)
      throw UsageError(
          "--ahead continues sequences beyond their end, but this model predicts the end itself; leave it out");
    check_ahead(model, request);
    if (request.probabilities && !has_probabilities(model))
      throw UsageError(fmt::format(
          "--probabilities applies only to classes, tags and hidden states, but {} predicts numbers; leave it out",
          model.spec_text()));
    const bool invented = request.data.empty();
    if (numbers && (searches || (invented && !request.follow)))
      throw UsageError(
          fmt::format("{} contains numbers; use `unfold sample {}` to sample sequences, or predict with DATA and "
                      "without a search for the next value at every position",
                      target_field(model), request.model));
    if (request.follow) return follow_stream<T>(model, request, write, reporter);
    if (invented && request.given.empty()) throw UsageError("predict needs DATA, or --given FIELD=VALUE");
    Examples examples = invented ? conditioned_examples(model, request.given, 1)
                                 : read_for(model, request.data, &reporter, request.stated);
    if (!invented) give(model, request.given, examples);
    if (request.ahead > 0) return forecast<T>(model, examples, request, write);
    write_answers(model, std::move(examples), request, write, reporter);
  });
}

std::vector<PredictedColumn> predict_columns(const PredictRequest& request, Reporter& reporter) {
  return with_model_of(request, [&]<class T>(const NetworkModel<T>& model) {
    const Answering<T> how(model, request);
    if (how.finds || how.searches || request.ahead > 0 || request.follow)
      throw UsageError("only predictions at existing positions and of whole sequences can be returned as columns");
    return answer_columns(model, read_for(model, request.data, &reporter, request.stated), request);
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
