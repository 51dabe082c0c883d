#pragma once
/// The training loop: batches -> forward -> losses -> backward -> clip -> optimizer, with validation, selection of the
/// best model, early stopping, recovery from divergence, checkpoints and resumption.
///
///   TrainerOptions options{.optimizer = "adam:rate=0.002,clip=1", .steps = 1000};
///   Trainer<float> trainer(network, parameters, {corpus, training, &validation}, options, team);
///   trainer.set_observer(&progress_line);
///   TrainingResult result = trainer.run();        // `parameters` now holds the final parameters
///   use(trainer.best());                          // the best by validation; without validation the final ones
///
/// Invariant 3. For budgets in steps or epochs, a run that is interrupted at any time and resumed produces the same
/// bytes as an uninterrupted run. A budget in minutes depends on the clock, and so does the learning rate schedule.
///
/// Shards and processes. A step adds the gradients of its shards in a fixed order, regardless of which process owns
/// them, so results are bit-identical for any number of processes (docs/processes.md). All processes run the same
/// trainer on the same data. They use the clock of the first process and react to signals sent to any process; only the
/// first process writes the checkpoint. Pass a log only to the first process.
///
/// Divergence. If a loss or gradient is not finite (or if the loss exceeds 100 ln(alphabet), which no useful model
/// does), the run returns to the last snapshot, lowers the learning rate and tries again. After too many attempts it
/// throws DivergedError.

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "unfold/base/formats/json.h"
#include "unfold/data/text/text_batches.h"
#include "unfold/distributed/timeline.h"
#include "unfold/loss/network.h"
#include "unfold/optim/optimizer.h"
#include "unfold/optim/rtrl/gradient_method.h"
#include "unfold/train/events.h"
#include "unfold/train/objective/output_feedback.h"
#include "unfold/train/objective/scheduled_sampling.h"
#include "unfold/train/objective/sequence_objective.h"
#include "unfold/train/passes/penalty.h"

namespace unfold {

struct TrainerOptions {
  std::string optimizer = "adam";  ///< SPEC
  BatchOptions batches = {};
  PenaltyOptions penalties = {};  ///< added to the loss of every step; requires Network::hidden
  TeacherForcing forcing = {};    ///< if not `always`: the network reads some of its outputs
  /// Positions at which the network reads its own outputs, with the gradient flowing through them. In this case,
  /// `forcing` is the fraction of these positions that still read the true value; if it is not set, the fraction is 0.
  Feedback feedback = {};
  GradientMethod gradient = {};  ///< backpropagation through a window, or forward methods (docs/gradients.md)
  std::uint64_t seed = 1;        ///< seed of data order and dropout

  // The budget; the run ends when the first limit is reached. At least one must be > 0 (UsageError). The run stays
  // within 5 % or one step of `minutes`, including the last validation and saving; a validation that would take more
  // than a tenth of the budget reads only a part of the data (TrainingResult::validation_share).
  Index steps = 0;
  double epochs = 0, minutes = 0;
  double spent_seconds = 0;  ///< part of `minutes` used before the run, for reading the data
  /// Part of `minutes` reserved after the run, as a multiple of the duration of a validation.
  double validations_after = 0;

  /// Also validate the initial parameters, which were fitted to the data; they may remain the best ones. Not with a
  /// budget in minutes, whose validations may read only a part of the data.
  bool validate_start = false;
  Index validate_every = 0;       ///< steps; 0: chosen so that validation takes about a twentieth of the time
  Index validation_streams = 64;  ///< approximate number of segments into which the validation part is divided ...
  Index validation_warmup = 256;  ///< ... each preceded by this many warm-up symbols
  bool best_by_error = false;     ///< select the best model by the error rate (Judge); ties are resolved by nats
  Index patience = 0;             ///< stop after this many validations without improvement; 0: never
  double goal_error = -1;         ///< stop when the error rate (Judge) is at most this; below 0: never
  Index sample_every = 0;         ///< steps; 0: never
  Index log_every = 100;          ///< steps between progress entries in the log
  Index shards = 1;               ///< number of shards of every batch; affects the results
  Precision gradient_sums = Precision::exact;  ///< precision of sums of shard gradients; affects the results
  /// The processes that share the shards, each running a trainer; nullptr: only this process.
  Processes* processes = nullptr;
  Timeline* timeline = nullptr;  ///< timeline of the steps on shards; nullptr: not recorded
  /// Precision of the products in training (bf16.h); validation is always exact.
  Precision precision = Precision::exact;
  /// Device for the passes of training and validation, with the precision of the device; if null, they run on the team,
  /// and validation is exact. All optimizer work except gradients and losses runs on the team.
  std::shared_ptr<const Offload> offload = nullptr;
  /// Precision of the activations stored for the backward pass; bf16 halves their memory and rounds gradients
  /// (batch_pass.h).
  Precision activations = Precision::exact;
  std::size_t memory_limit = 0;  ///< bytes for the activations of one batch; 0: no limit (see batch_pass.h)

