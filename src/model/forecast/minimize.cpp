#include "model/forecast/minimize.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace unfold::forecasting {
namespace {

constexpr double kInfeasible = std::numeric_limits<double>::infinity();
constexpr double kDifferenceStep = 6e-6;  // about the cube root of the machine precision
constexpr double kStepLengths[kLanes] = {1, 2, 4, 0.5, 0.25, 0.0625, 0.0078125, 0.00048828125};

class Minimizer {
 public:
  Minimizer(const BatchObjective& objective, std::size_t n)
      : objective_(objective),
        n_(n),
        points_(n * kLanes),
        gradient_(n),
        next_gradient_(n),
        direction_(n),
        inverse_(n * n) {}

  Minimum run(const std::vector<std::vector<double>>& starts, const MinimizeOptions& options) {
    choose_start(starts);
    if (n_ == 0 || best_.value == kInfeasible) return best_;
    find_gradient(gradient_);
    reset();
    Index small = 0;
    while (best_.iterations < options.iterations) {
      ++best_.iterations;
      const double before = best_.value;
      const bool moved = search_line();
      if (!moved && fresh_) break;
      if (!moved) {
        reset();
        continue;
      }
      small = before - best_.value < options.tolerance * (1 + std::fabs(best_.value)) ? small + 1 : 0;
      if (small == 2) break;
      find_gradient(next_gradient_);
      update();
    }
    return best_;
  }

 private:
  void evaluate(double* values) {
    objective_(points_.data(), values);
    for (Index k = 0; k < kLanes; ++k)
      if (!(values[k] < kInfeasible)) values[k] = kInfeasible;
  }

  void choose_start(const std::vector<std::vector<double>>& starts) {
    for (std::size_t k = 0; k < kLanes; ++k)
      std::ranges::copy(starts[std::min(k, starts.size() - 1)], points_.begin() + static_cast<std::ptrdiff_t>(k * n_));
    double values[kLanes];
    evaluate(values);
    const auto k = static_cast<std::size_t>(std::min_element(values, values + kLanes) - values);
    best_.value = values[k];
    best_.x = starts[std::min(k, starts.size() - 1)];
  }

  /// Central differences; a one-sided difference where only one neighbor is feasible.
  void find_gradient(std::vector<double>& gradient) {
    constexpr std::size_t kPairs = kLanes / 2;
    for (std::size_t first = 0; first < n_; first += kPairs) {
      double step[kPairs] = {};
      for (std::size_t k = 0; k < kPairs; ++k) {
        const std::size_t i = std::min(first + k, n_ - 1);
        step[k] = kDifferenceStep * std::max(1.0, std::fabs(best_.x[i]));
        for (std::size_t side = 0; side < 2; ++side) {
          double* point = points_.data() + (2 * k + side) * n_;
          std::ranges::copy(best_.x, point);
          point[i] += side == 0 ? step[k] : -step[k];
        }
      }
      double values[kLanes];
      evaluate(values);
      for (std::size_t k = 0; k < kPairs && first + k < n_; ++k) {
        const double up = values[2 * k], down = values[2 * k + 1];
        double& g = gradient[first + k];
        g = 0;
        if (up < kInfeasible && down < kInfeasible)
          g = (up - down) / (2 * step[k]);
        else if (up < kInfeasible)
          g = (up - best_.value) / step[k];
        else if (down < kInfeasible)
          g = (best_.value - down) / step[k];
      }
    }
  }

  /// The inverse Hessian becomes a multiple of the identity: the first step moves by about 0.25.
  void reset() {
    double size = 0;
    for (const double g : gradient_) size += g * g;
    size = std::sqrt(size);
    std::ranges::fill(inverse_, 0.0);
    for (std::size_t i = 0; i < n_; ++i) inverse_[i * n_ + i] = size > 0 ? 0.25 / size : 1;
    fresh_ = true;
  }

  /// Takes the best of the fixed step lengths; returns false if none of them reduces the value.
  bool search_line() {
    double slope = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      direction_[i] = 0;
      for (std::size_t j = 0; j < n_; ++j) direction_[i] -= inverse_[i * n_ + j] * gradient_[j];
      slope += direction_[i] * gradient_[i];
    }
    if (!(slope < 0)) return false;
    for (std::size_t k = 0; k < kLanes; ++k)
      for (std::size_t i = 0; i < n_; ++i) points_[k * n_ + i] = best_.x[i] + kStepLengths[k] * direction_[i];
    double values[kLanes];
    evaluate(values);
    const auto k = static_cast<std::size_t>(std::min_element(values, values + kLanes) - values);
    if (!(values[k] < best_.value)) return false;
    best_.value = values[k];
    step_.resize(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      step_[i] = points_[k * n_ + i] - best_.x[i];
      best_.x[i] = points_[k * n_ + i];
    }
    return true;
  }

  /// Makes the BFGS update of the inverse Hessian with the last step and the last change of the gradient.
  void update() {
    std::vector<double> change(n_), product(n_);
    double curvature = 0, size = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      change[i] = next_gradient_[i] - gradient_[i];
      curvature += change[i] * step_[i];
      size += change[i] * change[i];
    }
    gradient_.swap(next_gradient_);
    if (!(curvature > 1e-12 * std::sqrt(size))) return;
    if (fresh_) {
      std::ranges::fill(inverse_, 0.0);
      for (std::size_t i = 0; i < n_; ++i) inverse_[i * n_ + i] = curvature / size;
      fresh_ = false;
    }
    double quadratic = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < n_; ++j) product[i] += inverse_[i * n_ + j] * change[j];
      quadratic += product[i] * change[i];
    }
    const double factor = (1 + quadratic / curvature) / curvature;
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < n_; ++j)
        inverse_[i * n_ + j] +=
            factor * (step_[i] * step_[j]) - (product[i] * step_[j] + step_[i] * product[j]) / curvature;
  }

  const BatchObjective& objective_;
  std::size_t n_;
  std::vector<double> points_, gradient_, next_gradient_, direction_, step_, inverse_;
  bool fresh_ = true;
  Minimum best_;
};

}  // namespace

Minimum minimize(const BatchObjective& objective, const std::vector<std::vector<double>>& starts,
                 const MinimizeOptions& options) {
  return Minimizer(objective, starts.front().size()).run(starts, options);
}

}  // namespace unfold::forecasting
