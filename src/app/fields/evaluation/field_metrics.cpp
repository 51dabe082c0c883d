#include "app/fields/evaluation/field_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "app/common/baseline_comparison.h"
#include "app/fields/evaluation/decoded_labels.h"
#include "app/fields/evaluation/left_out_metrics.h"
#include "app/fields/evaluation/transduction_metrics.h"
#include "app/fields/evaluation/tree_metrics.h"
#include "app/fields/evaluation/unaligned_metrics.h"
#include "app/fields/field_model.h"
#include "loss/crf/label_sequences.h"
#include "loss/ctc/unaligned_labels.h"
#include "loss/density/vector_density.h"
#include "loss/distribution.h"
#include "loss/hmm/hidden_states.h"
#include "loss/independent_rows.h"
#include "model/network/density_model.h"
#include "model/network/order_agnostic.h"
#include "numerics/functions.h"
#include "train/label_error.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using Type = FieldSpecification::Type;

/// Number of positions per pass during evaluation; does not affect the result.
constexpr Index kReadingWindow = 1024;
constexpr Index kSideBySide = 64;

bool sees_ahead(const Plan& plan) { return !plan.recomputable(); }

/// Computes the nats of each row of a batch. Throws ModelError if a number of a predicted row is not finite.
template <class T>
void measure(const Head<T>& head, const Batch& batch, Matrix<const T> output, std::span<const T> parameters, Team& team,
             std::vector<T>& nats) {
  const Field& target = batch.field(head.field);
  nats.resize(at(output.rows));
  head.loss->negative_log_likelihood({.structure = batch.structure,
                                      .signal = output,
                                      .targets = targets_of<T>(target, 0, output.rows),
                                      .parameters = parameters},
                                     team, nats.data());
  for (Index row = 0; row < output.rows; ++row)
    if (is_present(target, row) && !std::isfinite(nats[at(row)]))
      throw ModelError(fmt::format(
          "the prediction of {} is not finite; train the model again with a smaller learning rate", head.field));
}

/// Accumulates the metrics of one head over all examples.
template <class T>
class HeadCount {
 public:
  HeadCount(const Head<T>& head, const FieldSpecification& field, const ExampleSet& examples, Index beam)
      : head_(head),
        field_(field),
        examples_(examples),
        column_(examples.column(head.field)),
        unsegmented_(head.loss->template as<Unsegmented<T>>()),
        distribution_(head.loss->template as<ValueDistribution<T>>()),
        beam_(beam) {
    if (field.alphabet && unsegmented_ == nullptr) {
      for (Symbol x = 0; x < field.size; ++x) names_.emplace_back(field.alphabet->text(x));
      for (const auto& [entry, text] : column_.unseen)
        if (unseen_.try_emplace(text, static_cast<Symbol>(names_.size())).second) names_.push_back(text);
      labels_ = std::make_unique<LabelMetrics>(names_);
      if (examples.has_trees()) nodes_.emplace(std::span(names_).first(at(field.size)), field.once);
    }
    figures_.field = head.field;
    figures_.loss = head.loss->name();
    figures_.once = field.once;
  }

  void see(const Batch& batch, Matrix<const T> output, std::span<const T> parameters, Team& team) {
    see_nats(batch, output, parameters, team);
    see_predictions(batch, output, parameters, team);
  }

  void see_nats(const Batch& batch, Matrix<const T> output, std::span<const T> parameters, Team& team) {
    const Field& target = batch.field(head_.field);
    measure(head_, batch, output, parameters, team, nats_);
    for (Index c = 0; c < batch.structure.sequences(); ++c)
      for (const Index row : rows_of_chain(batch, c))
        if (is_present(target, row)) count(row);
  }

