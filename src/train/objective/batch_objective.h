#pragma once
/// The objective of a training step: the loss over one or several batches. The state is carried from batch to batch and
/// from step to step.
///
///   objective.gather(step);              // loads the batches of this step
///   optimizer.step(objective, ...);      // may call gradient, loss and curvature any number of times
///   objective.leave();                   // the state carries over to the next step

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/interruptible.h"
#include "optim/direction/row_steps.h"
#include "train/objective/gradient_source.h"
#include "train/objective/input_source.h"
#include "train/objective/objective_options.h"
#include "train/objective/table_rows.h"
#include "train/objective/weight_rules.h"
#include "train/passes/sharded_pass.h"
#include "unfold/optim/direction/objective.h"
#include "unfold/train/objective/sequence_objective.h"

namespace unfold {

template <class T>
class BatchObjective final : public Objective<T>, public RowObjective<T> {
 public:
  /// Computes the norm of a gradient on demand.
  using Norm = std::function<double()>;
  /// Called with the loss and the gradient norm (empty if there is none) after a step has read its batches and before
  /// parameters change. Returns false if the loss indicates divergence; it then counts as infinite.
  using Entered = std::function<bool(double loss, const Norm& norm)>;

  /// Keeps references to all arguments, which must outlive the objective. Throws UsageError for unsupported
  /// combinations: a flow penalty or own outputs with several batches; penalties, own outputs, forward gradients or a
  /// sampled softmax with several shards; forward gradients with own outputs, a sampled softmax, several batches,
  /// dropped weights or bfloat16; a chooser with any of these or a memory limit; an offload with any of these except a
  /// sampled softmax, or with a flow penalty. `chooser`: an objective that replaces the losses; null if there is none.
  BatchObjective(const Network<T>& network, Parameters<T>& parameters, BatchSource& source,
                 const BatchObjectiveOptions& options, Team& team, Entered entered, BatchChooser<T>* chooser = nullptr);

  /// Takes the batches of this step from the source, which then points to the last batch.
  void gather(Index step);
  /// Until the next `gather`, each position reads one of the network's own outputs with probability 1 - forcing; with
  /// feedback, only the free positions do. REQUIRES one of the two options.
  void read_own_outputs(double forcing);
  double predicted() const override { return predicted_; }  ///< number of symbols in all batches of the step
  bool repeats() const override {
    return source_.unchanging() && options_.batches == 1 && !network_.dropout && !inputs_ && !weights_ &&
           gradient_->repeats();
  }
  Index symbols() const;
  /// Runs forward through the batches only to update the state.
  void skip();
  /// Must be called after the step, before the source advances.
  void leave();

  /// Before `gather` and after `leave`: returns the state between steps.
  State<T>& carried() { return carried_; }
  /// Between the first pass of a step and `leave`: exchanges `carried` with the state before the step; a second call
  /// undoes this.
  void swap_carried() {
    std::swap(carried_, before_.front());
    gradient_->swap_kept();
  }
  /// Returns the data carried for forward gradients (ForwardGradient::carried); empty if they are not used.
  std::span<T> influences() { return gradient_->carried(); }
  /// Returns the signal and position of the first non-finite value in the batches of this step; empty if there is none.
  std::string find_non_finite();
  /// Returns the index of the first non-finite element of this step's last gradient, or -1. Collective over all
  /// processes.
  Index first_non_finite_of_gradient();

  Parameters<T>& parameters() override { return parameters_; }
  Team& team() override { return team_; }
  const Network<T>& network() const override { return network_; }
  double gradient(std::span<T> gradient) override;
  Resident<T>* resident() override;
  const RowTables* rows_read() override;
  double gradient_of_rows(Keeper<T>& keeper, std::span<T> gradient) override;
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
  /// Returns the k-th batch of this step; the last one is the batch of the source.
  const Batch& batch(Index k) const {
    if (k + 1 < options_.batches) return earlier_[static_cast<std::size_t>(k)];
    return mixed_ != nullptr ? *mixed_ : source_.batch();
  }
  bool is_plain() const;
  double pass(std::span<T> result, bool accumulate);
  double finish_gradient(double loss, std::span<T> result);
  std::optional<std::uint64_t> dropout_seed(Index k) const;
  void set_dropout(Index k);
  /// Throws UsageError if training changes the losses, the weights or the inputs of the network.
  void require_unmodified_network();
  /// Throws UsageError if training changes the losses or the inputs of the network.
  void require_true_losses();
  /// Throws UsageError if passes cannot use the whole first batch exactly as the gradient does.
  void require_exact_batch();
  void require_full_softmax() const;
  Index number(Index k) const { return step_ * options_.batches + k; }
  BatchOfStep<T> of_step(Index k) {
    return {batch(k), carried_, number(k), dropout_seed(k), 1 / predicted_, k > 0, !computed_.empty()};
  }
  void require_exact_products() const;
  void require_plain_weights() const;
  const Parameters<T>& seen() { return weights_ ? weights_->seen(static_cast<std::uint64_t>(step_)) : parameters_; }
  const Parameters<T>& in_network(const Parameters<T>& parameters);
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
  TableRows tables_;
  std::unique_ptr<InputSource<T>> inputs_;   // null unless the network reads its own outputs
  std::unique_ptr<WeightRules<T>> weights_;  // null unless weights are dropped or tied
  std::optional<Parameters<T>> padded_;      // the parameters with further, empty blocks
  std::unique_ptr<GradientSource<T>> gradient_;
  const Batch* mixed_ = nullptr;                    // if not null, replaces the batch of the source
  std::unique_ptr<ShardedCurvature<T>> curvature_;  // used only by curvature-based optimizers
  State<T> carried_, scratch_;
  std::vector<Batch> earlier_;    // the batches of the current step except the last
  std::vector<State<T>> before_;  // the state before each batch was entered
  double predicted_ = 0;
  Index step_ = 0;
  // The gradient of the current step, or its slices. The buffer is owned by the control.
  std::span<const T> computed_;
  bool in_slices_ = false;
};

}  // namespace unfold
