#pragma once
/// The objective of a training step: the loss over one or several batches, which carry their state from each to the
/// next and from step to step.
///
///   objective.gather(step);              // the batches of this step
///   optimizer.step(objective, ...);      // gradient, loss, curvature: as often as it likes
///   objective.leave();                   // the state carries over to the next step

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "unfold/base/interruptible.h"
#include "unfold/forward/forward_gradient.h"
#include "unfold/optim/objective.h"
#include "unfold/optim/sharded_pass.h"
#include "unfold/training/chosen_batch.h"
#include "unfold/training/free_positions.h"
#include "unfold/training/own_outputs.h"
#include "unfold/training/sampled_softmax.h"
#include "unfold/training/weight_rules.h"

namespace unfold {

struct BatchObjectiveOptions {
  std::string optimizer = {};  ///< its SPEC, for messages
  Index batches = 1;           ///< of one step
  std::uint64_t seed = 1;      ///< of dropout
  std::size_t memory_limit = 0;
  PenaltyOptions penalties = {};                     ///< the mean over the batches
  bool own_outputs = false;                          ///< read_own_outputs will be called
  Feedback feedback = {};                            ///< so it will, and the gradient flows through what is read
  GradientMethod gradient = {};                      ///< looking back, or carried along (forward_gradient.h)
  Precision precision = Precision::exact;            ///< of loss and gradient; curvature wants exact ones (UsageError)
  Precision activities = Precision::exact;           ///< that are kept for the gradient; likewise
  std::shared_ptr<const Offload> offload = nullptr;  ///< where they run; null: on the team
  Sharding sharding = {};                            ///< of each batch
  /// Polled between and within passes, which throw BrokenOff where it is set: then parameters and optimizer may be
  /// between two steps.
  const std::atomic<bool>* stop = nullptr;
  /// The same, polled only within the first gradient of a step: nothing but `carried` has changed then.
  const std::atomic<bool>* stop_first = nullptr;
};

template <class T>
class BatchObjective final : public Objective<T> {
 public:
  /// The norm of a gradient, for those who want to know.
  using Norm = std::function<double()>;
  /// Told the loss, and the norm of the gradient (empty: there is none), when a step has entered its batches and before
  /// parameters move; false: the loss is not to be believed, and counts as infinite.
  using Entered = std::function<bool(double loss, const Norm& norm)>;

  /// Everything given is referred to and must outlive the objective. UsageError: a flow penalty, or own outputs, with
  /// several batches; penalties, own outputs, forward gradients or a sampled softmax with several shards; forward
  /// gradients with own outputs, a sampled softmax, several batches, dropped weights or bfloat16; a chooser with any of
  /// these or a memory limit; an offload with any of these but a sampled softmax, or with a penalty on the flow.
  /// `chooser`: what is paid in place of the losses; null: the losses are.
  BatchObjective(const Network<T>& network, Parameters<T>& parameters, BatchSource& source,
                 const BatchObjectiveOptions& options, Team& team, Entered entered, BatchChooser<T>* chooser = nullptr);

  /// Takes the batches of this step from the source, which is left at the last of them.
  void gather(Index step);
  /// From now until the next `gather` the network reads its own outputs at a share 1 - forcing of the positions, with
  /// feedback of those that are free. REQUIRES one of the options.
  void read_own_outputs(double forcing);
  double predicted() const override { return predicted_; }  ///< symbols, in all batches of the step
  bool repeats() const override {
    return source_.unchanging() && options_.batches == 1 && !network_.dropout && !own_ && !free_ && !weights_ &&
           !chosen_;
  }
  Index symbols() const;
  /// Runs forward through the batches, for the state alone.
  void skip();
  /// To be called when the step is done, before the source advances.
  void leave();

