#include "unfold/optim/control.h"

#include <cmath>

#include "unfold/optim/conjugate_gradient.h"

namespace unfold {
namespace {

template <class T>
class FixedControl final : public Control<T> {
 public:
  FixedControl(Index parameters, double clip) : clip_(clip), gradient_(parameters) {}

  StepReport step(Objective<T>& objective, Direction<T>& direction, double rate) override {
    StepReport report;
    report.rate = rate;
    report.loss = objective.gradient(gradient_.span());
    report.gradient_norm = global_norm<T>(objective.team(), gradient_.span());
    report.finite = std::isfinite(report.loss) && std::isfinite(report.gradient_norm);
    if (!report.finite) return report;
    const double scale = clip_ > 0 && report.gradient_norm > clip_ ? clip_ / report.gradient_norm : 1;
    direction.prepare(objective);
    direction.move(objective.team(), objective.parameters().flat(), gradient_.span(), scale, rate);
    return report;
  }
  void visit_state(StateVisitor<T>&) override {}

 private:
  double clip_;
  Buffer<T> gradient_;
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