  /// `decoded`: the labels that a search has found; empty: the most probable ones.
  void see_predictions(const Batch& batch, Matrix<const T> output, std::span<const T> parameters, Team& team,
                       const DecodedFields& decoded = {}) {
    const Field& target = batch.field(head_.field);
    if (labels_) best_labels(head_, batch, output, parameters, team, found_);
    if (const auto labels = decoded.find(head_.field); labels != decoded.end()) take_decoded(batch, labels->second);
    if (unsegmented_ != nullptr) {
      const auto found = decode_chains<T>(*unsegmented_, {batch.structure, output, parameters}, {.beam = beam_}, team);
      for (std::size_t c = 0; c < found.size(); ++c)
        errors_.see(wanted_labels(examples_, head_.field, batch.passages[c]), found[c].front().labels);
    }
    for (Index c = 0; c < batch.structure.sequences(); ++c) {
      const std::span<const Index> rows = rows_of_chain(batch, c);
      if (labels_)
        see_labels(batch, c, rows, output);
      else if (distribution_ != nullptr)
        for (const Index row : rows)
          if (is_present(target, row)) see_values(std::get<ValueRows>(target), output, row);
    }
  }

  HeadFigures figures() {
    figures_.measures = labels_                   ? labels_->measures()
                        : unsegmented_ != nullptr ? errors_.measures()
                                                  : values_.measures();
    figures_.median_absolute_error = median_of_values(std::move(distances_));
    if (nodes_) std::ranges::copy(nodes_->measures(), std::back_inserter(figures_.measures));
    // Published results of densities are for standardized numbers.
    if (head_.loss->template as<VectorDensity<T>>() != nullptr && !field_.deviation.empty())
      figures_.measures.emplace_back("standardised_nats", figures_.nats_each());
    figures_.nats += static_cast<double>(figures_.predicted) * log_scale(field_);
    if (labels_) list_classes();
    return figures_;
  }

 private:
  static constexpr std::size_t kMostDistances = 1'000'000;

  void list_classes() {
    for (const auto& [label, counts] : labels_->classes()) figures_.classes.push_back({names_[at(label)], counts});
    if (labels_->has_chunks())
      for (const auto& [type, counts] : labels_->chunks_by_type()) figures_.chunks.push_back({type, counts});
    std::ranges::stable_sort(figures_.chunks, std::greater<>(), [](const auto& chunk) { return chunk.counts.wanted; });
    for (const LabelMetrics::Mistake& m : labels_->mistakes())
      figures_.mistakes.push_back({names_[at(m.wanted)], names_[at(m.best)], m.count});
  }

  static std::span<const Index> rows_of_chain(const Batch& batch, Index c) {
    return {batch.structure.order().rows.data() + batch.structure.item(c, 0), at(batch.structure.size(c))};
  }

  void count(Index row) {
    ++figures_.predicted;
    figures_.nats += static_cast<double>(nats_[at(row)]);
  }

  void take_decoded(const Batch& batch, const std::vector<Symbol>& labels) {
    for (Index c = 0; c < batch.structure.sequences(); ++c)
      for (Index t = 0; t < batch.structure.size(c); ++t)
        found_[at(batch.structure.row(c, t))] = labels[at(batch.places[at(c)] + t)];
  }

  /// Labels that were never seen in training count as errors.
  void see_labels(const Batch& batch, Index chain, std::span<const Index> rows, Matrix<const T> output) {
    const SymbolRows& target = std::get<SymbolRows>(batch.field(head_.field));
    const Index example = batch.passages[at(chain)], place = batch.places[at(chain)];
    const Index end = examples_.begin(example) + examples_.length(example);
    wanted_.clear();
    best_.clear();
    for (std::size_t t = 0; t < rows.size(); ++t) {
      wanted_.push_back(target.symbols[at(rows[t])]);
      best_.push_back(found_[at(rows[t])]);
      const Index position = place + static_cast<Index>(t);
      const bool last = batch.whole ? t + 1 == rows.size() : position + 1 == end;
      if (field_.once && !last) continue;
      const auto unseen = column_.unseen.find(field_.once ? example : position);
      if (unseen != column_.unseen.end()) wanted_.back() = unseen_.at(unseen->second);
    }
    labels_->see(wanted_, best_);
    for (std::size_t t = 0; t < rows.size() && nodes_; ++t)
      if (wanted_[t] != kNoSymbol)
        nodes_->see<T>(t + 1 == rows.size(), wanted_[t], best_[t], {output.row(rows[t]), at(field_.size)});
  }

