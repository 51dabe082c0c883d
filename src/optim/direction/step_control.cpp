#include "unfold/optim/direction/step_control.h"

#include <cmath>

#include "graph/engine/backend.h"
#include "optim/direction/conjugate_gradient.h"
#include "unfold/base/checks.h"

namespace unfold {
namespace {

template <class T>
class FixedControl final : public Control<T> {
 public:
  FixedControl(Index parameters, double clip) : clip_(clip), gradient_(parameters) {}

  StepReport step(Objective<T>& objective, Direction<T>& direction, double rate) override {
    StepReport report;
    report.rate = rate;
    if (slices_ == nullptr) require_length("control: the gradient", gradient_.size(), objective.parameters().size());
    if (slices_ == nullptr && direction.can_update_on_device())
      if (Resident<T>* there = objective.resident()) return step_there(objective, direction, *there, report);
    if (slices_ != nullptr) {
      const SliceGradient found = objective.gradient_of_slices(gradient_.span());
      report.loss = found.loss;
      report.gradient_norm = found.norm;
    } else {
      report.loss = objective.gradient(gradient_.span());
      report.gradient_norm = global_norm<T>(objective.team(), gradient_.span());
    }
    report.finite = std::isfinite(report.loss) && std::isfinite(report.gradient_norm);
    if (!report.finite) return report;
    const double scale = clip_ > 0 && report.gradient_norm > clip_ ? clip_ / report.gradient_norm : 1;
    direction.prepare(objective);
    const std::span<T> parameters = objective.parameters().flat();
    if (slices_ == nullptr) {
      direction.move(objective.team(), parameters, gradient_.span(), scale, rate);
      return report;
    }
    gather_ranges<T>(parameters, slices_->own(), own_.span());
    direction.move(objective.team(), own_.span(), gradient_.span(), scale, rate);
    scatter_ranges<T>(own_.span(), slices_->own(), parameters);
    objective.spread_parameters();
    return report;
  }
  /// Takes a step on the device that holds the parameters.
  StepReport step_there(Objective<T>& objective, Direction<T>& direction, Resident<T>& there, StepReport report) {
    report.loss = objective.gradient({});
    report.gradient_norm = there.gradient_norm();
    report.finite = std::isfinite(report.loss) && std::isfinite(report.gradient_norm);
    if (!report.finite) return report;
    const double scale = clip_ > 0 && report.gradient_norm > clip_ ? clip_ / report.gradient_norm : 1;
    direction.update_on_device(there, objective.parameters(), scale, report.rate);
    return report;
  }
  void visit_state(StateVisitor<T>&) override {}
  void keep_slices(const Slices& slices) override {
    slices_ = &slices;
    for (Buffer<T>* numbers : {&gradient_, &own_}) numbers->resize(slices.own_size());
  }

 private:
  double clip_;
  const Slices* slices_ = nullptr;  // null: this process updates all parameters
  Buffer<T> gradient_, own_;        // gradient and parameters of the slices
};

}  // namespace

template <class T>
double global_norm(Team& team, std::span<const T> vector) {
  return std::sqrt(dot<T>(team, vector, vector));
}

template <class T>
std::unique_ptr<Control<T>> fixed_control(Index parameters, double clip) {
  return std::make_unique<FixedControl<T>>(parameters, clip);
}

template double global_norm(Team&, std::span<const float>);
template double global_norm(Team&, std::span<const double>);
template std::unique_ptr<Control<float>> fixed_control(Index, double);
template std::unique_ptr<Control<double>> fixed_control(Index, double);

}  // namespace unfold
