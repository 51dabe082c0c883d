#include "optim/hessian_free.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "unfold/numerics/vector.h"

namespace unfold {

template <class T>
NewtonDirection<T>::NewtonDirection(Index parameters, const NewtonOptions& options)
    : options_(options),
      last_(parameters),
      start_(parameters),
      right_side_(parameters),
      preconditioner_(options.probes > 0 ? parameters : 0),
      sample_(preconditioner_.size()) {}

/// Starts the curvature and estimates the preconditioner.
template <class T>
void NewtonDirection<T>::prepare(Objective<T>& objective, double lambda) {
  Team& team = objective.team();
  const double structural = lambda * options_.structural;
  objective.start_curvature(options_.curvature, structural > 0 ? options_.distance : Distance::none);
  for (Index probe = 0; probe < options_.probes; ++probe) {
    objective.curvature_sample(
        static_cast<std::uint64_t>(solved_ * static_cast<double>(options_.probes)) + static_cast<std::uint64_t>(probe),
        structural, sample_.span());
    for_each_element(team, sample_.size(), [&](Index i) {
      preconditioner_[i] = std::fma(sample_[i], sample_[i], probe == 0 ? T{0} : preconditioner_[i]);
    });
  }
  const T mean = static_cast<T>(1 / static_cast<double>(options_.probes));
  const T damping = static_cast<T>(lambda / objective.symbols_per_sequence());
  for_each_element(team, preconditioner_.size(), [&](Index i) {  // x^0.75 = sqrt(x) sqrt(sqrt(x))
    const T root = std::sqrt(std::fma(mean, preconditioner_[i], damping));
    preconditioner_[i] = root * std::sqrt(root);
  });
  ++solved_;
}

template <class T>
void NewtonDirection<T>::multiply(Objective<T>& objective, double lambda, std::span<const T> v,
                                  std::span<T> result) const {
  objective.curvature_product(v, lambda * options_.structural, result);
  const T damping = static_cast<T>(lambda / objective.symbols_per_sequence());
  for_each_element(objective.team(), static_cast<Index>(v.size()), [&](Index i) {
    const auto k = static_cast<std::size_t>(i);
    result[k] = std::fma(damping, v[k], result[k]);
  });
}

template <class T>
CgResult<T> NewtonDirection<T>::solve(Objective<T>& objective, std::span<const T> gradient, double lambda) {
  Team& team = objective.team();
  const auto n = static_cast<Index>(gradient.size());
  prepare(objective, lambda);
  const T keep = static_cast<T>(options_.warm);
  for_each_element(team, n, [&](Index i) {
    start_[i] = keep * last_[i];
    right_side_[i] = -gradient[static_cast<std::size_t>(i)];
  });
  auto found = conjugate_gradient<T>(
      team, [&](std::span<const T> v, std::span<T> result) { multiply(objective, lambda, v, result); },
      right_side_.span(), preconditioner_.span(), start_.span(),
      {.iterations = options_.iterations, .tolerance = options_.tolerance});
  std::copy(found.iterates.back().x.begin(), found.iterates.back().x.end(), last_.begin());
  if (!all_finite<T>(last_.span())) last_.fill_zero();
  return found;
}

template <class T>
CheckedSolution<T> NewtonDirection<T>::solve_checked(Objective<T>& objective, std::span<const T> gradient,
                                                     double lambda, double loss,
                                                     const std::function<double(const Buffer<T>&)>& loss_at) {
  Team& team = objective.team();
  const auto n = static_cast<Index>(gradient.size());
  prepare(objective, lambda);
  CheckedSolution<T> found{.x = Buffer<T>(n), .lambda = lambda, .loss = loss};
  Buffer<T> residual(n), direction(n), product(n), trial(n);
  double slope = 0, q = 0;
  // Switches to the steepest descent of the preconditioned system.
  const auto preconditioned = [&](Index i) {
    return !preconditioner_.empty() ? residual[i] / preconditioner_[i] : residual[i];
  };
  const auto start = [&] {
    for_each_element(team, n, [&](Index i) { direction[i] = -preconditioned(i); });
    slope = -dot<T>(team, residual.span(), direction.span());
  };
  std::copy(gradient.begin(), gradient.end(), residual.begin());
  start();
  while (found.iterations < options_.iterations && slope > 0) {
    multiply(objective, found.lambda, direction.span(), product.span());
    const double curvature = dot<T>(team, direction.span(), product.span());
    if (!(curvature > 0) || !std::isfinite(curvature)) break;
    ++found.iterations;
    const T length = static_cast<T>(slope / curvature);
    const double change = -slope * slope / curvature / 2;
    for_each_element(team, n, [&](Index i) { trial[i] = std::fma(length, direction[i], found.x[i]); });
    const double after = loss_at(trial);
    found.ratio = (after - found.loss) / change;
    const bool taken = found.ratio >= 0.25;
    if (taken) {
      std::swap(found.x, trial);
      found.loss = after;
      q += change;
      ++found.accepted;
    }
    const double next = next_damping(found.lambda, found.ratio);
    if (next != found.lambda) {  // the system is different, so the residual at x is computed again
      found.lambda = next;
      residual.fill_zero();
      if (found.accepted > 0) multiply(objective, next, found.x.span(), residual.span());
      for_each_element(team, n, [&](Index i) { residual[i] += gradient[static_cast<std::size_t>(i)]; });
      start();
    } else {  // the iteration was taken, because a rejected iteration changes lambda
      for_each_element(team, n, [&](Index i) { residual[i] = std::fma(length, product[i], residual[i]); });
      for_each_element(team, n, [&](Index i) { trial[i] = preconditioned(i); });
      const double before = slope;
      slope = dot<T>(team, residual.span(), trial.span());
      const T keep = static_cast<T>(slope / before);
      for_each_element(team, n, [&](Index i) { direction[i] = std::fma(keep, direction[i], -trial[i]); });
    }
    if (taken && change / q < options_.tolerance) break;
  }
  return found;
}

template <class T>
void NewtonDirection<T>::visit_state(StateVisitor<T>& visitor) {
  visitor("last_solution", last_.span());
  visitor.count("systems_solved", solved_, 0x1p40);
}

double next_damping(double lambda, double rho) {
  if (rho > 0.75) return lambda * 2 / 3;
  if (!(rho >= 0.25)) return lambda * 3 / 2;
  return lambda;
}

namespace {

/// The common part of both optimizers: the gradient of the batch, and moves from the starting point of the step.
template <class T>
class NewtonOptimizer : public Optimizer<T> {
 public:
  NewtonOptimizer(Index parameters, const NewtonOptions& options, double rate, const ScheduleOptions& schedule,
                  std::string spec)
      : Optimizer<T>(nullptr, nullptr, {.rate = rate}, schedule, std::move(spec)),
        options_(options),
        direction_(parameters, options),
        gradient_(parameters),
        start_(parameters) {}