  /// Adds the values of a chain, in units of the data.
  void see_values(const ValueRows& target, Matrix<const T> output, Index row) {
    const auto size = at(field_.size);
    const std::span<const T> signal(output.row(row), at(output.cols));
    const std::span<const T> wanted(target.values<T>(row, 1).row(0), size);
    scaled_.resize(size);
    distribution_->mean(signal, std::span<T>(scaled_));
    in_data_units(scaled_, mean_);
    distribution_->quantile(signal, 0.1, std::span<T>(scaled_));
    in_data_units(scaled_, low_);
    distribution_->quantile(signal, 0.9, std::span<T>(scaled_));
    in_data_units(scaled_, high_);
    in_data_units(wanted, observed_);
    scores_.resize(size);
    distribution_->component_crps(signal, wanted, scores_);
    double crps = 0;
    for (std::size_t i = 0; i < size; ++i) crps += scores_[i] * (field_.deviation.empty() ? 1 : field_.deviation[i]);
    if (size == 1 && distances_.size() < kMostDistances) distances_.push_back(std::abs(observed_[0] - mean_[0]));
    values_.see(observed_, {.mean = mean_, .crps = crps, .low = low_, .high = high_});
  }

  void in_data_units(std::span<const T> z, std::vector<double>& x) const {
    x.resize(z.size());
    for (std::size_t i = 0; i < z.size(); ++i)
      x[i] = restored(field_, static_cast<Index>(i), static_cast<double>(z[i]));
  }

  const Head<T>& head_;
  const FieldSpecification& field_;
  const ExampleSet& examples_;
  const FieldColumn& column_;
  const Unsegmented<T>* unsegmented_;
  const ValueDistribution<T>* distribution_;
  Index beam_;
  std::vector<std::string> names_;        // names of labels; unseen labels come last
  std::map<std::string, Symbol> unseen_;  // unseen labels, by name
  std::unique_ptr<LabelMetrics> labels_;
  std::optional<TreeMeasures> nodes_;  // metrics of trees
  ValueMetrics values_;
  LabelErrors errors_;
  HeadFigures figures_;
  std::vector<T> nats_, scaled_;
  std::vector<Symbol> found_, wanted_, best_;  // found_: by rows of the batch
  std::vector<double> mean_, low_, high_, observed_, scores_;
  std::vector<double> distances_;  // of single numbers from their predicted means
};

/// Returns the name under which lengths are reported among the heads.
template <class T>
std::string length_field(const NetworkModel<T>& model) {
  return model.network().heads.front().field + ".length";
}

template <class T>
bool sees_whole_sequences(const Network<T>& network) {
  return std::ranges::any_of(network.heads, [](const Head<T>& head) { return !has_separate_rows(*head.loss); });
}

/// Returns how the model reads examples. Throws if the model cannot read all of their content.
template <class T>
ExampleBatchOptions reading_options(const NetworkModel<T>& model, const ExampleSet& examples) {
  check_child_count(model.spec(), examples);
  ExampleBatchOptions options = batch_options(model.layout());
  options.batch = kSideBySide;
  const bool whole = sees_ahead(*model.plan()) || sees_whole_sequences(model.network()) || reads_source(model.data()) ||
                     input_part(model.spec()) > 0;
  options.window = whole ? 0 : kReadingWindow;
  options.most_positions = positions_at_once(model);
  options.patches = patches_of(model.spec());
  return options;
}

/// The output of a head for a batch, row by row: its signal, or for sequence losses the log posteriors and
/// the best labels.
template <class T>
struct HeadAnswer {
  Matrix<const T> signal = {};
  std::vector<Symbol> best = {};  // kNoSymbol where no unaligned label begins
  Buffer<T> posteriors = {};

