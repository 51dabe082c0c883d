#include "unfold/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "train/recovery.h"
#include "train/text_sources.h"
#include "train/validation.h"
#include "unfold/base/checks.h"
#include "unfold/base/error.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

template <class T>
const T& checked(const T& options) {
  if (options.steps <= 0 && !(options.epochs > 0) && !(options.minutes > 0))
    throw UsageError("training needs a budget: steps, epochs or minutes above 0");
  if (options.steps < 0 || options.epochs < 0 || options.minutes < 0)
    throw UsageError("training: a budget (steps, epochs, minutes) cannot be negative");
  if (options.resume && options.checkpoint.empty()) throw UsageError("training: resume needs a checkpoint file");
  if (options.snapshot_every < 1 || options.log_every < 1)
    throw UsageError("training: snapshot_every and log_every must be at least 1");
  if (options.validation_streams < 1 || options.validation_warmup < 0)
    throw UsageError("training: validation needs at least 1 lane and a warm-up of at least 0 symbols");
  if (options.shards < 1) throw UsageError("training: at least 1 shard is needed");
  if (options.validate_every < 0 || options.patience < 0 || options.sample_every < 0 || options.attempts < 0)
    throw UsageError("training: validate_every, patience, sample_every and attempts must be at least 0");
  if (!(options.checkpoint_seconds >= 0) || options.checkpoint_steps < 0)
    throw UsageError("training: checkpoint_seconds and checkpoint_steps must be at least 0");
  if (!(options.spent_seconds >= 0) || !(options.validations_after >= 0))
    throw UsageError("training: spent_seconds and validations_after must be at least 0");
  for (const double number : {options.epochs, options.minutes, options.goal_error, options.spent_seconds})
    if (std::isnan(number)) throw UsageError("training: epochs, minutes, spent_seconds and goal_error must be numbers");
  if (options.feedback.given < 0 || options.feedback.free < 0)
    throw UsageError("training: the numbers of positions of feedback must be at least 0");
  return options;
}

/// The network and the sources, after they have been checked for compatibility.
template <class T>
const Network<T>& checked(const Network<T>& network, const Parameters<T>& parameters,
                          const TrainingSources<T>& sources) {
  network.validate();
  if (sources.training == nullptr) throw UsageError("training: there are no sources of batches");
  require_length("training: the vector of parameters", parameters.size(), network.plan->parameter_count());
  for (const WeightDropout& drop : network.drops)
    require_index("training: dropped parameter", drop.parameter, static_cast<Index>(parameters.info().size()));
  for (const WeightTie& tie : network.ties)
    for (const int tied : {tie.parameter, tie.transposed})
      require_index("training: tied parameter", tied, static_cast<Index>(parameters.info().size()));
  return network;
}

}  // namespace

/// The training loop.
template <class T>
struct Trainer<T>::Body {
  Body(const Network<T>& network_given, Parameters<T>& values, TrainingSources<T> sources_given,
       const TrainerOptions& options_given, Team& team)
      : network(checked(network_given, values, sources_given)),
        sources(std::move(sources_given)),
        options(options_given),
        optimizer(make_optimizer<T>(options.optimizer, values.size())),
        objective(
            sources.feedback ? *sources.feedback : network, values, *sources.training,
            {.optimizer = optimizer->spec(),
             .batches = optimizer->batches(),
             .seed = options.seed,
             .memory_limit = options.memory_limit,
             .penalties = options.penalties,
             .own_outputs = !options.feedback.on() && !options.forcing.always(),
             .feedback = options.feedback,
             .gradient = options.gradient,
             .precision = options.precision,
             .activations = options.activations,
             .offload = options.offload,
             .sharding = sharding(),
             .stop = optimizer->gradients() > 1 ? options.stop : nullptr,
             .stop_first = options.stop},
            team,
            [this](double loss, const typename BatchObjective<T>::Norm& norm) { return recovery.entered(loss, norm); },
            sources.chooser.get()),
        now({network, values, options, team, *sources.training, *optimizer, objective, sharding()}),
        minutes(sources, now),
        validation(sources, now, minutes),
        recovery(now, *sources.configuration) {
    notices.clock = [this] { return now.clock.here(); };
    notices.stop = options.stop;
    now.clock.share(now.sharding);
    optimizer->attach(objective);
    recovery.require_same_run();
    recovery.start();
    if (options.resume) {
      recovery.resume();
      validation.choose_interval();
      begin_files();
    }
  }