  Index batches() const override { return options_.windows; }
  Index gradients() const override {  // half of the maximum number of iterations, each at the cost of two gradients
    constexpr double kMost = 1e9;
    const double cost = static_cast<double>(options_.windows) * (1 + static_cast<double>(options_.iterations));
    return static_cast<Index>(std::clamp(cost * options_.curvature, 1.0, kMost));  // a step costs at least its gradient
  }
  void visit(StateVisitor<T>& visitor) override { direction_.visit_state(visitor); }

 protected:
  StepReport begin(Objective<T>& objective) {
    StepReport report;
    report.loss = objective.gradient(gradient_.span());
    report.gradient_norm = global_norm<T>(objective.team(), gradient_.span());
    report.finite = std::isfinite(report.loss) && std::isfinite(report.gradient_norm);
    const auto p = objective.parameters().flat();
    std::copy(p.begin(), p.end(), start_.begin());
    return report;
  }
  void move(Objective<T>& objective, double length, const Buffer<T>& d) {
    const auto p = objective.parameters().flat();
    if (length == 0) return void(std::copy(start_.begin(), start_.end(), p.begin()));  // 0 times infinity is NaN
    const T a = static_cast<T>(length);
    for_each_element(objective.team(), start_.size(),
                     [&](Index i) { p[static_cast<std::size_t>(i)] = std::fma(a, d[i], start_[i]); });
  }

