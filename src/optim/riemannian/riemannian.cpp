#include "optim/riemannian/riemannian.h"

#include <algorithm>
#include <cmath>

#include "optim/riemannian/metric_shards.h"

namespace unfold {
namespace {

constexpr int kMostHalvings = 60;  // a learning rate of 2^-60 has no effect
// Bounds the growth when parameters no longer change and every step is kept.
constexpr double kGrowth = 1.1, kLargestRate = 1e9;

/// The two groups of parameters that are updated in turn.
enum Group : std::size_t { kOutput = 0, kTransition = 1 };

template <class T>
class RiemannianControl final : public Control<T> {
 public:
  RiemannianControl(Index parameters, const RiemannianOptions& options)
      : options_(options),
        gradient_(at(parameters)),
        squares_(at(parameters)),
        sums_(at(parameters)),
        saved_(at(parameters)) {
    if (options.draws > 0 && options.own > 0)
      throw UsageError(
          "ruop: draws= cannot be combined with own=, because errors on sampled sequences are already random");
    for (auto& d : directions_) d.resize(at(parameters));
    if (options.average)
      for (auto& d : previous_) d.resize(parameters);
  }

  void attach(Objective<T>& objective) override {
    const Network<T>& network = objective.network();
    shards_ = std::make_unique<MetricShards<T>>(objective, options_);
    is_output_.assign(gradient_.size(), 0);
    const auto mark = [&](int parameter) {
      const ParameterInfo& p = network.plan->parameters()[at(parameter)];
      std::fill_n(is_output_.begin() + p.offset, p.size(), char{1});
    };
    for (const CoreHead<T>& head : shards_->core().heads()) {
      for (const auto& term : head.output.terms()) mark(term.parameter);
      if (head.split && head.output.affine().bias >= 0) mark(head.output.affine().bias);
      if (!head.split) std::ranges::for_each(head.head.loss->parameter_indices(), mark);
    }
  }

  StepReport step(Objective<T>& objective, Direction<T>&, double rate) override {
    const EnteredBatch<T> batch = objective.enter();
    StepReport report;
    report.rate = rate / units();
    const double predicted = static_cast<double>(batch.batch.predicted);
    if (!known(objective, batch)) evaluate(objective, batch, {.metric = true});
    cached_ = false;
    report.loss = nats_ / predicted;
    objective.entered(report.loss);
    batch.leaving = leaving_;
    report.finite = std::isfinite(nats_);
    if (!report.finite) return report;

    const typename OutputMetric<T>::Wanted seeds{.metric = false,
                                                 .adjoints = true,
                                                 .variances = options_.metric == RiemannianMetric::rbpm,
                                                 .draw = static_cast<std::uint64_t>(drawn_)};
    find_output_direction(objective, predicted);
    move(kOutput, objective, rate * options_.writing_factor, [&] { return shards_->outputs(seeds); });
    find_transition_direction(objective, predicted);
    report.gradient_norm = norm_of_gradient() / predicted;
    report.finite = std::isfinite(report.gradient_norm);
    if (!report.finite) return report;
    move(kTransition, objective, rate, [&] {
      if (options_.control == StepControl::fixed) return nats_;  // the next batch differs
      evaluate(objective, batch, {.metric = true});
      return nats_;
    });
    remember(objective, batch);
    return report;
  }

  void visit_state(StateVisitor<T>& visitor) override {
    visitor("rate/writing", rates_[kOutput]);
    visitor("rate/transition", rates_[kTransition]);
    if (draws() > 0) visitor.count("draws", drawn_);
    if (options_.average) {
      visitor("previous/writing", previous_[kOutput].span());
      visitor("previous/transition", previous_[kTransition].span());
    }
    if (options_.keep > 0) {
      shards_->output().visit_averages(visitor);
      if (shards_->has_metric()) shards_->metric().visit_averages(visitor);
    }
  }

 private:
  /// Returns how many random numbers a step draws for each prediction.
  Index draws() const {
    const bool sampled = options_.metric == RiemannianMetric::rbpm && shards_->output().samples_variances();
    return options_.draws + options_.own + (sampled ? 1 : 0);
  }
  double units() const { return static_cast<double>(shards_->core().units()); }

  /// Runs the forward pass of the core, then the sweep over the predictions.
  void evaluate(Objective<T>& objective, const EnteredBatch<T>& batch, const typename OutputMetric<T>::Wanted& wanted) {
    leaving_ = batch.entering;
    shards_->forward(batch, objective.parameters(), leaving_);
    nats_ = shards_->outputs(wanted);
  }

  // The last evaluation of a step is reused as the first evaluation of the next step if nothing has changed in between.

  bool known(Objective<T>& objective, const EnteredBatch<T>& batch) const {
    const Batch& b = batch.batch;
    const auto p = objective.parameters().flat();
    return cached_ && b.fields == fields_ && b.carry.slots == slots_ && sizes_of(b) == sizes_ &&
           std::equal(p.begin(), p.end(), saved_.begin());
  }