  /// Called once, before any file is written but after the first step, which may still throw.
  void begin_files() {
    if (std::exchange(begun, true)) return;
    if (options.begins) options.begins();
    if (options.log.empty()) return;
    now.listeners.log = std::make_unique<EventLog>(options.log);
    now.listeners.log->cut_back(static_cast<std::uint64_t>(now.state.log_length), now.state.step);
  }

  TrainingResult run() {
    now.clock.start(now.state.seconds);
    now.clock.now();
    log_mark = {now.state.seconds, now.state.symbols};
    beginning = {now.state.seconds, progress().fraction};
    if (validates_start()) {
      begin_files();
      validate();
    }
    if (options.resume && was_interrupted_in_validation()) validate();
    for (;;) {
      const std::string reason = finished();
      if (reason.empty()) {
        step_and_report();
        continue;
      }
      if (!validation.is_pending()) {
        if (recovery.parameters_are_finite()) return finish(reason);
        continue;
      }
      // The validation may take less time than was reserved, or lead to a rollback; both leave time for more steps.
      if (validate() && !finished().empty()) return finish(reason);
    }
  }

  /// Returns whether the run was interrupted in a validation. With a budget in minutes, a validation may have been
  /// skipped for lack of time.
  bool was_interrupted_in_validation() const {
    return options.minutes <= 0 && now.state.step > 0 && validation.is_due() && validation.is_pending();
  }

  bool validates_start() const {
    return options.validate_start && options.minutes <= 0 && now.state.step == 0 && validation.exists();
  }

  /// Runs a step and everything that is due after it.
  void step_and_report() {
    if (told_to_stop()) {
      begin_files();
      keep_model_of_stream();
      recovery.interrupt();
    }
    if (sources.wait && !sources.wait(options.stop)) return;
    const double start = now.clock.agreed();
    const Timeline::Clock::time_point begin = Timeline::Clock::now();
    if (!step()) return;
    if (options.timeline != nullptr)
      options.timeline->note("step " + std::to_string(now.state.step), Timeline::Lane::step, begin);
    minutes.step_took(now.clock.agreed() - start);
    validation.settle();
    if (validation.is_due() && has_time_to_validate() && !validate()) return;
    if (options.sample_every > 0 && now.state.step % options.sample_every == 0) draw_sample();
    if (recovery.write_if_due()) keep_model_of_stream();
  }

  /// Returns whether any process has received a stop request; all processes know this one step later.
  bool told_to_stop() const {
    if (!now.sharding.all().alone()) return notices.stopped;
    return options.stop != nullptr && options.stop->load(std::memory_order_relaxed);
  }

  /// A stream may be endless, so the model is saved at intervals rather than at the end.
  void keep_model_of_stream() {
    if (sources.wait && best_observer && all_finite<T>(now.values.flat())) best_observer(judged());
  }

  /// Returns the parameters to be evaluated: the current parameters, or the average that the optimizer keeps.
  Parameters<T> judged() const {
    Parameters<T> result = now.values;
    const std::span<const T> average = optimizer->average();
    std::ranges::copy(average, result.flat().begin());
    return result;
  }

  Sharding sharding() {
    return {.shards = options.shards,
            .processes = options.processes,
            .gradients = options.gradient_sums,
            .notices = &notices,
            .timeline = options.timeline};
  }

  /// Returns false close to the end, where the final validation would follow immediately.
  bool has_time_to_validate() const { return options.minutes <= 0 || minutes.has_time_for_validation(); }

  /// Requires at least one completed step.
  bool minutes_are_up() const { return options.minutes > 0 && now.state.step > 0 && minutes.is_used_up(); }

