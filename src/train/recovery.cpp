#include "train/recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "distributed/consistency.h"
#include "loss/symbol_probabilities.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/numerics/bf16.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

/// Below this factor, the learning rate is too small to change anything in the steps until the next failure.
constexpr double kNoRate = 1e-4;
/// In units of the loss of the uniform distribution. Above kDiverged, training has diverged. Above kNotGood, a state is
/// not used for rollback unless it is the first state.
constexpr double kDiverged = 100, kNotGood = 2;

template <class T>
std::string lower_rates_failed(int attempts, double factor) {
  const bool grows = factor < kNoRate;
  return fmt::format(
      "{} attempts with lower learning rates failed, the last with {:.0e} of the original{}; start again with {}a "
      "smaller learning rate or a smaller clip",
      attempts, factor, grows ? ": with these weights, the states grow" : "",
      !grows                     ? ""
      : std::is_same_v<T, float> ? "bounded units (tanh), double precision (larger range), "
                                 : "bounded units (tanh), ");
}

/// Returns the loss of the uniform distribution; infinite for numbers, which have no uniform distribution.
template <class T>
double uniform_loss(const Network<T>& network) {
  double total = 0;
  for (const Head<T>& head : network.heads) {
    if (!head.loss->template as<Categorical<T>>() && !head.loss->template as<SymbolProbabilities<T>>())
      return std::numeric_limits<double>::infinity();
    const auto size = static_cast<double>(std::max<Index>(2, head.loss->target_size(head.signal.size())));
    double log = 0;
    vector_log(&size, &log, 1);
    total += head.weight * log;
  }
  return total;
}

/// Returns the settings that must not change when a run is resumed. The budget may change, so a run can be extended.
template <class T>
nlohmann::json configuration_of(const Run<T>& run, const nlohmann::json& sources) {
  const TrainerOptions& options = run.options;
  nlohmann::json result = {{"parameters", run.values.size()},          {"bytes_per_number", sizeof(T)},
                           {"optimizer", run.optimizer.spec()},        {"seed", options.seed},
                           {"validate_every", options.validate_every}, {"patience", options.patience},
                           {"goal_error", options.goal_error},         {"snapshot_every", options.snapshot_every},
                           {"log_every", options.log_every},           {"model", options.model}};
  result.update(sources);
  // The precision actually used, not the requested precision, which another processor may not support. A run may move
  // to or from a device (kOnDevice).
  if (options.offload != nullptr)
    result["precision"] = kOnDevice;
  else if (options.precision == Precision::bf16)
    result["precision"] = available(options.precision) == Precision::bf16 ? "bf16" : "float";
  if (options.activations == Precision::bf16) result["activations"] = "bf16";
  if (!options.forcing.always())
    result["teacher_forcing"] = {options.forcing.from, options.forcing.to, static_cast<int>(options.forcing.shape)};
  if (!options.gradient.looks_back()) result["gradient"] = options.gradient.text();
  if (options.best_by_error) result["best_by_error"] = true;
  if (!options.data.empty()) result[kDataKey] = options.data;
  if (options.shards > 1) result["shards"] = options.shards;
  if (options.shards > 1 && options.gradient_sums == Precision::bf16) result["gradient_sums"] = "bf16";
  if (options.penalties.any())
    result["penalties"] = {{"activity", options.penalties.activity}, {"flow", options.penalties.flow}};
  if (options.feedback.on()) result["feedback"] = {options.feedback.given, options.feedback.free};
  if (options.penalties.smoothing > 0) result["label_smoothing"] = options.penalties.smoothing;
  return result;
}

}  // namespace

template <class T>
Recovery<T>::Recovery(Run<T>& run, const nlohmann::json& configuration)
    : run_(run),
      configuration_(configuration_of(run, configuration)),
      uniform_loss_(uniform_loss(run.network)),
      snapshot_interval_(std::max<Index>(1, run.options.snapshot_every / run.optimizer.gradients())) {}

