#include "app/train/setup/trainer_options.h"

#include "app/train/setup/teacher_forcing.h"

namespace unfold {

TrainerOptions trainer_options(const TrainSettings& s, const RunSettings& run) {
  TrainerOptions t;
  t.optimizer = s.optimizer;
  t.batches = {.window = s.window, .batch = s.batch, .whole_sequences = s.whole_sequences, .curriculum = s.curriculum};
  t.precision = s.precision == "bf16" && !run.device ? Precision::bf16 : Precision::exact;
  t.penalties = {.activity = s.activity_penalty, .flow = s.flow_penalty, .smoothing = s.label_smoothing};
  t.forcing = teacher_forcing(s);
  if (s.feedback) t.feedback = Feedback::parse(*s.feedback);
  if (s.gradient) t.gradient = GradientMethod::parse(*s.gradient);
  t.seed = static_cast<std::uint64_t>(s.seed);
  t.steps = s.steps.value_or(0);
  t.epochs = s.epochs.value_or(0);
  t.minutes = s.minutes.value_or(0);
  t.validate_every = s.validate_every;
  t.patience = s.early_stop;
  t.sample_every = run.sample_every;
  t.log_every = run.log_every;
  if (run.memory_limit) t.memory_limit = parse_bytes(*run.memory_limit);
  t.activities = s.activations == "bf16" ? Precision::bf16 : Precision::exact;
  t.shards = s.shards.value_or(1);
  t.gradient_sums = s.gradient_sums == "bf16" ? Precision::bf16 : Precision::exact;
  t.checkpoint_steps = run.checkpoint_every;
  return t;
}

}  // namespace unfold
