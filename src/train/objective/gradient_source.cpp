#include "train/objective/gradient_source.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "data/text/example_weights.h"
#include "optim/rtrl/forward_gradient.h"
#include "train/objective/sampled_softmax.h"
#include "train/objective/weight_rules.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

template <class T>
class Backpropagation final : public GradientSource<T> {
 public:
  using GradientSource<T>::GradientSource;

  void set_parameters(const Parameters<T>& parameters) override { pass_.set_parameters(parameters); }
  double gradient(const BatchOfStep<T>& step, std::span<T> result) override {
    if (step.dropout) pass_.set_dropout_seed(*step.dropout);
    return pass_.gradient(step.batch, step.state, step.scale, result, step.accumulate);
  }
  double penalty(const Batch& batch) const override { return pass_.penalty(batch); }
  bool is_plain() const override { return true; }

 private:
  using GradientSource<T>::pass_;
};

template <class T>
class SampledGradient final : public GradientSource<T> {
 public:
  SampledGradient(ShardedPass<T>& pass, const Network<T>& network, const Parameters<T>& parameters,
                  const BatchObjectiveOptions& options, Team& team)
      : GradientSource<T>(pass), softmax_(network, parameters, options.seed, team, options.memory_limit) {}

  void set_parameters(const Parameters<T>& parameters) override { softmax_.set_parameters(parameters); }
  double gradient(const BatchOfStep<T>& step, std::span<T> result) override {
    if (step.dropout) softmax_.set_dropout_seed(*step.dropout);
    return softmax_.gradient(step.batch, step.state, step.number, step.scale, result, step.accumulate);
  }
  void require_equal_weights(const Batch& batch) const override {
    unfold::require_equal_weights(batch, "a sampled softmax");
  }

 private:
  SampledSoftmax<T> softmax_;
};

/// A step has one batch.
template <class T>
class ForwardSource final : public GradientSource<T> {
 public:
  ForwardSource(ShardedPass<T>& pass, const Network<T>& network, const BatchObjectiveOptions& options, Index streams,
                Team& team)
      : GradientSource<T>(pass),
        method_(options.gradient),
        forward_(network, options.gradient,
                 ForwardOptions{.streams = streams,
                                .seed = options.seed,
                                .limit = options.memory_limit > 0 ? options.memory_limit : ForwardOptions::kLimit},
                 team) {}

  void set_parameters(const Parameters<T>& parameters) override { parameters_ = &parameters; }
  double gradient(const BatchOfStep<T>& step, std::span<T> result) override {
    step.again ? forward_.put_back() : forward_.keep();
    return forward_.gradient(step.batch, step.state, *parameters_, step.number, step.scale, result, step.dropout);
  }
  void begin_skip(const Parameters<T>& parameters) override { parameters_ = &parameters; }
  void skip(const BatchOfStep<T>& step) override {
    std::vector<T> nothing(at(parameters_->size()));
    forward_.gradient(step.batch, step.state, *parameters_, step.number, 1, nothing, step.dropout);
  }
  std::span<T> carried() override { return forward_.carried(); }
  void swap_kept() override { forward_.swap_kept(); }
  void leave(const Batch& batch) override { forward_.leave(batch); }
  bool is_interruptible() const override { return false; }

  /// Metrics and curvature are sums over a stored window.
  void require_stored_window(std::string_view optimizer) const override {
    throw UsageError(
        fmt::format("{} needs the stored window, which --gradient {} does not keep; train with sgd, rmsprop or adam, "
                    "or with --gradient bptt",
                    short_name(optimizer), method_.text()));
  }
  void require_equal_weights(const Batch& batch) const override {
    unfold::require_equal_weights(batch, "a forward gradient (--gradient)");
  }

 private:
  GradientMethod method_;
  ForwardGradient<T> forward_;
  const Parameters<T>* parameters_ = nullptr;
};

/// Throws UsageError, because metrics and curvature are computed from the losses.
[[noreturn]] void refuse_objective(std::string_view optimizer, std::string_view objective) {
  throw UsageError(
      fmt::format("{} uses losses and curvature of the network, which {} replaces with a different objective; train "
                  "with sgd, asgd, rmsprop or adam, or remove {}",
                  short_name(optimizer), objective, objective.substr(0, objective.find(' '))));
}

template <class T>
class ChosenSequences final : public GradientSource<T> {
 public:
  ChosenSequences(ShardedPass<T>& pass, const Network<T>& network, BatchChooser<T>& chooser, Team& team)
      : GradientSource<T>(pass), chosen_(network, chooser, team) {}

