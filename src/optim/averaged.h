#pragma once
/// Averaged stochastic gradient descent with non-monotonic trigger (NT-ASGD; Merity, Keskar & Socher 2018, after Polyak
/// & Juditsky 1992): plain SGD steps at a constant learning rate. Averaging starts when a validation is worse than the
/// best of the validations that are more than `nonmono` validations back. From then on, the mean of the parameters over
/// all later steps is evaluated and saved. The SGD steps themselves continue unchanged.

#include <vector>

#include "unfold/optim/optimizer.h"

namespace unfold {

struct AveragingOptions {
  Index nonmono = 5, t0 = 0;
};
template <class Visitor>
void describe(Visitor& v, AveragingOptions& o) {
  v("nonmono", o.nonmono, "validations without improvement before averaging starts", range(0, 10000));
  v("t0", o.t0, "step at which averaging starts; 0: determined by validation", at_least(0));
}

template <class T>
class AveragedOptimizer final : public Optimizer<T> {
 public:
  AveragedOptimizer(Index parameters, const AveragingOptions& averaging, std::unique_ptr<Direction<T>> direction,
                    std::unique_ptr<Control<T>> control, const CommonOptions& common, const ScheduleOptions& schedule,
                    std::string spec);

  std::span<const T> average() const override { return count_ > 0 ? mean_.span() : std::span<const T>(); }
  void judged(double nats) override;

 protected:
  StepReport take_step(Objective<T>& objective, const Progress& progress, double factor) override;
  void visit(StateVisitor<T>& visitor) override;
  bool may_keep_slices() const override { return false; }  // the mean is over all parameters, for all processes

 private:
  AveragingOptions options_;
  Buffer<T> mean_;
  double count_ = 0;            // number of steps in the mean
  double steps_ = 0, on_ = 0;   // total number of steps; 1 if averaging is on
  double judged_ = 0, best_;    // number of validations; the best loss before the last nonmono validations
  std::vector<double> recent_;  // the last nonmono losses, as a ring buffer
};

}  // namespace unfold
