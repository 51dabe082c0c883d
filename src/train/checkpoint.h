#pragma once
/// The complete state of a training run, in memory (to roll back after a divergence) and on disk (to resume after an
/// interruption). A checkpoint is a safetensors file, written atomically:
///
///   parameters [n], optimizer/<name> [n], best [n] (unless it equals the parameters), carried/values [streams x
///   width], carried/fresh [streams], influences [n] (of forward gradients); metadata "run" (counters, JSON),
///   "configuration" (JSON), "format".
///
/// The checkpoint of a run interrupted between snapshots also contains the last snapshot, under "rollback/", so a
/// resumed run rolls back to the same state as an uninterrupted run.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "unfold/graph/circuit/parameters.h"
#include "unfold/graph/engine/unfolding.h"
#include "unfold/optim/optimizer.h"

namespace unfold {

/// Value of "precision" in the configuration of a run on a device. It is compatible with every other precision on
/// resumption.
inline constexpr const char* kOnDevice = "device";
/// Key of the data fingerprint in the configuration of a run.
inline constexpr const char* kDataKey = "data";

/// The counters of a training run.
struct RunState {
  Index step = 0, epoch = 0, batch = 0, symbols = 0;
  double seconds = 0, last_loss = 0;
  double loss_sum = 0;  // since the last log entry
  Index loss_count = 0;
  Index log_length = 0;

  bool validated = false;
  double best_nats = 0, best_error = 0;  // best_error is used if the best model is selected by error
  Index best_step = 0, validated_step = -1, validation_symbols = 0;
  Index bad_validations = 0, plateau_bad = 0;
  double validation_seconds = 0;  // duration of the last validation
  Index validation_rows = 0;      // rows read by a validation; 0: not yet determined

  double plateau_factor = 1, divergence_factor = 1;
  bool solved = false;     // the goal was reached
  bool converged = false;  // the optimizer cannot improve the parameters
  Index attempts = 0, failed_step = -1, rollbacks = 0;
};

template <class Visitor, class State>
void visit_run_state(Visitor&& v, State& s) {
  v("step", s.step);
  v("epoch", s.epoch);
  v("window", s.batch);
  v("symbols", s.symbols);
  v("seconds", s.seconds);
  v("last_loss", s.last_loss);
  v("loss_sum", s.loss_sum);
  v("loss_count", s.loss_count);
  v("log_length", s.log_length);
  v("validated", s.validated);
  v("best_nats", s.best_nats);
  v("best_error", s.best_error);
  v("best_step", s.best_step);
  v("validated_step", s.validated_step);
  v("validation_symbols", s.validation_symbols);
  v("bad_validations", s.bad_validations);
  v("plateau_bad", s.plateau_bad);
  v("validation_seconds", s.validation_seconds);
  v("validation_rows", s.validation_rows);
  v("plateau_factor", s.plateau_factor);
  v("divergence_factor", s.divergence_factor);
  v("solved", s.solved);
  v("converged", s.converged);
  v("attempts", s.attempts);
  v("failed_step", s.failed_step);
  v("rollbacks", s.rollbacks);
}

template <class T>
struct Snapshot {
  RunState run;
  Buffer<T> parameters;
  std::vector<std::pair<std::string, Buffer<T>>> optimizer;
  std::vector<std::pair<std::string, double>> numbers;  ///< scalars of the optimizer
  State<T> carried;
  Buffer<T> influences;                       ///< data carried for forward gradients
  std::shared_ptr<const Parameters<T>> best;  ///< null: no validation yet
};

/// Copies the state of an optimizer into a snapshot, or back.
template <class T>
void capture_optimizer(Optimizer<T>& optimizer, Snapshot<T>& snapshot);
template <class T>
void restore_optimizer(const Snapshot<T>& snapshot, Optimizer<T>& optimizer);

/// Throws RuntimeFailure.
template <class T>
void write_checkpoint(const std::string& path, const Snapshot<T>& now, const Snapshot<T>* rollback,
                      const nlohmann::json& configuration);

/// Returns TrainerOptions::model as stored in a checkpoint. Throws ModelError for a damaged file.
std::string model_of_checkpoint(const std::string& path);

/// Reads into snapshots that already have the right shapes (captured from the run to be resumed). Throws ModelError for
/// a damaged file or different shapes and, for a different configuration, a UsageError that names the difference.
/// Returns whether there was a rollback snapshot.
template <class T>
bool read_checkpoint(const std::string& path, const nlohmann::json& configuration, Snapshot<T>& now,
                     Snapshot<T>& rollback);

}  // namespace unfold
