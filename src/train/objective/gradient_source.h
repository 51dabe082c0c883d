#pragma once
/// The ways to compute the gradient of a training step: backpropagation through the batch, a sampled softmax, a forward
/// method (optim/rtrl/forward_gradient.h), or an objective over selected sequences that replaces the losses. A step has
/// one source of its gradient:
///
///   auto source = make_gradient_source(network, parameters, options, streams, pass, chooser, team);
///   source->set_parameters(parameters);
///   double nats = source->gradient(step, result);
///
/// A source states what optimizers can rely on by the functions `require_*`, which throw UsageError.

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "train/objective/objective_options.h"
#include "train/passes/sharded_pass.h"
#include "unfold/train/objective/sequence_objective.h"

namespace unfold {

/// A batch of a training step.
template <class T>
struct BatchOfStep {
  const Batch& batch;
  State<T>& state;                       ///< the state before the batch; sources of the losses advance it
  Index number;                          ///< number of the batch in the training run
  std::optional<std::uint64_t> dropout;  ///< seed of dropout; empty: none
  double scale;                          ///< factor of the gradient
  bool accumulate;                       ///< the gradient is added
  bool again = false;                    ///< a further gradient of the same step, with different parameters
};

template <class T>
class GradientSource {
 public:
  /// `pass`: the pass over whole batches, which also skips batches.
  explicit GradientSource(ShardedPass<T>& pass) : pass_(pass) {}
  virtual ~GradientSource() = default;
  GradientSource(const GradientSource&) = delete;
  GradientSource& operator=(const GradientSource&) = delete;

  /// Keeps a reference to the parameters, with which the following gradients are computed.
  virtual void set_parameters(const Parameters<T>& parameters) = 0;
  /// Returns the nats of a batch, or the value of the objective; sets (or adds to) the scaled gradient.
  virtual double gradient(const BatchOfStep<T>& step, std::span<T> result) = 0;
  /// Returns the penalty on the states of the batch of the last call.
  virtual double penalty(const Batch&) const { return 0; }
  /// Returns the value of the objective for a batch; empty: the objective consists of the losses of the network.
  virtual std::optional<double> value(const Batch&, const Parameters<T>&, Index /*number*/) { return std::nullopt; }

  /// Computes only the state after batches: begin_skip with the parameters, then skip for each batch.
  virtual void begin_skip(const Parameters<T>& parameters) { pass_.set_parameters(parameters); }
  virtual void skip(const BatchOfStep<T>& step) { pass_.forward(step.batch, step.state); }

  /// Data that a source carries from step to step in addition to the state (ForwardGradient).
  virtual std::span<T> carried() { return {}; }
  virtual void swap_kept() {}
  virtual void leave(const Batch&) {}

  /// Returns whether the source is backpropagation through the losses.
  virtual bool is_plain() const { return false; }
  /// Returns whether equal batches and parameters give equal gradients.
  virtual bool repeats() const { return true; }
  /// Returns whether a flag may interrupt the computation within a batch.
  virtual bool is_interruptible() const { return true; }

  /// Throw UsageError if the losses are replaced, if the activations of a window are not stored, or if the batch has
  /// weights of examples that the source does not apply.
  virtual void require_losses(std::string_view /*optimizer*/) const {}
  virtual void require_stored_window(std::string_view /*optimizer*/) const {}
  virtual void require_equal_weights(const Batch&) const {}

 protected:
  ShardedPass<T>& pass_;
};

/// Keeps references to all arguments except `options`. `pass` is the pass over whole batches. `chooser`: may be null.
/// Throws UsageError for options that the source does not support (BatchObjective).
template <class T>
std::unique_ptr<GradientSource<T>> make_gradient_source(const Network<T>& network, const Parameters<T>& parameters,
                                                        const BatchObjectiveOptions& options, Index streams,
                                                        ShardedPass<T>& pass, BatchChooser<T>* chooser, Team& team);

/// Throws UsageError for options that an objective over selected sequences, `name`, does not support.
void check_chooser(const BatchObjectiveOptions& options, std::string_view name);

/// Returns the network with the precision and device of the options.
template <class T>
Network<T> with_options(Network<T> network, const BatchObjectiveOptions& options);

/// Returns the name of an optimizer, without its options.
inline std::string_view short_name(std::string_view spec) { return spec.substr(0, spec.find(':')); }

/// Throws UsageError if a batch has weights of examples, which only the plain pass over a batch applies.
void require_equal_weights(const Batch& batch, std::string_view who);

}  // namespace unfold