  void take(const Head<T>& head, const Batch& batch, Matrix<const T> output, std::span<const T> parameters,
            Team& team) {
    signal = output;
    if (const auto* unsegmented = head.loss->template as<Unsegmented<T>>())
      best = labels_at_positions<T>(*unsegmented, {batch.structure, output, parameters}, team);
    if (const auto* hidden = head.loss->template as<HiddenStates<T>>())
      return train_states(*hidden, head, batch, output, parameters, team);
    const auto* labels = head.loss->template as<LabelSequences<T>>();
    if (labels == nullptr) return;
    const Index count = head.loss->target_size(output.cols), size = output.rows * count;
    if (posteriors.size() < size) posteriors.resize(size);
    const Matrix<T> log_p{posteriors.data(), output.rows, count, count};
    const LabelQuery<T> question{batch.structure, output, parameters};
    labels->log_posteriors(question, team, log_p);
    best.resize(at(output.rows));
    labels->best(question, team, best.data());
    signal = log_p;
  }

  /// Infers the hidden states from the observations.
  void train_states(const HiddenStates<T>& hidden, const Head<T>& head, const Batch& batch, Matrix<const T> output,
                    std::span<const T> parameters, Team& team) {
    const Observed<T> observed{.structure = batch.structure,
                               .signal = output,
                               .targets = targets_of<T>(batch.field(head.field), 0, output.rows),
                               .parameters = parameters};
    std::vector<Index> path(at(output.rows));
    hidden.most_probable(observed, team, path);
    best.assign(path.begin(), path.end());
    std::vector<double> shares(at(output.rows * hidden.states()));
    hidden.posteriors(observed, team, {shares.data(), output.rows, hidden.states(), hidden.states()});
    vector_log(shares.data(), shares.data(), output.rows * hidden.states());
    posteriors.resize(output.rows * hidden.states());
    std::copy(shares.begin(), shares.end(), posteriors.begin());
    signal = {posteriors.data(), output.rows, hidden.states(), hidden.states()};
  }
};

}  // namespace

namespace {

/// Evaluates an order-agnostic model: its probability is the mean over several orders.
template <class T>
FieldFigures evaluate_orders(const NetworkModel<T>& model, const ExampleSet& examples, Team& team) {
  const OrderlessNats nats = orderless_nats(model, examples, orderless_options(model.spec()).orders, team);
  const FieldSpecification& field = model.data().field(kVector);
  HeadFigures head{.field = kVector, .loss = std::string(model.network().heads.front().loss->name()), .once = true};
  head.predicted = examples.count();
  head.nats = std::accumulate(nats.ensemble.begin(), nats.ensemble.end(), 0.0);
  const double mean = std::accumulate(nats.mean.begin(), nats.mean.end(), 0.0);
  if (!std::isfinite(mean))
    throw ModelError(fmt::format(
        "the prediction of {} is not finite; train the model again with a smaller learning rate", head.field));
  if (head.predicted > 0) {
    if (!field.deviation.empty()) head.measures.emplace_back("standardised_nats", head.nats_each());
    head.measures.emplace_back("nats_of_one_order", mean / static_cast<double>(head.predicted) + log_scale(field));
  }
  head.nats += static_cast<double>(head.predicted) * log_scale(field);
  return {.examples = examples.count(), .positions = examples.positions(), .heads = {std::move(head)}};
}

}  // namespace

template <class T>
Index positions_at_once(const NetworkModel<T>& model) {
  constexpr Index kMostBytes = Index{256} << 20;
  Index numbers = 0;
  for (const Head<T>& head : model.network().heads) numbers += head.signal.size();
  return std::max<Index>(1, kMostBytes / (static_cast<Index>(sizeof(T)) * std::max<Index>(1, numbers)));
}

ExampleBatchOptions batch_options(const NetworkLayout& layout) {
  ExampleBatchOptions options{.reads = layout.reads};
  for (const HeadSpecification& head : layout.heads) options.predicts.push_back(head.field);
  return options;
}

template <class T>
std::vector<Index> found_parents(const NetworkModel<T>& model, const ExampleSet& examples, Team& team) {
  return found_parents(model.network(), model.parameters(), *example_reader(examples, reading_options(model, examples)),
                       team);
}