  /// Before `gather` and after `leave`: the state between steps.
  State<T>& carried() { return carried_; }
  /// Between the first pass of a step and `leave`: makes `carried` the state before the step; called again, undoes it.
  void swap_carried() {
    std::swap(carried_, before_.front());
    if (forward_) forward_->swap_kept();
  }
  /// What streams carry for forward gradients (ForwardGradient::carried); empty where there are none.
  std::span<T> influences() { return forward_ ? forward_->carried() : std::span<T>(); }
  /// What is not finite in the batches of this step, by signal and position; empty if all is.
  std::string find_non_finite();
  /// The first number of the last gradient of this step that is not finite; -1: there is none. By all processes.
  Index first_non_finite_of_gradient();

  Parameters<T>& parameters() override { return parameters_; }
  Team& team() override { return team_; }
  const Network<T>& network() const override { return network_; }
  double gradient(std::span<T> gradient) override;
  Resident<T>* resident() override;
  const Slices* slices() override;
  SliceGradient gradient_of_slices(std::span<T> own) override;
  void spread_parameters() override { pass_.spread(parameters_.flat()); }
  double loss() override;
  double symbols_per_sequence() const override;
  void start_curvature(double share, Distance damping) override;
  void curvature_product(std::span<const T> v, double structural, std::span<T> result) override;
  void curvature_sample(std::uint64_t seed, double structural, std::span<T> result) override;
  PathReading path_reading() override;
  EnteredBatch<T> enter() override;
  void entered(double loss) override { entered_(loss, nullptr); }
  Sharding sharding() const override { return options_.sharding; }

 private:
  /// The k-th batch of this step: the last one is that of the source.
  const Batch& batch(Index k) const {
    if (k + 1 < options_.batches) return earlier_[static_cast<std::size_t>(k)];
    return mixed_ != nullptr ? *mixed_ : source_.batch();
  }
  std::optional<std::uint64_t> dropout_seed(Index k) const;
  void set_dropout(Index k);
  void require_full_softmax() const;
  void require_looking_back() const;
  void check_forward() const;
  void check_chooser(std::string_view name) const;
  void require_losses(std::string_view objective) const;
  std::string_view objective_name() const { return chosen_ ? chosen_->name() : std::string_view(); }
  std::uint64_t number(Index k) const { return static_cast<std::uint64_t>(step_ * options_.batches + k); }
  void require_exact_products() const;
  void require_plain_weights() const;
  void require_own_inputs_apart() const;
  const Parameters<T>& seen() { return weights_ ? weights_->seen(static_cast<std::uint64_t>(step_)) : parameters_; }
  const std::atomic<bool>* flag_within(bool first) const;
  void poll() const {
    if (options_.stop == nullptr) return;
    if (options_.sharding.all().any(options_.stop->load(std::memory_order_relaxed))) throw BrokenOff();
  }

  const Network<T>& network_;
  Parameters<T>& parameters_;
  BatchSource& source_;
  BatchObjectiveOptions options_;
  Team& team_;
  Entered entered_;
  ShardedPass<T> pass_;
  std::unique_ptr<SampledSoftmax<T>> sampled_;   // takes the place of pass_ in `gradient`
  std::unique_ptr<ForwardGradient<T>> forward_;  // so does this
  std::unique_ptr<ChosenPass<T>> chosen_;        // and this
  std::unique_ptr<OwnOutputs<T>> own_;
  std::unique_ptr<FreePositions<T>> free_;
  std::unique_ptr<WeightRules<T>> weights_;         // where weights are dropped or tied
  const Batch* mixed_ = nullptr;                    // in place of that of the source
  std::unique_ptr<ShardedCurvature<T>> curvature_;  // of optimisers that ask for it
  State<T> carried_, scratch_;
  std::vector<Batch> earlier_;    // the batches of the present step but the last
  std::vector<State<T>> before_;  // as it was when each of them was entered
  double predicted_ = 0;
  Index step_ = 0;
  std::span<const T> computed_;  // the gradient of the present step, which belongs to the control; or its slices
  bool in_slices_ = false;
};

}  // namespace unfold
