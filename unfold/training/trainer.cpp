#include "unfold/training/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "unfold/base/error.h"
#include "unfold/numerics/bf16.h"
#include "unfold/numerics/functions.h"
#include "unfold/training/checkpoint.h"
#include "unfold/training/evaluate.h"
#include "unfold/training/event_log.h"
#include "unfold/training/text_sources.h"
#include "unfold/training/window_objective.h"

namespace unfold {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

template <class T>
const T& checked(const T& options) {
  if (options.steps <= 0 && !(options.epochs > 0) && !(options.minutes > 0))
    throw UsageError("training needs a budget: steps, epochs or minutes above 0");
  if (options.steps < 0 || options.epochs < 0 || options.minutes < 0)
    throw UsageError("training: a budget (steps, epochs, minutes) cannot be negative");
  if (options.resume && options.checkpoint.empty()) throw UsageError("training: resume needs a checkpoint file");
  if (options.snapshot_every < 1 || options.log_every < 1)
    throw UsageError("training: snapshot_every and log_every must be at least 1");
  if (options.validation_lanes < 1 || options.validation_warmup < 0)
    throw UsageError("training: validation needs at least 1 lane and a warm-up of at least 0 symbols");
  return options;
}

/// No useful model is this bad: 100 times the loss of the uniform distribution.
double largest_loss(Index alphabet) {
  const double size = static_cast<double>(std::max<Index>(2, alphabet));
  double log = 0;
  vector_log(&size, &log, 1);
  return 100 * log;
}

}  // namespace

Index automatic_validation_interval(Index validation_symbols, Index symbols_per_step, Index gradients_per_step) {
  // A forward pass costs about a third of a gradient: this interval spends a twentieth of the time on validation.
  const Index work = std::max<Index>(1, symbols_per_step * gradients_per_step);
  return std::max({Index{1}, 50 / gradients_per_step, 20 * validation_symbols / (3 * work)});
}

template <class T>
struct Trainer<T>::Body {
  Body(const Network<T>& network_given, Parameters<T>& parameters_given, TrainingSources<T> sources_given,
       const TrainerOptions& options_given, Team& team_given)
      : network(network_given),
        values(parameters_given),
        sources(std::move(sources_given)),
        options(checked(options_given)),
        crew(team_given),
        batches(*sources.training),
        optimizer(make_optimizer<T>(options.optimizer, values.size())),
        objective(network, values, batches,
                  {.optimizer = optimizer->spec(),
                   .windows = optimizer->windows(),
                   .seed = options.seed,
                   .memory_limit = options.memory_limit,
                   .penalties = options.penalties,
                   .precision = options.precision},
                  crew, [this](double loss, std::span<const T> gradient) { return entered(loss, gradient); }),
        loss_limit(batches.window().target_values.empty() ? largest_loss(network.output.size())
                                                          : std::numeric_limits<double>::infinity()),
        snapshot_interval(std::max<Index>(1, options.snapshot_every / optimizer->gradients())) {
    if (validates()) {
      evaluator = std::make_unique<Evaluator<T>>(network, crew);
      interval =
          options.validate_every > 0
              ? options.validate_every
              : automatic_validation_interval(sources.validation_symbols, sources.step_symbols, optimizer->gradients());
    }
    optimizer->attach(objective);
    optimizer->attach(network, crew);
    capture(last_good);
    if (options.resume) resume();
    if (!options.log.empty()) {
      log = std::make_unique<EventLog>(options.log);
      log->cut_back(static_cast<std::uint64_t>(state.log_length), state.step);
    }
  }

  // The run

