#include "train/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/interruptible.h"
#include "unfold/base/error.h"

namespace unfold {

Index automatic_validation_interval(Index validation_symbols, Index symbols_per_step, Index gradients_per_step) {
  // A forward pass costs about a third of a gradient: with this interval, validation takes a twentieth of the time.
  const Index work = std::max<Index>(1, symbols_per_step * gradients_per_step);
  return std::max({Index{1}, 50 / gradients_per_step, 20 * validation_symbols / (3 * work)});
}

namespace {

/// Ends after approximately the given number of rows. Streams are read in parallel, so the rows come from all parts of
/// the text.
class FirstRows final : public BatchReader {
 public:
  FirstRows(std::unique_ptr<BatchReader> all, Index rows) : all_(std::move(all)), rows_(rows) {}
  bool next(Batch& batch) override {
    if (read_ >= rows_ || !all_->next(batch)) return false;
    read_ += batch.structure.positions();
    return true;
  }

 private:
  std::unique_ptr<BatchReader> all_;
  Index rows_, read_ = 0;
};

/// Throws BrokenOff instead of the next batch once a flag is set.
class StoppedReader final : public BatchReader {
 public:
  StoppedReader(std::unique_ptr<BatchReader> all, const std::atomic<bool>& stop) : all_(std::move(all)), stop_(stop) {}
  bool next(Batch& batch) override {
    if (stop_.load(std::memory_order_relaxed)) throw BrokenOff();
    return all_->next(batch);
  }

 private:
  std::unique_ptr<BatchReader> all_;
  const std::atomic<bool>& stop_;
};

/// During its lifetime, the parameters are replaced with the parameters to validate if the optimizer keeps averages.
template <class T>
class Judged {
 public:
  explicit Judged(Run<T>& run) : run_(run), moving_(run.optimizer.average().size()) {
    const std::span<const T> average = run.optimizer.average();
    if (average.empty()) return;
    std::ranges::copy(run.values.flat(), moving_.begin());
    std::ranges::copy(average, run.values.flat().begin());
  }
  ~Judged() {
    if (!moving_.empty()) std::ranges::copy(moving_, run_.values.flat().begin());
  }
  Judged(const Judged&) = delete;