  NewtonOptions options_;
  NewtonDirection<T> direction_;
  Buffer<T> gradient_, start_;
};

template <class T>
class HessianFree final : public NewtonOptimizer<T> {
 public:
  HessianFree(Index parameters, const HessianFreeOptions& options, std::string spec)
      : NewtonOptimizer<T>(parameters, options.newton, 1, {}, std::move(spec)),
        refuse_(options.refuse),
        reset_(options.reset),
        adapt_(options.adapt),
        lambda_(options.newton.lambda) {}

  StepReport take_step(Objective<T>& objective, const Progress&, double factor) override {
    StepReport report = this->begin(objective);
    if (!report.finite) return report;
    if (reset_) lambda_ = this->options_.lambda;
    if (adapt_ == Adaptation::iteration) return take_checked(objective, factor, report);
    if (refuse_) return take_or_refuse(objective, factor, report);
    const double lambda = lambda_ / factor;
    const CgResult<T> found = this->direction_.solve(objective, this->gradient_.span(), lambda);
    const CgIterate<T>& last = found.iterates.back();
    const double end = loss_at(objective, 1, last.x);
    const double rho = (end - report.loss) / last.q;
    const auto [best, after] = go_back(objective, found.iterates, report.loss, end);
    const CgIterate<T>& iterate = found.iterates[best];
    const auto [length, loss] = search(objective, iterate.x, report.loss, after);
    this->move(objective, length, iterate.x);
    lambda_ = std::clamp(next_damping(lambda_, rho), kLeast, 1 / kLeast);
    if (length > 0) lambda_ = std::min(lambda_, this->options_.lambda);
    report.rate = length;
    report.curvature = {.damping = lambda,
                        .ratio = rho,
                        .iterations = found.iterations,
                        .kept = iterate.iteration,
                        .length = length,
                        .loss_after = loss};
    return report;
  }
  void visit(StateVisitor<T>& visitor) override {
    NewtonOptimizer<T>::visit(visitor);
    visitor("lambda", lambda_);
  }

 private:
  static constexpr double kLeast = 1e-20;

  /// The rule of the paper: takes the last iterate if rho >= 1/4; otherwise increases the damping and solves again.
  StepReport take_or_refuse(Objective<T>& objective, double factor, StepReport report) {
    constexpr int kMostSystems = 20;
    CurvatureReport& curvature = report.curvature.emplace();
    for (int system = 0; system < kMostSystems && curvature.length == 0; ++system) {
      curvature.damping = lambda_ / factor;
      const CgResult<T> found = this->direction_.solve(objective, this->gradient_.span(), curvature.damping);
      const CgIterate<T>& last = found.iterates.back();
      const double end = loss_at(objective, 1, last.x);
      curvature.ratio = (end - report.loss) / last.q;
      curvature.iterations += found.iterations;
      curvature.kept = last.iteration;
      lambda_ = std::clamp(next_damping(lambda_, curvature.ratio), kLeast, 1 / kLeast);
      curvature.length = curvature.ratio >= 0.25 ? 1 : 0;
      curvature.loss_after = curvature.length > 0 ? end : report.loss;
      this->move(objective, curvature.length, last.x);
    }
    report.rate = curvature.length;
    return report;
  }

  /// Takes the iterations of conjugate gradients that are accepted one by one.
  StepReport take_checked(Objective<T>& objective, double factor, StepReport report) {
    CurvatureReport& curvature = report.curvature.emplace();
    curvature.damping = lambda_ / factor;
    const CheckedSolution<T> found =
        this->direction_.solve_checked(objective, this->gradient_.span(), curvature.damping, report.loss,
                                       [&](const Buffer<T>& x) { return loss_at(objective, 1, x); });
    this->move(objective, 1, found.x);
    lambda_ = std::clamp(found.lambda * factor, kLeast, 1 / kLeast);
    curvature.ratio = found.ratio;
    curvature.iterations = found.iterations;
    curvature.kept = found.accepted;
    curvature.length = found.accepted > 0 ? 1 : 0;
    curvature.loss_after = found.loss;
    report.rate = curvature.length;
    return report;
  }