  /// Returns the reason why the run has ended; empty while it continues.
  std::string finished() {
    RunState& state = now.state;
    state.seconds = now.clock.agreed();
    if (state.solved) return "goal";
    if (state.converged) return "converged";
    if (options.patience > 0 && state.bad_validations >= options.patience) return "patience";
    if (options.steps > 0 && state.step >= options.steps) return "steps";
    if (options.epochs > 0 && now.batches.epochs_done() >= options.epochs) return sources.wait ? "stream" : "epochs";
    if (minutes_are_up()) return "minutes";
    return {};
  }

  Progress progress() const {
    const RunState& state = now.state;
    double fraction = 0;
    if (options.steps > 0)
      fraction = std::max(fraction, static_cast<double>(state.step) / static_cast<double>(options.steps));
    if (options.epochs > 0) fraction = std::max(fraction, now.batches.epochs_done() / options.epochs);
    if (options.minutes > 0) {
      const double training = std::max(1e-9, minutes.total() - minutes.reserve());
      fraction = std::max(fraction, state.seconds / training);
    }
    return {state.step, std::min(1.0, fraction)};
  }

  /// Runs one step; returns false after a rollback.
  bool step() {
    RunState& state = now.state;
    if (optimizer->gradients() > 1 && options.stop != nullptr) recovery.keep_start_of_step();
    objective.gather(state.step);
    const bool freely = options.feedback.on(), always = options.forcing.always();
    if (freely || !always) objective.read_own_outputs(always ? 0 : options.forcing.at(progress().fraction));
    StepReport report;
    if (objective.predicted() > 0) {
      report = move();
      if (!report.finite) {
        recovery.roll_back(recovery.explain(report));
        return false;
      }
      state.converged = report.converged;
      state.last_loss = report.loss;
      state.loss_sum += report.loss;
      ++state.loss_count;
    } else {  // no targets in the batch, but the state advances
      objective.skip();
      begin_files();
    }
    objective.leave();
    state.symbols += objective.symbols();
    ++state.step;
    now.batches.advance();
    state.epoch = now.batches.epoch();
    state.batch = now.batches.position();
    tell_progress(report);
    return true;
  }

  /// Estimates the remaining time from the speed of this part of the run, because an earlier part may have run on a
  /// different machine or under a different load.
  double seconds_left(double fraction) const {
    const auto [seconds, done] = fraction > beginning.second ? beginning : std::pair<double, double>();
    return fraction > done ? (now.state.seconds - seconds) * (1 - fraction) / (fraction - done) : 0;
  }

  StepReport move() {
    try {
      const StepReport report =
          optimizer->step(objective, progress(), now.state.plateau_factor * now.state.divergence_factor);
      begin_files();
      return report;
    } catch (const BrokenOff&) {
      begin_files();
      if (optimizer->gradients() > 1) recovery.interrupt_from_start_of_step();
      objective.swap_carried();
      recovery.interrupt();
    }
  }

  void tell_progress(const StepReport& report) {
    RunState& state = now.state;
    state.seconds = now.clock.agreed();
    ProgressEvent event{.step = state.step,
                        .epochs = now.batches.epochs_done(),
                        .fraction = progress().fraction,
                        .loss = state.last_loss,
                        .mean_loss = state.loss_count > 0 ? state.loss_sum / static_cast<double>(state.loss_count) : 0,
                        .gradient_norm = report.gradient_norm,
                        .rate = report.rate,
                        .symbols = state.symbols,
                        .seconds = state.seconds};
    const double span = state.seconds - log_mark.first;
    if (span > 0) event.symbols_per_second = static_cast<double>(state.symbols - log_mark.second) / span;
    event.seconds_left = seconds_left(event.fraction);
    Listeners& listeners = now.listeners;
    if (report.curvature)
      listeners.tell(&Observer::curvature,
                     CurvatureEvent{.step = state.step, .loss = report.loss, .report = *report.curvature});
    if (listeners.observer != nullptr) listeners.observer->progress(event);
    if (state.step % options.log_every != 0) return;
    if (listeners.log) listeners.log->progress(event);
    state.loss_sum = 0;
    state.loss_count = 0;
    log_mark = {state.seconds, state.symbols};
  }

