#include "app/train/setup/trainer_options.h"

#include <fmt/format.h>

#include "unfold/base/error.h"
#include "unfold/train/objective/scheduled_sampling.h"

namespace unfold {
namespace {

/// Throws UsageError for a schedule without ratios or with invalid ones.
TeacherForcing teacher_forcing(const TrainSettings& s) {
  using Shape = TeacherForcing::Shape;
  if (!s.teacher_forcing && s.forcing_schedule)
    throw UsageError("--forcing-schedule requires --teacher-forcing A..B, for example 1..0.2");
  if (!s.teacher_forcing) return {};
  const std::string name = s.forcing_schedule.value_or("linear");
  const TeacherForcing forcing =
      TeacherForcing::parse(*s.teacher_forcing, name == "exponential"       ? Shape::exponential
                                                : name == "inverse-sigmoid" ? Shape::inverse_sigmoid
                                                                            : Shape::linear);
  if (s.forcing_schedule && forcing.from == forcing.to)
    throw UsageError(
        "--forcing-schedule has no effect with a constant --teacher-forcing; omit it, or use A..B, for example "
        "1..0.2");
  if (s.feedback && (forcing.always() || Feedback::parse(*s.feedback).always))
    throw UsageError(fmt::format("--teacher-forcing {} and --feedback {} cannot be combined; leave one of them out",
                                 *s.teacher_forcing, *s.feedback));
  return forcing;
}

}  // namespace

Curriculum curriculum_of(const TrainSettings& s) {
  if (s.curriculum_each_epoch && s.curriculum == 0)
    throw UsageError("--curriculum-each-epoch requires --curriculum N, the number of positions by which prefixes grow");
  return {.step = s.curriculum, .each_epoch = s.curriculum_each_epoch};
}

TrainerOptions trainer_options(const TrainSettings& s, const RunSettings& run) {
  TrainerOptions t;
  t.optimizer = s.optimizer;
  t.batches = {
      .window = s.window, .batch = s.batch, .whole_sequences = s.whole_sequences, .curriculum = curriculum_of(s)};
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
  t.activations = s.activations == "bf16" ? Precision::bf16 : Precision::exact;
  t.shards = s.shards.value_or(1);
  t.gradient_sums = s.gradient_sums == "bf16" ? Precision::bf16 : Precision::exact;
  t.checkpoint_steps = run.checkpoint_every;
  return t;
}

}  // namespace unfold