template <class T>
bool Recovery<T>::entered(double loss, const typename BatchObjective<T>::Norm& norm) {
  const RunState& state = run_.state;
  const bool good = std::isfinite(loss) && (state.step == 0 || loss <= kNotGood * uniform_loss_);
  if (state.step % snapshot_interval_ == 0 && good && all_finite<T>(run_.values.flat()) &&
      (!norm || std::isfinite(norm()))) {
    run_.objective.swap_carried();
    capture(last_good_);
    run_.objective.swap_carried();
  }
  return !norm || !(loss > kDiverged * uniform_loss_) || state.step == last_good_.run.step;
}

template <class T>
void Recovery<T>::require_same_run() const {
  Processes& all = run_.sharding.all();
  if (all.alone()) return;
  if (all.count() > run_.sharding.shards)
    throw UsageError(fmt::format("{} processes, but {} shards: start at most as many processes as there are shards",
                                 all.count(), run_.sharding.shards));
  std::vector<Claim> claims;
  for (const auto& [key, value] : configuration_->items()) claims.push_back({key, value.dump()});
  claims.push_back({"the parameters at the start", fingerprint(std::as_bytes(run_.values.flat()))});
  require_same_settings(all, claims);
}

template <class T>
std::string Recovery<T>::name_of(Index parameter) const {
  for (const ParameterInfo& p : run_.values.info())
    if (const Index i = parameter - p.offset; 0 <= i && i < p.size())
      return fmt::format("{} at ({}, {})", p.name, i / p.cols, i % p.cols);
  return "no parameter";
}

template <class T>
bool Recovery<T>::parameters_are_finite() {
  if (all_finite<T>(run_.values.flat())) return true;
  const auto all = run_.values.flat();
  const auto first = std::ranges::find_if(all, [](T x) { return !std::isfinite(x); });
  roll_back(fmt::format("a weight is not finite; first in {}", name_of(first - all.begin())));
  return false;
}

template <class T>
std::string Recovery<T>::explain(const StepReport& report) {
  if (std::isfinite(report.loss)) {
    if (const Index first = run_.objective.first_non_finite_of_gradient(); first >= 0)
      return fmt::format("the gradient is not finite; first in {}", name_of(first));
    return fmt::format("the norm of the gradient is {}", report.gradient_norm);
  }
  if (const std::string first = run_.objective.find_non_finite(); !first.empty())
    return fmt::format("the loss is not finite; first {}", first);
  if (report.loss > 0 && std::isfinite(uniform_loss_))
    return fmt::format("the loss exceeds {:.0f} nats per symbol", kDiverged * uniform_loss_);
  return fmt::format("the loss is {}", report.loss);
}

template <class T>
void Recovery<T>::roll_back(const std::string& cause) {
  const RunState failed = run_.state;
  const int attempts = run_.options.attempts;
  const int attempt = failed.step > failed.failed_step ? 1 : static_cast<int>(failed.attempts) + 1;
  if (attempt > attempts || failed.step == last_good_.run.step)
    throw DivergedError(fmt::format("training diverged at step {}: {}. {} than in {}", failed.step, cause,
                                    failed.step == last_good_.run.step
                                        ? "A lower learning rate does not help, because no step was taken since the "
                                          "last good state; start again with a smaller learning rate or a smaller clip"
                                        : lower_rates_failed<T>(attempts, failed.divergence_factor),
                                    run_.optimizer.spec()));
  // The first attempt halves the learning rate. If that does not help, the rate is probably wrong by orders of
  // magnitude.
  const double factor = failed.divergence_factor * (attempt == 1 ? 0.5 : 0.1);
  restore(last_good_);
  RunState& state = run_.state;
  state.seconds = failed.seconds;
  state.validation_rows = failed.validation_rows;
  state.divergence_factor = factor;
  state.attempts = attempt;
  state.failed_step = failed.step;
  state.rollbacks = failed.rollbacks + 1;
  run_.listeners.tell(&Observer::rollback, RollbackEvent{.step = failed.step,
                                                         .to_step = state.step,
                                                         .reason = cause,
                                                         .factor = factor,
                                                         .attempt = attempt,
                                                         .attempts = attempts});
}