  std::string checkpoint = {};     ///< checkpoint file; empty: none
  double checkpoint_seconds = 60;  ///< a checkpoint is written when the last one is older than this (0: never by age)
                                   ///< ...
  Index checkpoint_steps = 0;      ///< ... or after this many steps (0: never)
  bool resume = false;             ///< resume from `checkpoint`, which must exist
  std::string log = {};            ///< log.jsonl; empty: none
  std::string model = {};          ///< the caller's description of the model; must not change on resumption
  std::string data = {};           ///< fingerprint of the data, must not change on resumption; empty: unknown
  /// Called once, after the first step, when all options have been validated and no file has been written yet.
  std::function<void()> begins = {};

  Index snapshot_every = 32;  ///< number of gradients between the snapshots for rolling back
  int attempts = 8;           ///< maximum number of attempts to recover from one divergence
  /// Polled in every step, and several times within long steps. If set, the run writes a checkpoint and throws
  /// InterruptedError.
  const std::atomic<bool>* stop = nullptr;
};

struct TrainingData {
  const Corpus& corpus;
  const Split& training;
  const Split* validation = nullptr;          ///< null or empty: no validation
  const Corpus* validation_corpus = nullptr;  ///< corpus of the validation part, if different from `corpus`
  Processes* processes = nullptr;  ///< processes that share passes over the whole training part; nullptr: only this
                                   ///< process
};

/// Evaluates predictions by metrics other than the loss in nats: the fraction of wrong sequences or of wrong labels.
template <class T>
class Judge {
 public:
  virtual ~Judge() = default;
  virtual void start() = 0;
  /// `outputs` are the inputs of the losses, one matrix per head with one row per position.
  virtual void see(const Batch& batch, std::span<const Matrix<const T>> outputs) = 0;
  virtual Measures measures() const = 0;  ///< over all batches since `start`
  virtual double error_rate() const = 0;  ///< fraction of wrong items, from 0 to 1
};

/// The data sources of a trainer.
template <class T>
struct TrainingSources {
  std::unique_ptr<BatchSource> training;
  /// Returns a reader of all batches of a validation; if empty, there is no validation.
  std::function<std::unique_ptr<BatchReader>()> validation = {};
  Index step_symbols = 0;        ///< rows of a training batch
  Index validation_symbols = 0;  ///< rows of a validation
  std::unique_ptr<Judge<T>> judge = {};
  /// Only for streams: waits until the next batch is available; returns false if the stream has ended or the flag is
  /// set. If empty, batches are always available.
  std::function<bool(const std::atomic<bool>*)> wait = {};
  /// The network whose outputs are read during training, with the parameters of the trained network
  /// (objective/output_feedback.h); null if no outputs are read.
  std::shared_ptr<const Network<T>> feedback = nullptr;
  /// An objective that replaces the losses in training and validation; null if there is none.
  std::shared_ptr<BatchChooser<T>> chooser = nullptr;
  JsonBox configuration = {};  ///< settings that must not change when a run is resumed (an object)
};

struct TrainingResult {
  Index steps = 0;
  double epochs = 0;
  Index symbols = 0;     ///< number of symbols read in training
  double seconds = 0;    ///< duration, including earlier parts of a resumed run
  double last_loss = 0;  ///< nats per predicted symbol of the last step
  bool validated = false;
  double best_nats_per_symbol = 0;  ///< loss of the best validation
  Index best_step = 0;
  Index validation_symbols = 0;  ///< number of symbols predicted in a validation
  double validation_share = 1;   ///< approximate share of the validation data that was read
  int rollbacks = 0;
  /// "steps", "epochs", "minutes", "patience", "goal", "converged", "stream" (end of the stream)
  std::string reason = {};
};

template <class T>
class Trainer {
 public:
  /// Trains `parameters` in place. Keeps references to all arguments, which must outlive the trainer. Throws UsageError
  /// for invalid options; with `resume`, a ModelError for a damaged or missing checkpoint and, for a checkpoint with a
  /// different configuration, a UsageError that names the difference. Also throws UsageError for more processes than
  /// shards and if data, options or parameters differ between processes.
  Trainer(const Network<T>& network, Parameters<T>& parameters, const TrainingData& data, const TrainerOptions& options,
          Team& team);
  /// Like the constructor above, with other batch sources; options.batches is ignored.
  Trainer(const Network<T>& network, Parameters<T>& parameters, TrainingSources<T> sources,
          const TrainerOptions& options, Team& team);
  ~Trainer();

  void set_observer(Observer* observer);
  /// Sets a function that produces the text of SampleEvent from the current parameters.
  void set_sampler(std::function<std::string(const Parameters<T>&, Index step)> sampler);
  /// Sets a function that is called with the parameters after each validation with the best result so far (without
  /// validation, at the end).
  void on_best(std::function<void(const Parameters<T>&)> best_observer);

  /// Throws DivergedError, InterruptedError (after writing a checkpoint) and RuntimeFailure.
  TrainingResult run();
  const Parameters<T>& best() const;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

/// Returns the number of steps between validations that is used if `validate_every` is 0.
Index automatic_validation_interval(Index validation_symbols, Index symbols_per_step, Index gradients_per_step = 1);

}  // namespace unfold
