#include "unfold/app/field_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "unfold/base/error.h"

namespace unfold {
namespace {

using Type = FieldSpecification::Type;

/// Positions of an example in one piece while a model is measured; no influence on the result.
constexpr Index kReadingWindow = 1024;
constexpr Index kSideBySide = 64;

bool sees_ahead(const Plan& plan) { return !plan.recomputable(); }

/// What one head says about all examples.
template <class T>
class HeadCount {
 public:
  HeadCount(const Head<T>& head, const FieldSpecification& field) : head_(head), field_(field) {
    figures_.field = head.field;
    figures_.loss = head.loss->name();
    figures_.once = field.once;
    if (field.type == Type::symbols)
      for (Symbol x = 0; x < field.size; ++x) figures_.labels.emplace_back(field.alphabet->text(x));
  }

  void see(const Batch& batch, Matrix<const T> output, std::span<const T> parameters, Team& team) {
    const Field& target = batch.field(head_.field);
    nats_.resize(at(output.rows));
    head_.loss->negative_log_likelihood({.structure = batch.structure,
                                         .signal = output,
                                         .targets = targets_of<T>(target, 0, output.rows),
                                         .parameters = parameters},
                                        team, nats_.data());
    for (Index c = 0; c < batch.structure.sequences(); ++c) {
      const Index* rows = batch.structure.order().rows.data() + batch.structure.item(c, 0);
      for (Index t = 0; t < batch.structure.size(c); ++t)
        if (is_present(target, rows[t])) count(target, output, rows[t]);
    }
  }

  HeadFigures figures() {
    const auto n = static_cast<double>(std::max<Index>(1, figures_.predicted));
    if (field_.type == Type::symbols) {
      figures_.measures = {{"accuracy", static_cast<double>(right_) / n}};
    } else {
      figures_.measures = {{"mean_squared_error", squares_ / n}};
      for (const double deviation : field_.deviation) figures_.nats += n * std::log(deviation);
    }
    return figures_;
  }

 private:
  void count(const Field& target, Matrix<const T> output, Index row) {
    ++figures_.predicted;
    figures_.nats += static_cast<double>(nats_[at(row)]);
    if (!std::isfinite(nats_[at(row)]))
      throw ModelError(fmt::format("the prediction of {} is not finite", head_.field));
    const T* o = output.row(row);
    if (const auto* symbols = std::get_if<SymbolRows>(&target)) {
      right_ += std::max_element(o, o + output.cols) - o == symbols->symbols[at(row)];
      return;
    }
    const Matrix<const T> wanted = std::get<ValueRows>(target).values<T>(row, 1);
    for (Index i = 0; i < field_.size; ++i) {
      const double scale = field_.deviation.empty() ? 1 : field_.deviation[at(i)];
      squares_ += scale * scale * std::pow(static_cast<double>(o[i]) - static_cast<double>(wanted(0, i)), 2);
    }
  }

  const Head<T>& head_;
  const FieldSpecification& field_;
  HeadFigures figures_;
  Index right_ = 0;
  double squares_ = 0;
  std::vector<T> nats_;
};

template <class T>
ExampleBatchOptions reading_options(const NetworkModel<T>& model) {
  ExampleBatchOptions options = batch_options(model.layout());
  options.batch = kSideBySide;
  options.window = sees_ahead(*model.plan()) ? 0 : kReadingWindow;
  return options;
}

}  // namespace

ExampleBatchOptions batch_options(const NetworkLayout& layout) {
  ExampleBatchOptions options{.reads = layout.reads};
  for (const HeadSpecification& head : layout.heads) options.predicts.push_back(head.field);
  return options;
}

template <class T>
FieldFigures evaluate_fields(const NetworkModel<T>& model, const ExampleSet& examples, Team& team) {
  std::vector<HeadCount<T>> counts;
  for (const Head<T>& head : model.network().heads) {
    examples.column(head.field);  // throws when it is not there
    counts.emplace_back(head, model.data().field(head.field));
  }
  Evaluator<T> evaluator(model.network(), team);
  evaluator.run(model.parameters(), *example_reader(examples, reading_options(model)), {},
                [&](const Batch& batch, std::span<const Matrix<const T>> outputs) {
                  for (std::size_t h = 0; h < counts.size(); ++h)
                    counts[h].see(batch, outputs[h], model.parameters().flat(), team);
                });
  FieldFigures result{.examples = examples.count(), .positions = examples.positions(), .heads = {}};
  for (HeadCount<T>& count : counts) result.heads.push_back(count.figures());
  return result;
}

template <class T>
void for_each_prediction(const NetworkModel<T>& model, const ExampleSet& examples, Team& team,
                         const std::function<void(const PredictedRow<T>&)>& use) {
  Evaluator<T> evaluator(model.network(), team);
  const auto see = [&](const Batch& batch, std::span<const Matrix<const T>> outputs) {
    for (Index c = 0; c < batch.structure.sequences(); ++c) {
      const Index example = batch.passages[at(c)], first = batch.places[at(c)] - examples.begin(example);
      const Index* rows = batch.structure.order().rows.data() + batch.structure.item(c, 0);
      for (Index t = 0; t < batch.structure.size(c); ++t)
        for (std::size_t h = 0; h < outputs.size(); ++h) {
          if (model.data().field(model.network().heads[h].field).once && first + t + 1 < examples.length(example))
            continue;
          use({.head = h,
               .example = example,
               .position = first + t,
               .signal = {outputs[h].row(rows[t]), at(outputs[h].cols)}});
        }
    }
  };
  evaluator.run(model.parameters(), *example_reader(examples, reading_options(model)), {}, see);
}

nlohmann::ordered_json to_json(const FieldFigures& figures) {
  nlohmann::ordered_json json = {{"examples", figures.examples}, {"positions", figures.positions}};
  for (const HeadFigures& head : figures.heads) {
    nlohmann::ordered_json& out = json["heads"][head.field];
    out["loss"] = head.loss;
    out["predicted"] = head.predicted;
    for (const auto& [name, value] : head.measures) out[name] = value;
    out[head.once ? "nats_per_example" : "nats_per_position"] = head.nats_each();
  }
  return json;
}

template FieldFigures evaluate_fields(const NetworkModel<float>&, const ExampleSet&, Team&);
template FieldFigures evaluate_fields(const NetworkModel<double>&, const ExampleSet&, Team&);
template void for_each_prediction(const NetworkModel<float>&, const ExampleSet&, Team&,
                                  const std::function<void(const PredictedRow<float>&)>&);
template void for_each_prediction(const NetworkModel<double>&, const ExampleSet&, Team&,
                                  const std::function<void(const PredictedRow<double>&)>&);

}  // namespace unfold