  TrainingResult run() {
    started = Clock::now();
    seconds_before = state.seconds;
    log_mark = {state.seconds, state.symbols};
    checkpoint_mark = state.seconds;
    while ((reason = finished()).empty()) {
      if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) interrupt();
      if (!step()) continue;
      if (validates() && state.step % interval == 0 && !validate()) continue;
      if (options.sample_every > 0 && state.step % options.sample_every == 0) draw_sample();
      if (checkpoint_is_due()) write_last_good();
    }
    return finish();
  }

  /// Why the run is over; empty while it is not.
  std::string finished() {
    state.seconds = now();
    if (state.solved) return "goal";
    if (options.patience > 0 && state.bad_validations >= options.patience) return "patience";
    if (options.steps > 0 && state.step >= options.steps) return "steps";
    if (options.epochs > 0 && batches.epochs_done() >= options.epochs) return "epochs";
    if (options.minutes > 0 && state.seconds + state.validation_seconds >= 60 * options.minutes) return "minutes";
    return {};
  }

  Progress progress() const {
    double fraction = 0;
    if (options.steps > 0)
      fraction = std::max(fraction, static_cast<double>(state.step) / static_cast<double>(options.steps));
    if (options.epochs > 0) fraction = std::max(fraction, batches.epochs_done() / options.epochs);
    if (options.minutes > 0) {
      const double training = std::max(1e-9, 60 * options.minutes - state.validation_seconds);
      fraction = std::max(fraction, state.seconds / training);
    }
    return {state.step, std::min(1.0, fraction)};
  }

  /// The windows of one step; false after a rollback.
  bool step() {
    objective.gather(state.step);
    StepReport report;
    if (objective.predicted() > 0) {
      report = optimizer->step(objective, progress(), state.plateau_factor * state.divergence_factor);
      if (!report.finite) {
        roll_back(explain(report));
        return false;
      }
      state.last_loss = report.loss;
      state.loss_sum += report.loss;
      ++state.loss_count;
    } else {  // nothing to learn here, but the state moves on
      objective.skip();
    }
    objective.leave();
    state.symbols += objective.symbols();
    ++state.step;
    batches.advance();
    state.epoch = batches.epoch();
    state.window = batches.position();
    tell_progress(report);
    return true;
  }

  void tell_progress(const StepReport& report) {
    state.seconds = now();
    ProgressEvent event{.step = state.step,
                        .epochs = batches.epochs_done(),
                        .fraction = progress().fraction,
                        .loss = state.last_loss,
                        .mean_loss = state.loss_count > 0 ? state.loss_sum / static_cast<double>(state.loss_count) : 0,
                        .gradient_norm = report.gradient_norm,
                        .rate = report.rate,
                        .symbols = state.symbols,
                        .seconds = state.seconds};
    const double span = state.seconds - log_mark.first;
    if (span > 0) event.symbols_per_second = static_cast<double>(state.symbols - log_mark.second) / span;
    if (event.fraction > 0) event.seconds_left = state.seconds * (1 - event.fraction) / event.fraction;
    if (report.curvature)
      tell(&Observer::curvature, CurvatureEvent{.step = state.step, .loss = report.loss, .report = *report.curvature});
    if (observer != nullptr) observer->progress(event);
    if (state.step % options.log_every != 0) return;
    if (log) log->progress(event);
    state.loss_sum = 0;
    state.loss_count = 0;
    log_mark = {state.seconds, state.symbols};
  }

  bool validates() const { return sources.validation != nullptr; }

  /// False after a rollback.
  bool validate() {
    const auto start = Clock::now();
    Judge<T>* judge = sources.judge.get();
    typename Evaluator<T>::Judge see;
    if (judge != nullptr) {
      judge->start();
      see = [judge](const Window& window, Matrix<const T> output) { judge->see(window, output); };
    }
    const Evaluation found = evaluator->run(values, *sources.validation(), {}, see);
    const double nats = found.nats_per_symbol();
    const bool finite = std::isfinite(nats);
    if (!finite && !batches.shortened()) {  // weights that suit short sequences may overflow in whole ones
      roll_back(fmt::format("the validation loss is {}", nats));
      return false;
    }
    state.solved = finite && judge != nullptr && judge->error_rate() <= options.goal_error;
    const bool best =
        state.solved || (finite && (!state.validated || nats < state.best_nats));  // a run ends at its goal
    state.validated = state.validated || finite;
    state.validated_step = state.step;
    state.validation_symbols = found.predicted;
    state.validation_seconds = seconds_since(start);
    state.bad_validations = best ? 0 : state.bad_validations + 1;
    state.plateau_bad = best ? 0 : state.plateau_bad + 1;
    if (best) {
      state.best_nats = nats;
      state.best_step = state.step;
      best_parameters = std::make_shared<const Parameters<T>>(values);
    }
    const ScheduleOptions& schedule = optimizer->schedule();
    if (schedule.kind == ScheduleKind::plateau && state.plateau_bad >= schedule.plateau_patience) {
      state.plateau_factor = std::max(schedule.floor, state.plateau_factor / 2);
      state.plateau_bad = 0;
    }
    tell(&Observer::validation, ValidationEvent{.step = state.step,
                                                .epochs = batches.epochs_done(),
                                                .nats_per_symbol = nats,
                                                .symbols = found.predicted,
                                                .best = best,
                                                .seconds = now(),
                                                .measures = judge != nullptr ? judge->measures() : Measures{}});
    if (best && keeper) keeper(values);
    return true;
  }

  void draw_sample() {
    if (sampler) tell(&Observer::sample, SampleEvent{state.step, sampler(values, state.step)});
  }

  TrainingResult finish() {
    if (validates() && state.validated_step != state.step && !validate()) return run();
    capture(last_good);
    if (!options.checkpoint.empty()) write(last_good, nullptr);
    if (keeper) keeper(best());
    tell(&Observer::done, DoneEvent{.step = state.step,
                                    .epochs = batches.epochs_done(),
                                    .reason = reason,
                                    .best_nats_per_symbol = state.best_nats,
                                    .best_step = state.best_step,
                                    .validated = state.validated,
                                    .seconds = state.seconds});
    return {.steps = state.step,
            .epochs = batches.epochs_done(),
            .symbols = state.symbols,
            .seconds = now(),
            .last_loss = state.last_loss,
            .validated = state.validated,
            .best_nats_per_symbol = state.best_nats,
            .best_step = state.best_step,
            .validation_symbols = state.validation_symbols,
            .rollbacks = static_cast<int>(state.rollbacks),
            .reason = reason};
  }

  const Parameters<T>& best() const { return best_parameters ? *best_parameters : values; }
  double now() const { return seconds_before + seconds_since(started); }

  template <class Event>
  void tell(void (Observer::*what)(const Event&), const Event& event) {
    if (observer != nullptr) (observer->*what)(event);
    if (log) (log.get()->*what)(event);
  }

  // Divergence

  /// What went wrong in the present step.
  std::string explain(const StepReport& report) {
    if (std::isfinite(report.loss)) {
      const std::span<const T> gradient = objective.last_gradient();
      for (const ParameterInfo& p : values.info())
        for (Index i = 0; i < p.size() && !gradient.empty(); ++i)
          if (!std::isfinite(gradient[at(p.offset + i)]))
            return fmt::format("the gradient is not finite; first in {} at ({}, {})", p.name, i / p.cols, i % p.cols);
      return fmt::format("the norm of the gradient is {}", report.gradient_norm);
    }
    if (const std::string first = objective.find_non_finite(); !first.empty())
      return fmt::format("the loss is not finite; first {}", first);
    if (report.loss > 0) return fmt::format("the loss exceeds {:.0f} nats per symbol", loss_limit);
    return fmt::format("the loss is {}", report.loss);
  }

  void roll_back(const std::string& cause) {
    const RunState failed = state;
    const int attempt = failed.step > failed.failed_step ? 1 : static_cast<int>(failed.attempts) + 1;
    if (attempt > options.attempts || failed.step == last_good.run.step)
      throw DivergedError(fmt::format(
          "training diverged at step {}: {}. {}; use a smaller rate, or a smaller clip, than in {}", failed.step, cause,
          failed.step == last_good.run.step ? "A lower rate cannot help: no step was taken since the last good state"
                                            : fmt::format("{} attempts with lower rates failed", options.attempts),
          optimizer->spec()));
    // The first time half the rate may do; when it does not, the rate is likely wrong by orders of magnitude.
    const double factor = failed.divergence_factor * (attempt == 1 ? 0.5 : 0.1);
    restore(last_good);
    state.seconds = failed.seconds;
    state.divergence_factor = factor;
    state.attempts = attempt;
    state.failed_step = failed.step;
    state.rollbacks = failed.rollbacks + 1;
    tell(&Observer::rollback, RollbackEvent{.step = failed.step,
                                            .to_step = state.step,
                                            .reason = cause,
                                            .factor = factor,
                                            .attempt = attempt,
                                            .attempts = options.attempts});
  }

  // Snapshots and checkpoints

  /// Keeps a snapshot of where this step began, when one is due; whether the loss is to be believed.
  bool entered(double loss, std::span<const T> gradient) {
    if (state.step % snapshot_interval == 0 && std::isfinite(loss) &&
        (gradient.empty() || std::isfinite(global_norm<T>(crew, gradient)))) {
      objective.swap_carried();
      capture(last_good);
      objective.swap_carried();
    }
    return gradient.empty() || !(loss > loss_limit) || state.step == last_good.run.step;
  }

  void capture(Snapshot<T>& s) {
    state.log_length = log ? static_cast<Index>(log->length()) : state.log_length;
    s.run = state;
    if (s.parameters.size() != values.size()) s.parameters.resize(values.size());
    std::copy(values.flat().begin(), values.flat().end(), s.parameters.begin());
    capture_optimizer(*optimizer, s);
    s.carried = State<T>(*network.plan, batches.lanes());  // spare slots hold nothing between windows
    for (Index slot = 0; slot < batches.lanes(); ++slot) s.carried.copy_slot(objective.carried(), slot, slot);
    s.best = best_parameters;
  }

  void restore(const Snapshot<T>& s) {
    state = s.run;
    std::copy(s.parameters.begin(), s.parameters.end(), values.flat().begin());
    restore_optimizer(s, *optimizer);
    objective.carried() = s.carried;
    best_parameters = s.best;
    batches.seek(state.epoch, state.window);
  }

  bool checkpoint_is_due() const {
    if (options.checkpoint.empty()) return false;
    if (options.checkpoint_steps > 0 && state.step % options.checkpoint_steps == 0) return true;
    return options.checkpoint_seconds > 0 && now() - checkpoint_mark >= options.checkpoint_seconds;
  }

  /// Regular checkpoints are the last snapshot: a resumed run has then the same snapshot to go back to.
  void write_last_good() {
    checkpoint_mark = now();
    if (last_good.run.step == written_step) return;
    last_good.run.seconds = state.seconds;
    write(last_good, nullptr);
  }

  void write(const Snapshot<T>& s, const Snapshot<T>* rollback) {
    write_checkpoint(options.checkpoint, s, rollback, configuration());
    written_step = s.run.step;
    if (observer != nullptr) observer->checkpoint({s.run.step, options.checkpoint});
  }

  [[noreturn]] void interrupt() {
    if (options.checkpoint.empty())
      throw InterruptedError(fmt::format("interrupted at step {}; no checkpoint was asked for", state.step));
    Snapshot<T> present;
    capture(present);
    write(present, last_good.run.step < state.step ? &last_good : nullptr);
    throw InterruptedError(fmt::format("interrupted at step {}; the checkpoint {} was written: resume to go on",
                                       state.step, options.checkpoint));
  }

  void resume() {
    Snapshot<T> present, rollback;
    capture(present);
    present.best = std::make_shared<const Parameters<T>>(values);
    rollback = present;
    const bool has_rollback = read_checkpoint(options.checkpoint, configuration(), present, rollback);
    restore(present);
    last_good = has_rollback ? std::move(rollback) : std::move(present);
    written_step = state.step;
  }

  /// What must be equal for a run to be the same run. The budget may differ: a run may be prolonged.
  nlohmann::json configuration() const {
    nlohmann::json result = {{"parameters", values.size()},
                             {"bytes_per_number", sizeof(T)},
                             {"optimizer", optimizer->spec()},
                             {"seed", options.seed},
                             {"validate_every", options.validate_every},
                             {"patience", options.patience},
                             {"goal_error", options.goal_error},
                             {"snapshot_every", options.snapshot_every},
                             {"log_every", options.log_every},
                             {"model", options.model}};
    result.update(*sources.configuration);
    // What was computed with, not what was asked for: another processor may not have it.
    if (options.precision == Precision::bf16)
      result["precision"] = available(options.precision) == Precision::bf16 ? "bf16" : "float";
    if (options.penalties.any())
      result["penalties"] = {{"activity", options.penalties.activity}, {"flow", options.penalties.flow}};
    return result;
  }

  Network<T> network;
  Parameters<T>& values;
  TrainingSources<T> sources;
  TrainerOptions options;
  Team& crew;
  WindowSource& batches;
  std::unique_ptr<Evaluator<T>> evaluator;
  std::unique_ptr<Optimizer<T>> optimizer;
  WindowObjective<T> objective;
  RunState state;
  std::shared_ptr<const Parameters<T>> best_parameters;
  Snapshot<T> last_good;
  double loss_limit;
  Index interval = 0, snapshot_interval = 1, written_step = -1;
  std::string reason;

  Observer* observer = nullptr;
  std::unique_ptr<EventLog> log;
  std::function<std::string(const Parameters<T>&, Index)> sampler;
  std::function<void(const Parameters<T>&)> keeper;

  Clock::time_point started = Clock::now();
  double seconds_before = 0, checkpoint_mark = 0;
  std::pair<double, Index> log_mark{};
};