  void remember(Objective<T>& objective, const EnteredBatch<T>& batch) {
    const Batch& b = batch.batch;
    const std::vector<Index>& slots = b.carry.slots;
    cached_ = options_.control == StepControl::backtracking && kept_[kTransition] && !batch.dropout_seed &&
              std::all_of(slots.begin(), slots.end(), [&](Index slot) { return batch.entering.fresh(slot); });
    cached_ = !objective.sharding().all().any(!cached_);  // each process knows only the slots of its shards
    if (!cached_) return;
    fields_ = b.fields;
    slots_ = slots;
    sizes_ = sizes_of(b);
    const auto p = objective.parameters().flat();
    std::copy(p.begin(), p.end(), saved_.begin());
  }
  static std::vector<Index> sizes_of(const Batch& b) {
    std::vector<Index> sizes;
    for (Index s = 0; s < b.structure.sequences(); ++s) sizes.push_back(b.structure.size(s));
    return sizes;
  }

  // Directions: parameters -= rate * direction

  void find_output_direction(Objective<T>& objective, double predicted) {
    std::vector<double>& d = directions_[kOutput];
    shards_->output().gradient(objective.parameters(), sums_);
    if (options_.metric == RiemannianMetric::none)
      for (std::size_t i = 0; i < d.size(); ++i) d[i] = is_output_[i] ? sums_[i] / predicted : 0;
    else
      shards_->output().direction(objective.parameters(), options_.keep, d);
    average(kOutput);
  }

  void find_transition_direction(Objective<T>& objective, double predicted) {
    std::vector<double>& d = directions_[kTransition];
    const bool plain = options_.metric == RiemannianMetric::none;
    shards_->backward(gradient_, squares_, static_cast<std::uint64_t>(drawn_));
    drawn_ += static_cast<double>(draws());
    if (!plain) {
      shards_->metric().direction(options_.keep, d, sums_);
    } else {
      for (std::size_t i = 0; i < d.size(); ++i) {
        if (is_output_[i]) continue;
        sums_[i] = static_cast<double>(gradient_[i]);
        d[i] = sums_[i] / predicted;
      }
    }
    for (const Node& node : shards_->core().plan().nodes()) {  // trained initial values
      if (node.trained_initial() < 0) continue;
      const ParameterInfo& p = objective.parameters().info()[at(node.trained_initial())];
      for (Index i = p.offset; i < p.offset + p.size(); ++i) {
        sums_[at(i)] = static_cast<double>(gradient_[at(i)]);
        if (!plain) d[at(i)] = sums_[at(i)] / (static_cast<double>(squares_[at(i)]) + options_.damping);
      }
    }
    average(kTransition);
  }

  /// Averages this direction and the previous direction, to damp the oscillation at a learning rate near the largest
  /// useful value.
  void average(Group group) {
    if (!options_.average) return;
    for (std::size_t i = 0; i < directions_[group].size(); ++i) {
      const double present = directions_[group][i];
      T& before = previous_[group][static_cast<Index>(i)];
      directions_[group][i] = 0.5 * (present + static_cast<double>(before));
      before = static_cast<T>(present);
    }
  }

  double norm_of_gradient() const {
    double sum = 0;
    for (const double g : sums_) sum += g * g;
    return std::sqrt(sum);
  }

  // Control

  /// Moves one group; `loss` computes the nats at the moved parameters, and the data needed for the next group.
  template <class Loss>
  void move(Group group, Objective<T>& objective, double rate, Loss&& loss) {
    const auto p = objective.parameters().flat();
    std::copy(p.begin(), p.end(), saved_.begin());
    const std::vector<double>& d = directions_[group];
    const auto place = [&](double size) {
      for (std::size_t i = 0; i < d.size(); ++i)
        if ((is_output_[i] != 0) == (group == kOutput))
          p[i] = static_cast<T>(static_cast<double>(saved_[i]) - size * d[i]);
    };
    const double before = nats_;
    kept_[group] = true;
    if (options_.control == StepControl::fixed) {
      place(rate / units());
      nats_ = loss();
      return;
    }
    for (int tries = 0; tries < kMostHalvings; ++tries) {
      place(rates_[group] * rate / units());
      nats_ = loss();
      if (nats_ <= before) {  // false for NaN
        rates_[group] = std::min(rates_[group] * kGrowth, kLargestRate);
        return;
      }
      rates_[group] /= 2;
    }
    kept_[group] = false;
    std::copy(saved_.begin(), saved_.end(), p.begin());
    nats_ = before;
    if (group == kOutput) (void)loss();  // recomputes the seeds at the restored parameters
  }

  RiemannianOptions options_;
  double rates_[2] = {1, 1};  // multiplied by rate / units
  bool kept_[2] = {true, true};
  std::vector<T> gradient_, squares_;
  std::vector<double> sums_;  // the gradient
  std::vector<T> saved_;
  std::vector<double> directions_[2];
  Buffer<T> previous_[2];
  std::vector<char> is_output_;

  std::unique_ptr<MetricShards<T>> shards_;
  double nats_ = 0, drawn_ = 0;  // number of random errors drawn so far, the key of the next one
  State<T> leaving_;

  bool cached_ = false;
  decltype(Batch::fields) fields_;
  std::vector<Index> slots_, sizes_;
};

}  // namespace

template <class T>
std::unique_ptr<Control<T>> riemannian_control(Index parameters, const RiemannianOptions& options) {
  return std::make_unique<RiemannianControl<T>>(parameters, options);
}

template std::unique_ptr<Control<float>> riemannian_control(Index, const RiemannianOptions&);
template std::unique_ptr<Control<double>> riemannian_control(Index, const RiemannianOptions&);

}  // namespace unfold