template <class T>
void Recovery<T>::capture(Snapshot<T>& s) {
  RunState& state = run_.state;
  Parameters<T>& values = run_.values;
  const Index streams = run_.batches.streams();
  state.log_length = run_.listeners.log ? static_cast<Index>(run_.listeners.log->length()) : state.log_length;
  s.run = state;
  if (s.parameters.size() != values.size()) s.parameters.resize(values.size());
  std::copy(values.flat().begin(), values.flat().end(), s.parameters.begin());
  capture_optimizer(run_.optimizer, s);
  s.carried = State<T>(*run_.objective.network().plan, streams);  // spare slots are empty between batches
  for (Index slot = 0; slot < streams; ++slot) s.carried.copy_slot(run_.objective.carried(), slot, slot);
  const std::span<const T> influences = run_.objective.influences();
  if (s.influences.size() != static_cast<Index>(influences.size()))
    s.influences.resize(static_cast<Index>(influences.size()));
  std::copy(influences.begin(), influences.end(), s.influences.begin());
  s.best = run_.best;
}

template <class T>
void Recovery<T>::restore(const Snapshot<T>& s) {
  run_.state = s.run;
  std::copy(s.parameters.begin(), s.parameters.end(), run_.values.flat().begin());
  restore_optimizer(s, run_.optimizer);
  run_.objective.carried() = s.carried;
  std::copy(s.influences.begin(), s.influences.end(), run_.objective.influences().begin());
  run_.best = s.best;
  run_.batches.seek(run_.state.epoch, run_.state.batch);
}

template <class T>
bool Recovery<T>::is_due() const {
  const TrainerOptions& options = run_.options;
  if (options.checkpoint.empty()) return false;
  if (options.checkpoint_steps > 0 && run_.state.step % options.checkpoint_steps == 0) return true;
  return options.checkpoint_seconds > 0 && run_.clock.agreed() - checkpoint_mark_ >= options.checkpoint_seconds;
}

template <class T>
bool Recovery<T>::write_if_due() {
  if (!is_due()) return false;
  checkpoint_mark_ = run_.clock.agreed();
  if (last_good_.run.step == written_step_) return false;
  last_good_.run.seconds = run_.state.seconds;
  write(last_good_, nullptr);
  return true;
}

template <class T>
void Recovery<T>::write(Snapshot<T>& s, Snapshot<T>* rollback) {
  const std::string& file = run_.options.checkpoint;
  gather_carried(s.carried);
  if (rollback != nullptr) gather_carried(rollback->carried);
  const bool in_slices = run_.optimizer.in_slices();
  Tensors own, own_rollback;
  if (in_slices) own = std::exchange(s.optimizer, gather_slices(s.optimizer));
  if (in_slices && rollback != nullptr)
    own_rollback = std::exchange(rollback->optimizer, gather_slices(rollback->optimizer));
  if (run_.sharding.all().first()) write_checkpoint(file, s, rollback, *configuration_);
  if (in_slices) s.optimizer = std::move(own);
  if (in_slices && rollback != nullptr) rollback->optimizer = std::move(own_rollback);
  written_step_ = s.run.step;
  if (run_.listeners.observer != nullptr) run_.listeners.observer->checkpoint({s.run.step, file});
}