  /// Returns false after a rollback.
  bool validate() {
    if (!recovery.parameters_are_finite()) return false;
    try {
      const std::string fault = validation.run(best_observer);
      if (!fault.empty()) recovery.roll_back(fault);
      return fault.empty();
    } catch (const BrokenOff&) {
      recovery.interrupt();  // a resumed run validates first
    }
  }

  void draw_sample() {
    if (sampler)
      now.listeners.tell(&Observer::sample, SampleEvent{now.state.step, sampler(now.values, now.state.step)});
  }

  TrainingResult finish(const std::string& reason) {
    recovery.finish();
    if (!now.best && !optimizer->average().empty()) now.best = std::make_shared<const Parameters<T>>(judged());
    if (best_observer) best_observer(best());
    const RunState& state = now.state;
    now.listeners.tell(&Observer::done, DoneEvent{.step = state.step,
                                                  .epochs = now.batches.epochs_done(),
                                                  .reason = reason,
                                                  .best_nats_per_symbol = state.best_nats,
                                                  .best_step = state.best_step,
                                                  .validated = state.validated,
                                                  .seconds = state.seconds});
    return {.steps = state.step,
            .epochs = now.batches.epochs_done(),
            .symbols = state.symbols,
            .seconds = now.clock.now(),
            .last_loss = state.last_loss,
            .validated = state.validated,
            .best_nats_per_symbol = state.best_nats,
            .best_step = state.best_step,
            .validation_symbols = state.validation_symbols,
            .validation_share = validation.share(),
            .rollbacks = static_cast<int>(state.rollbacks),
            .reason = reason};
  }

  const Parameters<T>& best() const { return now.best ? *now.best : now.values; }

  Network<T> network;
  TrainingSources<T> sources;
  TrainerOptions options;
  Notices notices;
  std::unique_ptr<Optimizer<T>> optimizer;
  BatchObjective<T> objective;
  Run<T> now;
  MinutesBudget<T> minutes;
  Validation<T> validation;
  Recovery<T> recovery;
  std::function<std::string(const Parameters<T>&, Index)> sampler = {};
  std::function<void(const Parameters<T>&)> best_observer = {};
  bool begun = false;
  std::pair<double, Index> log_mark = {};  // seconds and symbols at the last log entry
  // Seconds and fraction of the budget at the start of this part of the run.
  std::pair<double, double> beginning = {};
};

template <class T>
Trainer<T>::Trainer(const Network<T>& network, Parameters<T>& parameters, const TrainingData& data,
                    const TrainerOptions& options, Team& team)
    : Trainer(network, parameters, text_sources<T>(data, checked(options)), options, team) {}

template <class T>
Trainer<T>::Trainer(const Network<T>& network, Parameters<T>& parameters, TrainingSources<T> sources,
                    const TrainerOptions& options, Team& team)
    : body_(std::make_unique<Body>(network, parameters, std::move(sources), checked(options), team)) {}

template <class T>
Trainer<T>::~Trainer() = default;

template <class T>
void Trainer<T>::set_observer(Observer* observer) {
  body_->now.listeners.observer = observer;
}

template <class T>
void Trainer<T>::set_sampler(std::function<std::string(const Parameters<T>&, Index step)> sampler) {
  body_->sampler = std::move(sampler);
}

template <class T>
void Trainer<T>::on_best(std::function<void(const Parameters<T>&)> observer) {
  body_->best_observer = std::move(observer);
}

template <class T>
TrainingResult Trainer<T>::run() {
  try {
    TrainingResult result = body_->run();
    body_->now.values.flat();  // ends a loan to the optimizer, which may be destroyed after the parameters
    return result;
  } catch (...) {
    body_->now.values.flat();
    throw;
  }
}

template <class T>
const Parameters<T>& Trainer<T>::best() const {
  return body_->best();
}

template class Trainer<float>;
template class Trainer<double>;

}  // namespace unfold
