#include "model/series/pooled_readout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "data/text/example_weights.h"
#include "model/network/fitting/readout.h"
#include "numerics/functions.h"
#include "train/streamed_ridge.h"
#include "unfold/base/error.h"
#include "unfold/graph/engine/unfolding.h"
#include "unfold/numerics/vector.h"
#include "unfold/train/passes/batch_pass.h"

namespace unfold {
namespace {

/// With more examples, the normal equations are streamed, and every tenth example is held out instead of each example
/// in turn.
constexpr Index kMostExactRows = 2000;

/// The regression of one head.
template <class T>
class HeadRegression {
 public:
  HeadRegression(const Head<T>& head, Index examples, Team& team)
      : head_(head),
        circuit_(*head.signal.circuit),
        classes_(head.loss->name() == "softmax"),
        log_(head.loss->name() == "log-normal"),
        normal_(log_ || head.loss->name() == "normal") {
    if (!classes_ && !normal_ && head.loss->name() != "gaussian")
      throw UsageError(
          fmt::format("a ridge readout supports the losses softmax, gaussian, normal and log-normal, but {} has the "
                      "loss {}; leave it out, or "
                      "use readout=trained",
                      head.field, head.loss->name()));
    for (const auto& term : node().terms()) {
      if (!term.dense())
        throw UsageError(fmt::format(
            "a ridge readout requires matrices, but the map of {} has other terms; use readout=trained", head.field));
      inputs_ += circuit_.nodes()[at(term.source)].size;
    }
    if (examples > kMostExactRows) streamed_.emplace(inputs_, outputs(), team);
    x_.resize((streamed_ ? 1 : examples) * inputs_);
  }

  const Node& node() const { return circuit_.nodes()[at(head_.signal.id)]; }
  Index rows() const { return static_cast<Index>(examples_.size()); }
  Index outputs() const { return normal_ ? node().size / 2 : node().size; }

  /// Takes the rows of a batch that have an entry to predict.
  void add(const Batch& batch, const Unfolding<T>& u) {
    const Field& target = batch.field(head_.field);
    for (Index c = 0; c < batch.structure.sequences(); ++c) {
      const Index row = batch.structure.row(c, batch.structure.size(c) - 1);
      const double weight = weight_of_row(batch, row);
      if (!is_present(target, row) || weight == 0) continue;
      weights_.push_back(weight);
      float* to = x_.data() + (streamed_ ? 0 : static_cast<Index>(examples_.size()) * inputs_);
      for (const auto& term : node().terms()) {
        const Matrix<const T> states = u.value({head_.signal.circuit, term.source});
        to = std::transform(states.row(row), states.row(row) + states.cols, to,
                            [](T x) { return static_cast<float>(x); });
      }
      examples_.push_back(batch.passages[at(c)]);
      add_target(target, row);
      const Index count = outputs();
      if (streamed_)
        streamed_->add({x_.data(), 1, inputs_, inputs_}, {y_.data() + y_.size() - at(count), 1, count, count}, weight);
    }
  }

  LeaveOneOutFit fit(double lambda, Team& team) {
    const auto rows = static_cast<Index>(examples_.size());
    if (streamed_) {
      StreamedRidgeFit found = streamed_->solve(lambda);
      judged_ = std::move(found.held);
      return {.weights = std::move(found.weights),
              .bias = std::move(found.bias),
              .left_out = std::move(found.held_out),
              .lambda = found.lambda,
              .mean_square = found.mean_square};
    }
    judged_.resize(at(rows));
    std::iota(judged_.begin(), judged_.end(), Index{0});
    return fit_leave_one_out({x_.data(), rows, inputs_, inputs_}, {y_.data(), rows, outputs(), outputs()},
                             {.lambda = lambda, .weights = weights_}, team);
  }

  /// Sets the parameters, and the left-out signals [examples x signal size].
  /// Returns the negative log-likelihood per row.
  double finish(const LeaveOneOutFit& fit, Parameters<T>& parameters, Buffer<T>& left_out) const {
    const double factor = classes_ ? factor_of(fit) : 1;
    const double* from = fit.weights.data();
    for (const auto& term : node().terms()) {
      const Matrix<T> w = parameters[term.parameter];
      for (Index i = 0; i < w.rows; ++i) {
        std::fill_n(w.row(i), w.cols, T{0});
        for (Index k = 0; k < outputs(); ++k) w(i, k) = static_cast<T>(factor * *from++);
      }
    }
    const std::vector<double> deviations = deviation_signals(fit);
    const Matrix<T> bias = parameters[node().affine().bias];
    for (Index k = 0; k < outputs(); ++k) {
      bias(0, k) = static_cast<T>(factor * fit.bias[at(k)]);
      if (normal_) bias(0, outputs() + k) = static_cast<T>(deviations[at(k)]);
    }
    for (std::size_t i = 0; i < judged_.size(); ++i) {
      T* to = left_out.data() + examples_[at(judged_[i])] * node().size;
      for (Index k = 0; k < outputs(); ++k) {
        to[k] = static_cast<T>(factor * fit.left_out[i * at(outputs()) + at(k)]);
        if (normal_) to[outputs() + k] = static_cast<T>(deviations[at(k)]);
      }
    }
    return classes_ ? nats_of_classes(fit, factor) : nats_of_numbers(fit);
  }

 private:
  double nats_of_classes(const LeaveOneOutFit& fit, double factor) const {
    std::vector<double> row(at(outputs()));
    double nats = 0;
    const std::vector<double> weights = judged_weights();
    for (std::size_t i = 0; i < judged_.size(); ++i) {
      for (std::size_t k = 0; k < row.size(); ++k) row[k] = factor * fit.left_out[i * row.size() + k];
      log_softmax(row.data(), row.data(), outputs());
      nats -= weights[i] * row[at(labels_[at(judged_[i])])];
    }
    return nats / sum<double>(weights);
  }