/// Sends the carried state of each process's shards to the first process.
template <class T>
void Recovery<T>::gather_carried(State<T>& carried) const {
  Processes& all = run_.sharding.all();
  if (all.alone()) return;
  const auto slots_of = [&](int process) {
    std::vector<Index> slots;
    const Range own = run_.sharding.of(process);
    for (Index slot = 0; slot < carried.slots(); ++slot)
      if (const Index s = shard_of_slot(slot, run_.sharding.shards); own.begin <= s && s < own.end)
        slots.push_back(slot);
    return slots;
  };
  std::vector<Sending> sendings;
  std::vector<Receiving> receivings;
  const auto row = [&](Index slot) { return std::span(carried.row(slot), at(carried.width())); };
  const auto flag = [&](Index slot) { return carried.fresh_flags().subspan(at(slot), 1); };
  if (!all.first())
    for (const Index slot : slots_of(all.number())) {
      sendings.push_back({0, std::as_bytes(row(slot))});
      sendings.push_back({0, std::as_bytes(flag(slot))});
    }
  for (int p = 1; all.first() && p < all.count(); ++p)
    for (const Index slot : slots_of(p)) {
      receivings.push_back({p, std::as_writable_bytes(row(slot))});
      receivings.push_back({p, std::as_writable_bytes(flag(slot))});
    }
  all.exchange(sendings, receivings);
}

template <class T>
typename Recovery<T>::Tensors Recovery<T>::gather_slices(const Tensors& slices) const {
  Processes& all = run_.sharding.all();
  const Slices& of = *run_.objective.slices();
  Tensors whole;
  for (const auto& [name, own] : slices) {
    if (!all.first()) {
      const Sending sending{0, std::as_bytes(own.span())};
      all.exchange(std::span(&sending, own.empty() ? 0 : 1), {});
      continue;
    }
    Buffer<T>& numbers = whole.emplace_back(name, Buffer<T>(of.size())).second;
    scatter_ranges<T>(own.span(), of.own(), numbers.span());
    for (int p = 1; p < all.count(); ++p) {
      std::vector<T> theirs(at(of.size_of(p)));
      const Receiving receiving{p, std::as_writable_bytes(std::span(theirs))};
      all.exchange({}, std::span(&receiving, theirs.empty() ? 0 : 1));
      scatter_ranges<T>(theirs, of.of(p), numbers.span());
    }
  }
  return whole;
}

template <class T>
void Recovery<T>::take_slices(Tensors& whole) const {
  const Slices& of = *run_.objective.slices();
  for (auto& [name, numbers] : whole) {
    Buffer<T> own(of.own_size());
    gather_ranges<T>(numbers.span(), of.own(), own.span());
    numbers = std::move(own);
  }
}

template <class T>
void Recovery<T>::finish() {
  capture(last_good_);
  if (!run_.options.checkpoint.empty()) write(last_good_, nullptr);
}

template <class T>
void Recovery<T>::interrupt() {
  Snapshot<T> present;
  if (!run_.options.checkpoint.empty()) capture(present);
  interrupt(present);
}

template <class T>
void Recovery<T>::interrupt(Snapshot<T>& present) {
  const RunState& state = run_.state;
  if (run_.options.checkpoint.empty())
    throw InterruptedError(fmt::format("interrupted at step {}; checkpoints are disabled", state.step));
  write(present, last_good_.run.step < state.step ? &last_good_ : nullptr);
  throw InterruptedError(fmt::format("interrupted at step {}; the checkpoint {} was written: use --resume to continue",
                                     state.step, run_.options.checkpoint));
}

template <class T>
void Recovery<T>::resume() {
  Snapshot<T> present, rollback;
  capture(present);
  present.best = std::make_shared<const Parameters<T>>(run_.values);
  const bool in_slices = run_.optimizer.in_slices();
  for (auto& [name, numbers] : present.optimizer)
    if (in_slices) numbers.resize(run_.values.size());
  rollback = present;
  const bool has_rollback = read_checkpoint(run_.options.checkpoint, *configuration_, present, rollback);
  if (in_slices) take_slices(present.optimizer), take_slices(rollback.optimizer);
  restore(present);
  last_good_ = has_rollback ? std::move(rollback) : std::move(present);
  written_step_ = run_.state.step;
  checkpoint_mark_ = run_.state.seconds;
}

template class Recovery<float>;
template class Recovery<double>;

}  // namespace unfold
