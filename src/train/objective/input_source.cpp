#include "train/objective/input_source.h"

#include <fmt/format.h>

#include "train/objective/gradient_source.h"
#include "unfold/base/error.h"
#include "unfold/train/objective/output_feedback.h"
#include "unfold/train/objective/scheduled_sampling.h"

namespace unfold {
namespace {

template <class T>
class SampledInputs final : public InputSource<T> {
 public:
  SampledInputs(const Network<T>& network, Team& team, std::uint64_t seed)
      : network_(network), sampling_(network, team, seed) {}

  const Batch& read(const Batch& batch, State<T>& state, const Parameters<T>& parameters, double forcing,
                    Index step) override {
    enter_batch(batch, *network_.plan, state);  // the gradient calls it again, with the same result
    return sampling_.mix(batch, state, parameters, forcing, step);
  }

 private:
  const Network<T>& network_;
  ScheduledSampling<T> sampling_;
};

template <class T>
class FeedbackInputs final : public InputSource<T> {
 public:
  FeedbackInputs(const Network<T>& network, const Feedback& feedback, std::uint64_t seed)
      : feedback_(network, feedback, seed) {}

  const Batch& read(const Batch& batch, State<T>&, const Parameters<T>&, double forcing, Index step) override {
    return feedback_.mark(batch, forcing, step);
  }
  void require_true_inputs(std::string_view optimizer) const override {
    throw UsageError(
        fmt::format("{} does not support networks that read their own outputs; train with sgd, asgd, rmsprop or adam, "
                    "or remove --feedback",
                    short_name(optimizer)));
  }

 private:
  OutputFeedback<T> feedback_;
};

}  // namespace

template <class T>
std::unique_ptr<InputSource<T>> make_input_source(const Network<T>& network, const BatchObjectiveOptions& options,
                                                  Team& team) {
  if (options.own_outputs && options.batches > 1)
    throw UsageError(options.optimizer +
                     " compares losses over several batches, and scheduled sampling changes what "
                     "they read; use sgd, adam or path, or leave --teacher-forcing out");
  if (options.feedback.on() && options.batches > 1)
    throw UsageError(options.optimizer +
                     " compares losses over several batches, and feedback changes what they read; use sgd, rmsprop or "
                     "adam, or leave --feedback out");
  if (options.feedback.on()) return std::make_unique<FeedbackInputs<T>>(network, options.feedback, options.seed);
  if (options.own_outputs) return std::make_unique<SampledInputs<T>>(network, team, options.seed);
  return nullptr;
}

template std::unique_ptr<InputSource<float>> make_input_source(const Network<float>&, const BatchObjectiveOptions&,
                                                               Team&);
template std::unique_ptr<InputSource<double>> make_input_source(const Network<double>&, const BatchObjectiveOptions&,
                                                                Team&);

}  // namespace unfold