  /// Returns the nats of normal distributions with the standard deviation of the residuals.
  double nats_of_numbers(const LeaveOneOutFit& fit) const {
    constexpr double kOfUnit = 1.4189385332046727;  // (1 + log 2 pi) / 2
    std::vector<double> squares = mean_squares(fit);
    vector_log(squares.data(), squares.data(), outputs());
    double nats = 0;
    for (const double log_square : squares) nats += log_square / 2 + kOfUnit;
    return log_ ? nats + mean_of_logarithms() : nats;
  }

  /// Returns the mean of the sum of the targets, the nats by which the density of y differs from the density of log y.
  double mean_of_logarithms() const {
    const std::vector<double> weights = judged_weights();
    double mean = 0;
    for (std::size_t i = 0; i < judged_.size(); ++i)
      for (Index k = 0; k < outputs(); ++k) mean += weights[i] * y_[at(judged_[i] * outputs() + k)];
    return mean / sum<double>(weights);
  }

  void add_target(const Field& target, Index row) {
    if (!classes_) {
      const Matrix<const double> values = std::get<ValueRows>(target).template values<double>(row, 1);
      y_.insert(y_.end(), values.data, values.data + outputs());
      if (log_) vector_log(y_.data() + y_.size() - at(outputs()), y_.data() + y_.size() - at(outputs()), outputs());
      return;
    }
    const Symbol label = std::get<SymbolRows>(target).symbols[at(row)];
    for (Index k = 0; k < outputs(); ++k) y_.push_back(k == label ? 1 : -1);
    labels_.push_back(label);
  }

  double factor_of(const LeaveOneOutFit& fit) const {
    std::vector<Index> labels;
    for (const Index row : judged_) labels.push_back(labels_[at(row)]);
    return calibrated_factor({fit.left_out.data(), static_cast<Index>(labels.size()), outputs(), outputs()}, labels,
                             judged_weights());
  }

  std::vector<double> judged_weights() const {
    std::vector<double> result(judged_.size());
    std::ranges::transform(judged_, result.begin(), [&](Index row) { return weights_[at(row)]; });
    return result;
  }

  std::vector<double> mean_squares(const LeaveOneOutFit& fit) const {
    std::vector<double> result(at(outputs()));
    const std::vector<double> weights = judged_weights();
    const double all = sum<double>(weights);
    for (std::size_t i = 0; i < judged_.size(); ++i)
      for (std::size_t k = 0; k < result.size(); ++k) {
        const double residual = y_[at(judged_[i]) * result.size() + k] - fit.left_out[i * result.size() + k];
        result[k] += weights[i] * (residual * residual / all);
      }
    return result;
  }
  std::vector<double> deviation_signals(const LeaveOneOutFit& fit) const {
    std::vector<double> result = mean_squares(fit);
    for (double& square : result) square = deviation_signal(square);
    return result;
  }

  const Head<T>& head_;
  const Circuit& circuit_;
  bool classes_, log_, normal_;  ///< log_: the logarithms of the targets are normal
  Index inputs_ = 0;
  Buffer<float> x_;
  std::vector<double> y_;
  std::vector<Index> labels_, examples_;  // label and example of each row
  std::vector<double> weights_;           // weight of each row
  std::vector<Index> judged_;             // rows that were held out for these predictions
  std::optional<StreamedRidge> streamed_;
};

}  // namespace

template <class T>
bool predicts_once(const NetworkModel<T>& model) {
  return std::ranges::all_of(model.layout().heads,
                             [&](const HeadSpecification& head) { return model.data().field(head.field).once; });
}

template <class T>
PooledReadoutFit<T> fit_pooled_readout(NetworkModel<T>& model, const ExampleSet& training,
                                       const ExampleBatchOptions& options, double lambda, Team& team) {
  const Network<T>& network = model.network();
  std::vector<HeadRegression<T>> heads;
  std::vector<int> sources;
  for (const Head<T>& head : network.heads) {
    heads.emplace_back(head, training.count(), team);
    for (const auto& term : heads.back().node().terms())
      if (std::ranges::find(sources, term.source) == sources.end()) sources.push_back(term.source);
  }
  const auto plan = std::make_shared<const Plan>(network.circuit(), sources);
  Unfolding<T> u(plan, team);
  u.set_parameters(model.parameters());
  const auto reader = example_reader(training, options);
  for (Batch batch; reader->next(batch);) {
    u.lay(batch.structure);
    upload_inputs(batch, 0, batch.structure.positions(), network, u);
    u.forward();
    for (HeadRegression<T>& head : heads) head.add(batch, u);
  }
  PooledReadoutFit<T> result;
  for (HeadRegression<T>& head : heads) {
    const LeaveOneOutFit fit = head.fit(lambda, team);
    if (result.left_out.empty()) {
      result.lambda = fit.lambda;
      result.rows = head.rows();
    }
    result.left_out.emplace_back(training.count() * head.node().size);
    result.nats += head.finish(fit, model.parameters(), result.left_out.back());
  }
  return result;
}

template bool predicts_once(const NetworkModel<float>&);
template bool predicts_once(const NetworkModel<double>&);
template PooledReadoutFit<float> fit_pooled_readout(NetworkModel<float>&, const ExampleSet&, const ExampleBatchOptions&,
                                                    double, Team&);
template PooledReadoutFit<double> fit_pooled_readout(NetworkModel<double>&, const ExampleSet&,
                                                     const ExampleBatchOptions&, double, Team&);

}  // namespace unfold
