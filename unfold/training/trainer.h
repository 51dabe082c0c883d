#pragma once
/// The trainer: batches -> forward -> losses -> backward -> clip -> optimiser, with validation, the best model kept,
/// early stopping, recovery from divergence, checkpoints and resumption.
///
///   TrainerOptions options{.optimizer = "adam:rate=0.002,clip=1", .steps = 1000};
///   Trainer<float> trainer(network, parameters, {corpus, training, &validation}, options, team);
///   trainer.set_observer(&progress_line);
///   TrainingResult result = trainer.run();        // parameters are then the last ones
///   use(trainer.best());                          // the best by validation; without validation the last ones
///
/// Law 3. A run that is stopped at any moment and resumed ends with the same bytes as one that was not, for budgets in
/// steps or epochs; a budget in minutes depends on the clock and so does its schedule.
///
/// Shards and processes. A step adds the gradients of its shards in one order, whoever has them: the same bytes for any
/// number of processes (docs/processes.md). All of them run the same trainer on the same data; clock and signals are
/// those of the first and of any, and the first alone writes the checkpoint. Give only the first a log.
///
/// Divergence. When a loss or gradient is not finite (or the loss exceeds 100 ln(alphabet), which no useful model
/// does), the run goes back to the last snapshot, lowers the rate and tries again; after too many attempts:
/// DivergedError.

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "unfold/base/json.h"
#include "unfold/data/text_batches.h"
#include "unfold/forward/gradient_method.h"
#include "unfold/losses/network.h"
#include "unfold/optim/optimizer.h"
#include "unfold/optim/penalty.h"
#include "unfold/processes/timeline.h"
#include "unfold/training/chosen_batch.h"
#include "unfold/training/events.h"
#include "unfold/training/free_positions.h"
#include "unfold/training/own_outputs.h"

namespace unfold {

struct TrainerOptions {
  std::string optimizer = "adam";  ///< SPEC
  BatchOptions batches = {};
  PenaltyOptions penalties = {};  ///< added to the loss of every step; need Network::hidden
  TeacherForcing forcing = {};    ///< less than always: the network reads some of its own outputs
  Feedback feedback = {};         ///< where own outputs are read with the gradient through them; then `forcing` is the
                           ///< share of those positions that read what is true, none unless it says less than always
  GradientMethod gradient = {};  ///< looking back through a window, or carried along (forward/forward_gradient.h)
  std::uint64_t seed = 1;        ///< of data order and dropout

  // The budget; the first one reached ends the run. At least one is > 0 (UsageError). Minutes are kept within 5 % or
  // one step, the last validation and saving included; a validation that would take more than a tenth of them reads a
  // part (TrainingResult::validation_share).
  Index steps = 0;
  double epochs = 0, minutes = 0;
  double spent_seconds = 0;      ///< of the minutes, before the run: reading the data
  double validations_after = 0;  ///< of the minutes, after the run: worth so many validations

  Index validate_every = 0;       ///< steps; 0: so that validation costs about a twentieth of the time
  Index validation_streams = 64;  ///< the validation part is cut into about so many segments ...
  Index validation_warmup = 256;  ///< ... each warmed up on so many symbols before it
  bool best_by_error = false;     ///< the best is that of the least error of the judge, by nats where equal
  Index patience = 0;             ///< stop after so many validations without improvement; 0: never
  double goal_error = -1;         ///< stop when the judge finds at most this error; below 0: never
  Index sample_every = 0;         ///< steps; 0: never
  Index log_every = 100;          ///< steps between progress entries of the log
  Index shards = 1;               ///< that every batch is divided into; part of what is computed
  Precision gradient_sums = Precision::exact;  ///< of gradients of shards; likewise
  Processes* processes = nullptr;              ///< that have the shards, each a trainer of its own; nullptr: this one
  Timeline* timeline = nullptr;                ///< of steps on shards; nullptr: not wanted
  Precision precision = Precision::exact;      ///< of the products of training (bf16.h); validation is always exact
  /// Where the passes of training and validation run, in the precision of the device (offload/offload.h); null: on the
  /// team, and validation is exact. What an optimiser does beside gradients and losses is done on the team.
  std::shared_ptr<const Offload> offload = nullptr;
  /// Of the activities that are kept for the way back; bf16 takes half the memory and rounds gradients (batch_pass.h).
  Precision activities = Precision::exact;
  std::size_t memory_limit = 0;  ///< bytes for the activities of one batch; 0: none (see batch_pass.h)