  void set_parameters(const Parameters<T>& parameters) override { parameters_ = &parameters; }
  double gradient(const BatchOfStep<T>& step, std::span<T> result) override {
    return chosen_.gradient(step.batch, *parameters_, static_cast<std::uint64_t>(step.number), step.dropout, step.scale,
                            result, step.accumulate);
  }
  std::optional<double> value(const Batch& batch, const Parameters<T>& parameters, Index number) override {
    return chosen_.value(batch, parameters, static_cast<std::uint64_t>(number));
  }
  bool repeats() const override { return false; }
  void require_losses(std::string_view optimizer) const override { refuse_objective(optimizer, chosen_.name()); }
  void require_equal_weights(const Batch& batch) const override {
    unfold::require_equal_weights(batch, chosen_.name());
  }

 private:
  SequenceObjectivePass<T> chosen_;
  const Parameters<T>* parameters_ = nullptr;
};

/// Rejects options that a pass over one position at a time does not support.
template <class T>
void check_forward(const Network<T>& network, const BatchObjectiveOptions& options) {
  const auto refuse = [&](std::string_view what) {
    throw UsageError(
        fmt::format("--gradient {} cannot be combined with {}; leave one of them out", options.gradient.text(), what));
  };
  if (options.penalties.any()) refuse("penalties on the states of a window");
  if (options.penalties.smoothing > 0) refuse("label smoothing");
  if (WeightRules<T>::needed(network)) refuse("dropped or tied weights");
  if (options.feedback.on()) refuse("feedback of own outputs");
  if (network.fewer_outputs != nullptr) refuse("sampled softmax");
  if (options.precision != Precision::exact) refuse("bfloat16 products");
  if (options.activations != Precision::exact) refuse("bfloat16 activations");
  if (options.batches > 1) refuse(fmt::format("steps over several batches, as in {}", short_name(options.optimizer)));
}

}  // namespace

void require_equal_weights(const Batch& batch, std::string_view who) {
  if (has_weights(batch)) refuse_weights(who);
}

void check_chooser(const BatchObjectiveOptions& options, std::string_view name) {
  const auto refuse = [&](std::string_view what) {
    throw UsageError(fmt::format("{} cannot be combined with {}; leave one of them out", name, what));
  };
  if (options.own_outputs || options.feedback.on())
    refuse("the network's outputs as inputs (--teacher-forcing, --feedback)");
  if (!options.gradient.looks_back()) refuse(fmt::format("--gradient {}", options.gradient.text()));
  if (options.penalties.any()) refuse("penalties on states");
  if (options.penalties.smoothing > 0) refuse("label smoothing");
  if (options.memory_limit > 0) refuse("a memory limit");
  if (options.activations != Precision::exact) refuse("bfloat16 activations");
  if (options.sharding.divided()) refuse("shards");
  if (options.batches > 1) refuse_objective(options.optimizer, name);
}

template <class T>
Network<T> with_options(Network<T> network, const BatchObjectiveOptions& options) {
  network.precision = options.precision;
  network.activations = options.activations;
  network.offload = options.offload;
  if (network.fewer_outputs != nullptr)
    network.fewer_outputs = std::make_shared<const Network<T>>(with_options(*network.fewer_outputs, options));
  return network;
}

template <class T>
std::unique_ptr<GradientSource<T>> make_gradient_source(const Network<T>& network, const Parameters<T>& parameters,
                                                        const BatchObjectiveOptions& options, Index streams,
                                                        ShardedPass<T>& pass, BatchChooser<T>* chooser, Team& team) {
  if (!options.gradient.looks_back()) {
    check_forward(network, options);
    return std::make_unique<ForwardSource<T>>(pass, network, options, streams, team);
  }
  const bool sampled = network.fewer_outputs != nullptr;
  if (sampled && (options.penalties.any() || options.penalties.smoothing > 0))
    throw UsageError("penalties and label smoothing cannot be combined with a sampled softmax; leave one of them out");
  if (chooser != nullptr)
    return std::make_unique<ChosenSequences<T>>(pass, with_options(network, options), *chooser, team);
  if (sampled)
    return std::make_unique<SampledGradient<T>>(pass, with_options(network, options), parameters, options, team);
  return std::make_unique<Backpropagation<T>>(pass);
}

template Network<float> with_options(Network<float>, const BatchObjectiveOptions&);
template Network<double> with_options(Network<double>, const BatchObjectiveOptions&);
template std::unique_ptr<GradientSource<float>> make_gradient_source(const Network<float>&, const Parameters<float>&,
                                                                     const BatchObjectiveOptions&, Index,
                                                                     ShardedPass<float>&, BatchChooser<float>*, Team&);
template std::unique_ptr<GradientSource<double>> make_gradient_source(const Network<double>&, const Parameters<double>&,
                                                                      const BatchObjectiveOptions&, Index,
                                                                      ShardedPass<double>&, BatchChooser<double>*,
                                                                      Team&);

}  // namespace unfold