template <class T>
FieldFigures evaluate_fields(const NetworkModel<T>& model, const ExampleSet& examples, Team& team, Index beam,
                             bool true_labels) {
  if (is_orderless(model.spec())) return evaluate_orders(model, examples, team);
  std::vector<HeadCount<T>> counts;
  for (const Head<T>& head : model.network().heads) {
    counts.emplace_back(head, model.data().field(head.field), examples, beam);
  }
  const bool decodes = !true_labels && decodes_labels(model);
  Evaluator<T> evaluator(model.network(), team);
  const auto run = [&](BatchReader& reader, const auto& see) {
    evaluator.run(model.parameters(), reader, {}, [&](const Batch& batch, std::span<const Matrix<const T>> outputs) {
      for (std::size_t h = 0; h < counts.size(); ++h) see(counts[h], batch, outputs[h]);
    });
  };
  const std::span<const T> parameters = model.parameters().flat();
  const ExampleBatchOptions reading = reading_options(model, examples);
  run(*example_reader(examples, reading), [&](HeadCount<T>& count, const Batch& batch, Matrix<const T> output) {
    if (decodes)
      count.see_nats(batch, output, parameters, team);
    else
      count.see(batch, output, parameters, team);
  });
  if (decodes) {
    const DecodedFields decoded = decode_labels(model, examples, beam, team);
    run(*decoded_reader(examples, reading, decoded),
        [&](HeadCount<T>& count, const Batch& batch, Matrix<const T> output) {
          count.see_predictions(batch, output, parameters, team, decoded);
        });
  }
  FieldFigures result{.examples = examples.count(), .positions = examples.positions(), .heads = {}};
  for (HeadCount<T>& count : counts) result.heads.push_back(count.figures());
  if (const std::optional<LengthModel> lengths = length_model_of(model)) {
    HeadFigures& head = result.heads.emplace_back(HeadFigures{.field = length_field(model), .loss = lengths->kind()});
    head.once = true;
    head.predicted = examples.count();
    for (Index e = 0; e < examples.count(); ++e) head.nats -= lengths->log_probability(examples.length(e));
  }
  if (finds_targets(model)) {
    const Measures found = transduction_measures<T>(model, examples, beam, team);
    const auto of_target = std::ranges::find(result.heads, target_field(model), &HeadFigures::field);
    Measures& all = of_target->measures;
    all.insert(all.end(), found.begin(), found.end());
  }
  return result;
}

std::vector<ComparedBaseline> compared_baselines(const FieldFigures& figures,
                                                 const std::function<FieldStatistics(const std::string&)>& known,
                                                 const ExampleSet& measured, Index ahead) {
  std::vector<ComparedBaseline> result;
  for (const HeadFigures& head : figures.heads) {
    if (!measured.has(head.field)) continue;
    for (Baseline& each : field_baselines(known(head.field), measured, head.field, ahead)) {
      const auto found = std::ranges::find(head.measures, each.measure, &Measures::value_type::first);
      if (found != head.measures.end())
        result.push_back({.of = head.field, .baseline = std::move(each), .result = found->second});
    }
  }
  return result;
}

double log_scale(const FieldSpecification& field) {
  std::vector<double> logs(field.deviation.size());
  vector_log(field.deviation.data(), logs.data(), static_cast<Index>(logs.size()));
  return std::accumulate(logs.begin(), logs.end(), 0.0);
}