 private:
  Run<T>& run_;
  std::vector<T> moving_;
};

}  // namespace

template <class T>
Validation<T>::Validation(TrainingSources<T>& sources, Run<T>& run, MinutesBudget<T>& budget)
    : sources_(sources), run_(run), budget_(budget) {
  if (!exists()) return;
  if (run.options.best_by_error && (!sources.judge || sources.chooser))
    throw UsageError("the best model cannot be selected by error, because validation does not measure an error");
  Network<T> network = run.network;
  network.offload = run.options.offload;
  if (!sources.judge)
    network.activations = run.options.activations;  // evaluated in pieces; a Judge needs whole batches
  evaluator_ = std::make_unique<Evaluator<T>>(network, run.team);
  if (sources.chooser) chosen_ = std::make_unique<SequenceObjectivePass<T>>(run.network, *sources.chooser, run.team);
  choose_interval();
}

template <class T>
void Validation<T>::choose_interval() {
  if (!exists()) return;
  const Index rows = run_.state.validation_rows > 0 ? run_.state.validation_rows : sources_.validation_symbols;
  interval_ = run_.options.validate_every > 0
                  ? run_.options.validate_every
                  : automatic_validation_interval(rows, sources_.step_symbols, run_.optimizer.gradients());
}

template <class T>
void Validation<T>::settle() {
  RunState& state = run_.state;
  if (!exists() || !budget_.exists() || !budget_.knows_steps() || state.validation_rows > 0) return;
  state.validation_rows = budget_.validation_rows();
  choose_interval();
}

template <class T>
double Validation<T>::share() const {
  const Index rows = run_.state.validation_rows;
  if (rows <= 0 || rows >= sources_.validation_symbols) return 1;
  return static_cast<double>(rows) / static_cast<double>(sources_.validation_symbols);
}

template <class T>
Evaluation Validation<T>::measure() {
  Judge<T>* judge = sources_.judge.get();
  std::unique_ptr<BatchReader> reader = sources_.validation();
  if (share() < 1) reader = std::make_unique<FirstRows>(std::move(reader), run_.state.validation_rows);
  // With several processes, all stop together between steps.
  const std::atomic<bool>* const stop = run_.sharding.all().alone() ? run_.options.stop : nullptr;
  const Interruptible within(stop);
  if (stop != nullptr) reader = std::make_unique<StoppedReader>(std::move(reader), *stop);
  if (chosen_) return measure_chosen(*reader);
  if (judge == nullptr) return evaluator_->run(run_.values, *reader);
  judge->start();
  return evaluator_->run(
      run_.values, *reader, {},
      [judge](const Batch& batch, std::span<const Matrix<const T>> outputs) { judge->see(batch, outputs); });
}

/// Evaluates the chooser's objective. Random draws are the same in every validation and differ from those of the
/// training steps.
template <class T>
Evaluation Validation<T>::measure_chosen(BatchReader& reader) {
  constexpr auto kNoStep = std::numeric_limits<std::uint64_t>::max();
  Evaluation result;
  for (Batch batch; reader.next(batch);) {
    result.nats += chosen_->value(batch, run_.values, kNoStep);
    result.predicted += batch.predicted;
    result.symbols += batch.symbols;
    result.passages += batch.structure.sequences();
  }
  return result;
}

/// A run ends when its goal is reached, regardless of the nats.
template <class T>
bool Validation<T>::judge_best(double nats) {
  RunState& state = run_.state;
  const bool finite = std::isfinite(nats);
  state.solved = finite && sources_.judge && sources_.judge->error_rate() <= run_.options.goal_error;
  const double error = run_.options.best_by_error ? sources_.judge->error_rate() : 0;
  const bool better = std::pair(error, nats) < std::pair(state.best_error, state.best_nats);
  const bool best = state.solved || (finite && (!state.validated || better));
  state.validated = state.validated || finite;
  state.bad_validations = best ? 0 : state.bad_validations + 1;
  if (best) {
    state.best_nats = nats;
    state.best_error = error;
    state.best_step = state.step;
    run_.best = std::make_shared<const Parameters<T>>(run_.values);
  }
  return best;
}

template <class T>
void Validation<T>::lower_rate_on_plateau(bool best) {
  RunState& state = run_.state;
  state.plateau_bad = best ? 0 : state.plateau_bad + 1;
  const ScheduleOptions& schedule = run_.optimizer.schedule();
  if (schedule.kind != ScheduleKind::plateau || state.plateau_bad < schedule.plateau_patience) return;
  state.plateau_factor = std::max(schedule.floor, state.plateau_factor / 2);
  state.plateau_bad = 0;
}

template <class T>
std::string Validation<T>::run(const OnBest& on_best) {
  const double start = run_.clock.now();
  const Judged<T> judged(run_);
  const Evaluation found = measure();
  const double nats = found.nats_per_symbol();
  // Weights trained on short sequences may overflow on whole sequences.
  if (!std::isfinite(nats) && !run_.batches.shortened()) return fmt::format("the validation loss is {}", nats);
  const bool best = judge_best(nats);
  lower_rate_on_plateau(best);
  run_.optimizer.judged(nats);
  RunState& state = run_.state;
  state.validated_step = state.step;
  state.validation_symbols = found.predicted;
  state.validation_seconds = run_.clock.now() - start;
  run_.listeners.tell(&Observer::validation,
                      ValidationEvent{.step = state.step,
                                      .epochs = run_.batches.epochs_done(),
                                      .nats_per_symbol = nats,
                                      .symbols = found.predicted,
                                      .share = share(),
                                      .best = best,
                                      .seconds = run_.clock.now(),
                                      .measures = sources_.judge ? sources_.judge->measures() : Measures{}});
  if (!best) return {};
  const double saving = run_.clock.now();  // collective, although only one process saves
  if (on_best) on_best(run_.values);
  budget_.saving_took(run_.clock.now() - saving);
  return {};
}

template class Validation<float>;
template class Validation<double>;

}  // namespace unfold
