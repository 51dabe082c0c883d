#include "app/settings/step_checks.h"

#include <fmt/format.h>

#include "model/network/fitting/hmm_fit.h"
#include "model/network/fitting/readout.h"
#include "unfold/model/registry/registry.h"
#include "unfold/optim/rtrl/gradient_method.h"
#include "unfold/train/objective/output_feedback.h"

namespace unfold {

void resolve_gradient(TrainSettings& s) {
  if (!s.gradient) return;
  const GradientMethod method = GradientMethod::parse(*s.gradient);
  s.gradient = method.text();
  if (method.looks_back()) s.gradient.reset();
}

void check_shards(TrainSettings& s) {
  if (s.shards == 1) s.shards.reset();
  if (s.gradient_sums == "exact") s.gradient_sums.reset();
  if (s.gradient_sums && s.gradient_sums != "bf16")
    throw UsageError(fmt::format("--gradient-sums must be exact or bf16, not \"{}\"", *s.gradient_sums));
  if (s.gradient_sums && !s.shards) throw UsageError("--gradient-sums needs --shards S with S of at least 2");
  if (!s.shards) return;
  const auto refuse = [](std::string_view what) {
    throw UsageError(fmt::format("{} cannot be combined with --shards; leave one of them out", what));
  };
  if (s.follow) refuse("--follow");
  if (*s.shards > s.batch)
    throw UsageError(fmt::format(
        "--shards {} exceeds the {} sequences of a batch; increase --batch or use fewer shards", *s.shards, s.batch));
  if (s.gradient) refuse("--gradient " + *s.gradient);
  if (s.sampled_softmax > 0) refuse("--sampled-softmax");
  if (s.teacher_forcing) refuse("--teacher-forcing");
  if (s.feedback && !Feedback::parse(*s.feedback).always) refuse("--feedback");
  if (s.activity_penalty > 0) refuse("--activity-penalty");
  if (s.flow_penalty > 0) refuse("--flow-penalty");
}

void check_activations(TrainSettings& s, const RunSettings& run) {
  if (s.activations == "exact") s.activations.reset();
  if (!s.activations) return;
  if (s.activations != "bf16")
    throw UsageError(fmt::format("--activations must be exact or bf16, not \"{}\"", *s.activations));
  const auto refuse = [](std::string_view what) {
    throw UsageError(fmt::format("{} cannot be combined with --activations bf16; leave one of them out", what));
  };
  if (s.precision == "double") refuse("--precision double");
  if (run.memory_limit) refuse("--memory-limit");
  if (run.device) refuse("--device " + *run.device);
  if (s.gradient) refuse("--gradient " + *s.gradient);
  if (s.flow_penalty > 0) refuse("--flow-penalty");
}

void check_device(const TrainSettings& s, const RunSettings& run) {
  if (!run.device) {
    if (s.precision == "tf32") throw UsageError("--precision tf32 requires a GPU; add --device cuda");
    return;
  }
  if (is_fitted_model(s.model)) return;  // an explicit setting has already been rejected
  const auto refuse = [](std::string_view what) {
    throw UsageError(fmt::format("{} does not support devices yet; leave out either this option or --device", what));
  };
  const ModelSpec spec = parse_model_spec(s.model);
  if (readout_of(spec) || is_hidden_markov(spec))
    throw UsageError(not_by_gradients(name_of(&RunSettings::device), s.model));
  if (run.memory_limit) refuse("--memory-limit");
  if (s.shards) refuse("--shards");
  if (s.restarts > 1) refuse("--restarts");
  if (s.gradient) refuse("--gradient " + *s.gradient);
  if (s.trees) refuse("--trees " + *s.trees);
  if (s.teacher_forcing) refuse("--teacher-forcing");
  if (s.feedback) refuse("--feedback");
  if (s.flow_penalty > 0) refuse("--flow-penalty");
}

}  // namespace unfold