template <class T>
Trainer<T>::Trainer(const Network<T>& network, Parameters<T>& parameters, const TrainingData& data,
                    const TrainerOptions& options, Team& team)
    : Trainer(network, parameters, text_sources<T>(data, checked(options)), options, team) {}

template <class T>
Trainer<T>::Trainer(const Network<T>& network, Parameters<T>& parameters, TrainingSources<T> sources,
                    const TrainerOptions& options, Team& team)
    : body_(std::make_unique<Body>(network, parameters, std::move(sources), options, team)) {}

template <class T>
Trainer<T>::~Trainer() = default;

template <class T>
void Trainer<T>::set_observer(Observer* observer) {
  body_->observer = observer;
}

template <class T>
void Trainer<T>::set_sampler(std::function<std::string(const Parameters<T>&, Index step)> sampler) {
  body_->sampler = std::move(sampler);
}

template <class T>
void Trainer<T>::set_keeper(std::function<void(const Parameters<T>&)> keeper) {
  body_->keeper = std::move(keeper);
}

template <class T>
TrainingResult Trainer<T>::run() {
  return body_->run();
}

template <class T>
const Parameters<T>& Trainer<T>::best() const {
  return body_->best();
}

template class Trainer<float>;
template class Trainer<double>;

}  // namespace unfold