  std::string checkpoint = {};     ///< file; empty: none
  double checkpoint_seconds = 60;  ///< written when the last one is older (0: never for age) ...
  Index checkpoint_steps = 0;      ///< ... or every so many steps (0: never)
  bool resume = false;             ///< go on from `checkpoint`, which must exist
  std::string log = {};            ///< log.jsonl; empty: none
  std::string model = {};          ///< what is trained, in the words of the caller; must be the same when resuming
  std::string data = {};           ///< a fingerprint of the data, which must be the same, too; empty: not known
  /// Called once, after the first step: nothing is left to be refused, and no file is written yet.
  std::function<void()> begins = {};

  Index snapshot_every = 32;                ///< gradients between the states that a diverged run goes back to
  int attempts = 8;                         ///< at recovering from one divergence
  const std::atomic<bool>* stop = nullptr;  ///< polled every step, and within long ones: checkpoint, InterruptedError
};

struct TrainingData {
  const Corpus& corpus;
  const Split& training;
  const Split* validation = nullptr;          ///< none or empty: no validation
  const Corpus* validation_corpus = nullptr;  ///< where it is not `corpus`
  Processes* processes = nullptr;  ///< that share what goes through all of the training part; nullptr: this one
};

/// Judges predictions by more than their nats: the share of wrong sequences, or of wrong labels.
template <class T>
class Judge {
 public:
  virtual ~Judge() = default;
  virtual void start() = 0;
  /// `outputs`: what the losses read, by rows, one matrix a head.
  virtual void see(const Batch& batch, std::span<const Matrix<const T>> outputs) = 0;
  virtual Measures measures() const = 0;  ///< of all batches since `start`
  virtual double error_rate() const = 0;  ///< share of what it counts that is wrong, from 0 to 1
};

/// What a trainer reads, whatever it is made of.
template <class T>
struct TrainingSources {
  std::unique_ptr<BatchSource> training;
  std::function<std::unique_ptr<BatchReader>()> validation = {};  ///< all its batches; empty: no validation
  Index step_symbols = 0;                                         ///< rows of a batch of training
  Index validation_symbols = 0;                                   ///< rows of a validation
  std::unique_ptr<Judge<T>> judge = {};
  /// Of a stream that goes on elsewhere: waits until the next batch is there, or until there is none or the flag is
  /// set; false then. Empty: batches are there.
  std::function<bool(const std::atomic<bool>*)> wait = {};
  /// The network whose outputs are read in training, with the parameters of the one that is trained
  /// (free_positions.h); null: none is.
  std::shared_ptr<const Network<T>> feedback = nullptr;
  /// What is paid in training and validation in place of the losses; null: the losses are.
  std::shared_ptr<BatchChooser<T>> chooser = nullptr;
  JsonBox configuration = {};  ///< what must be the same when a run is resumed (an object)
};

struct TrainingResult {
  Index steps = 0;
  double epochs = 0;
  Index symbols = 0;     ///< read in training
  double seconds = 0;    ///< earlier parts of a resumed run included
  double last_loss = 0;  ///< nats per predicted symbol of the last step
  bool validated = false;
  double best_nats_per_symbol = 0;  ///< of the best validation
  Index best_step = 0;
  Index validation_symbols = 0;  ///< predicted in a validation
  double validation_share = 1;   ///< of the validation part that was read, about
  int rollbacks = 0;
  std::string reason = {};  ///< "steps", "epochs", "minutes", "patience", "goal", "converged", "stream" (it ended)
};

template <class T>
class Trainer {
 public:
  /// Trains `parameters` in place. Everything given is referred to and must outlive the trainer. Throws UsageError for
  /// options that make no sense; with `resume` ModelError for a checkpoint that is damaged or missing, UsageError for
  /// one of another configuration, naming what differs; UsageError, too, for more processes than shards, and where
  /// processes have other data, options or parameters than the first.
  Trainer(const Network<T>& network, Parameters<T>& parameters, const TrainingData& data, const TrainerOptions& options,
          Team& team);
  /// The same with batches from elsewhere; options.batches has no meaning then.
  Trainer(const Network<T>& network, Parameters<T>& parameters, TrainingSources<T> sources,
          const TrainerOptions& options, Team& team);
  ~Trainer();

  void set_observer(Observer* observer);
  /// Text for SampleEvent, from the present parameters.
  void set_sampler(std::function<std::string(const Parameters<T>&, Index step)> sampler);
  /// Called with the parameters whenever a validation is the best so far (without validation: at the end).
  void on_best(std::function<void(const Parameters<T>&)> best_observer);

  /// Throws DivergedError, InterruptedError (after a checkpoint), RuntimeFailure.
  TrainingResult run();
  const Parameters<T>& best() const;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

/// The number of steps between validations chosen for `validate_every` 0.
Index automatic_validation_interval(Index validation_symbols, Index symbols_per_step, Index gradients_per_step = 1);

}  // namespace unfold
