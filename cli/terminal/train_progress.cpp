#include "cli/terminal/train_progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal/metrics_text.h"

namespace unfold {

namespace {
constexpr std::chrono::seconds kSilence{10};  // after this time without output, during a long step or validation, a
                                              // line is shown
constexpr std::size_t kWide = 100, kLongestCurve = 40, kShortestCurve = 6;

/// Returns the curve shown after a line if the terminal is wide enough; otherwise empty.
std::string beside(const std::string& line, const Sparkline& curve, std::size_t columns) {
  constexpr std::size_t kBetween = 2;
  if (columns < kWide || line.size() + kBetween + kShortestCurve >= columns) return {};
  return "  " + curve.text(std::min(kLongestCurve, columns - 1 - kBetween - line.size()));
}

/// Returns the number of epochs; empty for generated data, which has no epochs.
std::string epochs_text(double epochs) { return epochs > 0 ? fmt::format("epoch {:.2f}  ", epochs) : std::string(); }
}  // namespace

TrainProgress::TrainProgress(Console& console, Index steps)
    : console_(console), steps_(steps), heartbeat_(kSilence, [this](double seconds) {
        console_.progress(fmt::format("still computing: {} since step {}", duration_text(seconds), step_.load()));
      }) {}

void TrainProgress::progress(const ProgressEvent& event) {
  step_ = event.step;
  curve_.add(event.loss);
  heartbeat_.beat();
  if (!console_.due()) return;
  const double loss = event.mean_loss > 0 ? event.mean_loss : event.loss;
  const std::string total = steps_ > 0 ? fmt::format("/{}", steps_) : std::string();
  // A wide terminal shows the curve instead of the loss in nats.
  const std::string nats = console_.columns() < kWide ? fmt::format("{:.4f} nats  ", loss) : std::string();
  std::string text = fmt::format("step {}{}  {}{:.0f} %  {}{:.4f} bits  {} symbols/s  {} left", event.step, total,
                                 epochs_text(event.epochs), 100 * std::min(event.fraction, 1.0), nats, bits(loss),
                                 count_text(event.symbols_per_second), duration_text(event.seconds_left));
  if (curvature_)
    text += fmt::format("  lambda {:.3g}  rho {:.2f}  CG {}, kept {}, {}", curvature_->damping, curvature_->ratio,
                        curvature_->iterations, curvature_->kept,
                        curvature_->length > 0 ? fmt::format("length {:.2g}", curvature_->length) : "no step");
  console_.progress(text + beside(text, curve_, console_.columns()));
}

void TrainProgress::validation(const ValidationEvent& event) {
  std::string wrong;
  if (!event.measures.empty()) {
    const auto& [name, value] = event.measures.front();
    wrong = fmt::format("  {} {:.4f}", metric_name(name), value);
  }
  console_.remark(
      fmt::format("step {}  {}validation {:.4f} nats  {:.4f} bits{}{}{}", event.step, epochs_text(event.epochs),
                  event.nats_per_symbol, bits(event.nats_per_symbol), wrong,
                  event.share < 1 ? fmt::format(", on {:.1f} % of the validation part", 100 * event.share) : "",
                  event.best ? "  (best so far)" : ""));
}

void TrainProgress::sample(const SampleEvent& event) {
  console_.remark(fmt::format("step {}  sample:", event.step), event.text + "\n");
}

void TrainProgress::rollback(const RollbackEvent& event) {
  console_.remark(fmt::format("step {}  {}: back to step {}, step size now multiplied by {:.3g} (attempt {} of {})",
                              event.step, event.reason, event.to_step, event.factor, event.attempt, event.attempts));
}

}  // namespace unfold