template <class T>
std::vector<HeadScores> score_heads(const NetworkModel<T>& model, const ExampleSet& examples, Team& team) {
  if (is_orderless(model.spec())) {
    HeadScores of_rows{.field = kVector,
                       .once = true,
                       .nats = orderless_nats(model, examples, orderless_options(model.spec()).orders, team).ensemble};
    const double scale = log_scale(model.data().field(kVector));
    for (double& nats : of_rows.nats) nats += scale;
    return {std::move(of_rows)};
  }
  std::vector<HeadScores> scores;
  for (const Head<T>& head : model.network().heads) {
    const bool once = model.data().field(head.field).once;
    (void)examples.column(head.field);  // throws if it is missing
    scores.push_back({.field = head.field, .once = once});
    scores.back().nats.assign(at(once ? examples.count() : examples.positions()), std::nan(""));
  }
  std::vector<T> nats;
  const auto see = [&](const Batch& batch, std::span<const Matrix<const T>> outputs) {
    for (std::size_t h = 0; h < scores.size(); ++h) {
      const Head<T>& head = model.network().heads[h];
      const Field& target = batch.field(head.field);
      const double scale = log_scale(model.data().field(head.field));
      measure(head, batch, outputs[h], model.parameters().flat(), team, nats);
      for (Index c = 0; c < batch.structure.sequences(); ++c) {
        const Index* rows = batch.structure.order().rows.data() + batch.structure.item(c, 0);
        for (Index t = 0; t < batch.structure.size(c); ++t) {
          if (!is_present(target, rows[t])) continue;
          const Index entry = scores[h].once ? batch.passages[at(c)] : batch.places[at(c)] + t;
          scores[h].nats[at(entry)] = static_cast<double>(nats[at(rows[t])]) + scale;
        }
      }
    }
  };
  Evaluator<T> evaluator(model.network(), team);
  evaluator.run(model.parameters(), *example_reader(examples, reading_options(model, examples)), {}, see);
  if (const std::optional<LengthModel> lengths = length_model_of(model)) {
    HeadScores& of_lengths = scores.emplace_back(HeadScores{.field = length_field(model), .once = true});
    for (Index e = 0; e < examples.count(); ++e)
      of_lengths.nats.push_back(-lengths->log_probability(examples.length(e)));
  }
  return scores;
}

template <class T>
void for_each_prediction(const NetworkModel<T>& model, const ExampleSet& examples, Team& team,
                         const std::function<void(const PredictedRow<T>&)>& use, Index beam) {
  const bool decodes = decodes_labels(model);
  const DecodedFields decoded = decodes ? decode_labels(model, examples, beam, team) : DecodedFields();
  Evaluator<T> evaluator(model.network(), team);
  std::vector<HeadAnswer<T>> answers(model.network().heads.size());
  const auto see = [&](const Batch& batch, std::span<const Matrix<const T>> outputs) {
    for (std::size_t h = 0; h < outputs.size(); ++h)
      answers[h].take(model.network().heads[h], batch, outputs[h], model.parameters().flat(), team);
    for (Index c = 0; c < batch.structure.sequences(); ++c) {
      const Index example = batch.passages[at(c)], first = batch.places[at(c)] - examples.begin(example);
      const Index* rows = batch.structure.order().rows.data() + batch.structure.item(c, 0);
      for (Index t = 0; t < batch.structure.size(c); ++t)
        for (std::size_t h = 0; h < outputs.size(); ++h) {
          const auto labels = decoded.find(model.network().heads[h].field);
          const bool last = batch.whole ? t + 1 == batch.structure.size(c) : first + t + 1 == examples.length(example);
          if (model.data().field(model.network().heads[h].field).once && !last) continue;
          use({.head = h,
               .example = example,
               .position = first + t,
               .signal = {answers[h].signal.row(rows[t]), at(answers[h].signal.cols)},
               .best = labels != decoded.end()   ? labels->second[at(batch.places[at(c)] + t)]
                       : answers[h].best.empty() ? kNoSymbol
                                                 : answers[h].best[at(rows[t])]});
        }
    }
  };
  const ExampleBatchOptions reading = reading_options(model, examples);
  evaluator.run(model.parameters(),
                decodes ? *decoded_reader(examples, reading, decoded) : *example_reader(examples, reading), {}, see);
}