  /// Returns the loss at a trial point; NaN counts as infinite.
  double loss_at(Objective<T>& objective, double length, const Buffer<T>& d) {
    this->move(objective, length, d);
    const double loss = objective.loss();
    return std::isnan(loss) ? std::numeric_limits<double>::infinity() : loss;
  }

  /// Goes back from the last iterate, whose loss is `end`, while the loss decreases or is not yet below the loss at the
  /// start. Returns the index of the iterate with the lowest loss, and that loss.
  std::pair<std::size_t, double> go_back(Objective<T>& objective, const std::vector<CgIterate<T>>& iterates,
                                         double start, double end) {
    std::size_t best = iterates.size() - 1;
    double least = end;
    for (std::size_t i = best; i-- > 0;) {
      const double loss = loss_at(objective, 1, iterates[i].x);
      if (loss < least) {
        least = loss;
        best = i;
      } else if (least < start) {
        break;
      }
    }
    return {best, least};
  }

  /// Returns the first of the lengths 1, 0.8, 0.64, ... whose loss is low enough, and its loss; (0, loss at the start)
  /// if no length qualifies.
  std::pair<double, double> search(Objective<T>& objective, const Buffer<T>& d, double start, double full) {
    constexpr double kShrink = 0.8, kSlope = 0.01;
    constexpr int kTrials = 60;
    const double slope = dot<T>(objective.team(), this->gradient_.span(), d.span());
    double length = 1, loss = full;
    for (int trial = 0; trial < kTrials; ++trial) {
      if (loss <= start + kSlope * length * std::min(0.0, slope)) return {length, loss};
      length *= kShrink;
      loss = loss_at(objective, length, d);
    }
    return {0, start};
  }

  const bool refuse_, reset_;
  const Adaptation adapt_;
  double lambda_;
};

template <class T>
class NaturalGradient final : public NewtonOptimizer<T> {
 public:
  using NewtonOptimizer<T>::NewtonOptimizer;

  StepReport take_step(Objective<T>& objective, const Progress& progress, double factor) override {
    StepReport report = this->begin(objective);
    if (!report.finite) return report;
    report.rate = this->rate() * schedule_factor(this->schedule(), progress) * factor;
    const CgResult<T> found = this->direction_.solve(objective, this->gradient_.span(), this->options_.lambda);
    this->move(objective, report.rate, found.iterates.back().x);
    return report;
  }
};

}  // namespace

template <class T>
std::unique_ptr<Optimizer<T>> hessian_free(Index parameters, const HessianFreeOptions& options, std::string spec) {
  if (options.refuse && options.adapt == Adaptation::iteration)
    throw UsageError("optimizer hf: adapt=iteration rejects single iterations; leave out refuse=");
  return std::make_unique<HessianFree<T>>(parameters, options, std::move(spec));
}

template <class T>
std::unique_ptr<Optimizer<T>> natural_gradient(Index parameters, const NaturalOptions& options, std::string spec) {
  return std::make_unique<NaturalGradient<T>>(parameters, options.newton, options.rate, options.schedule,
                                              std::move(spec));
}

template class NewtonDirection<float>;
template class NewtonDirection<double>;
template std::unique_ptr<Optimizer<float>> hessian_free(Index, const HessianFreeOptions&, std::string);
template std::unique_ptr<Optimizer<double>> hessian_free(Index, const HessianFreeOptions&, std::string);
template std::unique_ptr<Optimizer<float>> natural_gradient(Index, const NaturalOptions&, std::string);
template std::unique_ptr<Optimizer<double>> natural_gradient(Index, const NaturalOptions&, std::string);

}  // namespace unfold
