#include "app/predict/predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "app/fields/evaluation/decoded_labels.h"
#include "app/fields/evaluation/field_metrics.h"
#include "app/fields/evaluation/transduction_metrics.h"
#include "app/fields/field_model.h"
#include "app/predict/constraint.h"
#include "app/predict/head_columns.h"
#include "app/predict/n_best.h"
#include "data/cells/numeric_cell.h"
#include "loss/ctc/unaligned_labels.h"
#include "numerics/functions.h"

namespace unfold {
namespace {

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
std::vector<AddedColumn> joined_columns(std::vector<HeadColumns<T>>& heads) {
  std::vector<AddedColumn> all;
  for (HeadColumns<T>& head : heads) std::ranges::move(head.columns(), std::back_inserter(all));
  return all;
}

template <class T>
std::vector<HeadColumns<T>> predicted_heads(const NetworkModel<T>& model, const ExampleSet& set,
                                            const PredictRequest& request, Team& team) {
  std::vector<HeadColumns<T>> heads = empty_columns(model, set.count(), set.positions(), request);
  for_each_prediction<T>(
      model, set, team,
      [&](const PredictedRow<T>& row) {
        const bool once = model.data().field(model.network().heads[row.head].field).once;
        heads[row.head].set(once ? row.example : set.begin(row.example) + row.position, row.signal, row.best);
      },
      std::max(request.beam, request.best));
  return heads;
}

template <class T>
std::vector<AddedColumn> predicted_columns(const NetworkModel<T>& model, const ExampleSet& set,
                                           const PredictRequest& request, Team& team) {
  std::vector<HeadColumns<T>> heads = predicted_heads(model, set, request, team);
  return joined_columns(heads);
}

/// The N best labelings of whole sequences, each with its joint probability.
template <class T>
void add_n_best(const NetworkModel<T>& model, const ExampleSet& set, Index count, Team& team,
                std::vector<AddedColumn>& columns) {
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

/// The N best labelings of a network that reads earlier labels, or samples, each with its joint probability.
template <class T>
void add_labelings(const NetworkModel<T>& model, const ExampleSet& set, const PredictRequest& request, Team& team,
                   std::vector<AddedColumn>& columns) {
  std::vector<const FieldSpecification*> fields;
  for (const LabelRead& read : label_reads(model.network()))
    if (read.field == fields.size()) fields.push_back(&model.data().field(read.read.field));
  const std::size_t first = columns.size(), each = fields.size() + 1;
  const Index samples = request.sampled ? request.samples : 0, count = request.sampled ? samples : request.best;
  for (Index n = 1; n <= count; ++n) {
    for (const FieldSpecification* field : fields) {
      columns.push_back({.name = fmt::format("{}.{}.{}", field->name, request.sampled ? "sample" : "best", n)});
      columns.back().texts.resize(at(set.positions()));
    }
    columns.push_back({.name = fmt::format("{}.sequence.{}", fields.front()->name, n)});
    columns.back().numbers.resize(at(set.positions()));
  }
  const LabelSearchOptions options{.beam = request.beam, .best = request.best};
  for_each_labeling<T>(model, set, options, samples, request.seed, team, [&](Index example, const auto& found) {
    for (std::size_t n = 0; n < found.size(); ++n) {
      double probability = found[n].log_probability;
      vector_exp(&probability, &probability, 1);
      for (Index t = 0; t < set.length(example); ++t) {
        const std::size_t entry = at(set.begin(example) + t);
        for (std::size_t f = 0; f < fields.size(); ++f)
          columns[first + n * each + f].texts[entry] = fields[f]->alphabet->text(found[n].labels[f][at(t)]);
        columns[first + n * each + fields.size()].numbers[entry] = probability;
      }
    }
  });
}

/// Returns the best labels under the constraint, and their probability.
template <class T>
std::vector<AddedColumn> constrained_columns(const NetworkModel<T>& model, const ExampleSet& set,
                                             const PredictRequest& request, Team& team) {
  const FieldConstraint constraint = label_constraint(model, *request.constraint);
  std::vector<HeadColumns<T>> heads = predicted_heads(model, set, request, team);
  HeadColumns<T>& own = heads[constraint.head];
  const std::string& name = model.network().heads[constraint.head].field;
  const FieldSpecification& field = model.data().field(name);
  std::vector<AddedColumn> more(1);
  more[0].name = name + ".allowed";
  for (Index n = 1; n <= request.best && request.best > 1; ++n) {
    more.push_back(
        {.name = fmt::format("{}.best.{}", name, n), .texts = std::vector<std::string>(at(set.positions()))});
    more.push_back({.name = fmt::format("{}.sequence.{}", name, n)});
  }
  for (AddedColumn& column : more)
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
  std::vector<AddedColumn> all = joined_columns(heads);
  std::ranges::move(more, std::back_inserter(all));
  return all;
}

/// Writes the targets of a model that reads a source.
template <class T>
std::vector<AddedColumn> found_targets(const NetworkModel<T>& model, const ExampleSet& set,
                                       const PredictRequest& request, Team& team) {
  if (request.probabilities)
    throw UsageError(
        "--probabilities applies only to labels; for targets, --best N gives the N best with their probabilities");
  if (request.sampled && (request.beam > 1 || request.best > 1))
    throw UsageError("--beam and --best cannot be combined with --sample; leave out one of them");
  if (request.attention && request.format != TableFormat::jsonl)
    throw UsageError("--attention requires --format jsonl");
  const FieldSpecification& field = model.data().field(target_field(model));
  const Index count = request.sampled ? request.samples : request.best;
  std::vector<AddedColumn> columns;
  const auto add = [&](const std::string& what, Index number) -> AddedColumn& {
    const bool numbered = number > 1 || request.sampled;
    const std::string name = fmt::format("{}.{}{}", field.name, what, numbered ? fmt::format(".{}", number) : "");
    return columns.emplace_back(AddedColumn{.name = name, .once = true});
  };
  constexpr std::size_t kEach = 3;
  for (Index n = 1; n <= count; ++n) {
    add(request.sampled ? "sample" : "best", n).texts.resize(at(set.count()));
    add("probability", n).numbers.resize(at(set.count()));
    add("attention", n).values.resize(at(set.count()));
  }
  std::optional<Automaton> allowed;
  if (request.constraint) {
    if (request.sampled)
      throw UsageError(
          "--constraint applies only to the best targets, not to samples; leave out --constraint or --sample");
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
  if (!request.attention) std::erase_if(columns, [](const AddedColumn& column) { return !column.values.empty(); });
  return columns;
}

/// Returns whether a string can appear in JSON without quotes.
bool is_literal(std::string_view text) {
  return text == "true" || text == "false" || scan_number(text).shape == NumberShape::integer;
}

}  // namespace

template <class T>
PredictionKind<T>::PredictionKind(const NetworkModel<T>& model, const PredictRequest& request)
    : source(reads_source(model.data())),
      finds(source || predicts_whole_sequences(model)),
      decodes(decodes_labels(model)),
      numbers(finds && model.data().field(target_field(model)).type == FieldSpecification::Type::values),
      searches((!decodes && (request.beam > 1 || request.sampled)) || request.attention ||
               (finds && (request.best > 1 || request.constraint))) {}

template <class T>
std::vector<AddedColumn> predictions(const NetworkModel<T>& model, const ExampleSet& set, const PredictRequest& request,
                                     Team& team) {
  const PredictionKind<T> kind(model, request);
  if ((kind.source && !kind.numbers) || (kind.finds && kind.searches)) return found_targets(model, set, request, team);
  std::vector<AddedColumn> added = request.constraint ? constrained_columns(model, set, request, team)
                                                      : predicted_columns(model, set, request, team);
  if (kind.decodes && (request.best > 1 || request.sampled))
    add_labelings(model, set, request, team, added);
  else if (!kind.finds && request.best > 1 && !request.constraint)
    add_n_best(model, set, request.best, team, added);
  return added;
}

template <class T>
std::vector<AddedColumn> stepped_columns(const NetworkModel<T>& model, const ExampleSet& window,
                                         FieldStepper<T>& stepper, const PredictRequest& request) {
  std::vector<HeadColumns<T>> heads = empty_columns(model, 1, 1, request);
  stepper.step_at_end_of(window);
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const Matrix<const T> signal = stepper.signal(model.network().heads[h]);
    heads[h].set(0, {signal.row(0), at(signal.cols)});
  }
  return joined_columns(heads);
}

template <class T>
void mark_integers(const NetworkModel<T>& model, const Examples& examples, std::vector<AddedColumn>& added) {
  for (const Head<T>& head : model.network().heads) {
    const FieldSpecification& field = model.data().field(head.field);
    if (field.type != FieldSpecification::Type::symbols || !field.alphabet) continue;
    const ExampleColumn* column = examples.find(head.field);
    bool integers = column == nullptr || column->integers;
    for (Symbol x = 0; integers && x < field.size; ++x) integers = is_literal(field.alphabet->text(x));
    for (AddedColumn& more : added)
      if (more.name.starts_with(head.field + ".best")) more.integers = integers;
  }
}

template struct PredictionKind<float>;
template std::vector<AddedColumn> predictions(const NetworkModel<float>&, const ExampleSet&, const PredictRequest&,
                                              Team&);
template std::vector<AddedColumn> stepped_columns(const NetworkModel<float>&, const ExampleSet&, FieldStepper<float>&,
                                                  const PredictRequest&);
template void mark_integers(const NetworkModel<float>&, const Examples&, std::vector<AddedColumn>&);
template struct PredictionKind<double>;
template std::vector<AddedColumn> predictions(const NetworkModel<double>&, const ExampleSet&, const PredictRequest&,
                                              Team&);
template std::vector<AddedColumn> stepped_columns(const NetworkModel<double>&, const ExampleSet&, FieldStepper<double>&,
                                                  const PredictRequest&);
template void mark_integers(const NetworkModel<double>&, const Examples&, std::vector<AddedColumn>&);

}  // namespace unfold