template <class T>
FieldFigures evaluate_left_out(const NetworkModel<T>& model, const ExampleSet& examples,
                               std::span<const Matrix<const T>> outputs, Team& team) {
  std::vector<HeadCount<T>> counts;
  for (const Head<T>& head : model.network().heads)
    counts.emplace_back(head, model.data().field(head.field), examples, 1);
  const auto reader = example_reader(examples, reading_options(model, examples));
  std::vector<T> signal;
  for (Batch batch; reader->next(batch);)
    for (std::size_t h = 0; h < counts.size(); ++h) {
      const Index rows = batch.structure.positions(), cols = outputs[h].cols;
      signal.assign(at(rows * cols), T{0});
      for (Index c = 0; c < batch.structure.sequences(); ++c)
        std::copy_n(outputs[h].row(batch.passages[at(c)]), cols,
                    signal.data() + batch.structure.row(c, batch.structure.size(c) - 1) * cols);
      counts[h].see(batch, {signal.data(), rows, cols, cols}, model.parameters().flat(), team);
    }
  FieldFigures result{.examples = examples.count(), .positions = examples.positions(), .heads = {}};
  for (HeadCount<T>& count : counts) result.heads.push_back(count.figures());
  return result;
}

namespace {

nlohmann::ordered_json to_json(const std::vector<HeadFigures::ClassFigures>& list, const char* name) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const HeadFigures::ClassFigures& each : list)
    json.push_back({{name, each.name},
                    {"count", each.counts.wanted},
                    {"predicted", each.counts.found},
                    {"precision", each.counts.precision()},
                    {"recall", each.counts.recall()},
                    {"f1", each.counts.f1()}});
  return json;
}

/// Adds the tables of classes, chunks and confusions to the JSON of a head.
void add_class_tables(const HeadFigures& head, nlohmann::ordered_json& json) {
  if (head.classes.empty()) return;
  json["classes"] = to_json(head.classes, "class");
  if (!head.chunks.empty()) json["chunks"] = to_json(head.chunks, "type");
  nlohmann::ordered_json& confusions = json["confusions"] = nlohmann::ordered_json::array();
  for (const HeadFigures::Mistake& m : head.mistakes)
    confusions.push_back({{"observed", m.wanted}, {"predicted", m.best}, {"count", m.count}});
}

}  // namespace

nlohmann::ordered_json to_json(const FieldFigures& figures) {
  nlohmann::ordered_json json = {{"examples", figures.examples}, {"positions", figures.positions}};
  for (const HeadFigures& head : figures.heads) {
    nlohmann::ordered_json& out = json["heads"][head.field];
    out["loss"] = head.loss;
    out["predicted"] = head.predicted;
    for (const auto& [name, value] : head.measures) out[name] = value;
    out[head.once ? "nats_per_example" : "nats_per_position"] = head.nats_each();
    add_class_tables(head, out);
  }
  if (figures.log_path_norm) json["log_path_norm"] = *figures.log_path_norm;
  if (!figures.baselines.empty()) json["baselines"] = to_json(figures.baselines);
  return json;
}

template Index positions_at_once(const NetworkModel<float>&);
template Index positions_at_once(const NetworkModel<double>&);
template std::vector<Index> found_parents(const NetworkModel<float>&, const ExampleSet&, Team&);
template std::vector<Index> found_parents(const NetworkModel<double>&, const ExampleSet&, Team&);
template FieldFigures evaluate_fields(const NetworkModel<float>&, const ExampleSet&, Team&, Index, bool);
template FieldFigures evaluate_fields(const NetworkModel<double>&, const ExampleSet&, Team&, Index, bool);
template FieldFigures evaluate_left_out(const NetworkModel<float>&, const ExampleSet&,
                                        std::span<const Matrix<const float>>, Team&);
template FieldFigures evaluate_left_out(const NetworkModel<double>&, const ExampleSet&,
                                        std::span<const Matrix<const double>>, Team&);
template std::vector<HeadScores> score_heads(const NetworkModel<float>&, const ExampleSet&, Team&);
template std::vector<HeadScores> score_heads(const NetworkModel<double>&, const ExampleSet&, Team&);
template void for_each_prediction(const NetworkModel<float>&, const ExampleSet&, Team&,
                                  const std::function<void(const PredictedRow<float>&)>&, Index);
template void for_each_prediction(const NetworkModel<double>&, const ExampleSet&, Team&,
                                  const std::function<void(const PredictedRow<double>&)>&, Index);

}  // namespace unfold
