#include "optim/lbfgs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "optim/direction/conjugate_gradient.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

constexpr double kDecrease = 1e-4, kFlatness = 0.9;  // constants of the Wolfe conditions
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::size_t kRecent = 10;  // number of values of F that `change` covers

/// y += a x, divided among a team.
template <class T>
void add_multiple(Team& team, double a, std::span<const T> x, std::span<T> y) {
  team.run([&](Member& me) {
    const Range mine = me.share(static_cast<Index>(x.size()), 64);
    axpy<T>(static_cast<T>(a), x.subspan(at(mine.begin), at(mine.size())), y.subspan(at(mine.begin), at(mine.size())));
  });
}

template <class T>
class Lbfgs final : public Optimizer<T> {
 public:
  Lbfgs(Index parameters, const LbfgsOptions& options, std::string spec)
      : Optimizer<T>(nullptr, nullptr, {.rate = 1}, {}, std::move(spec)),
        options_(options),
        start_(parameters),
        gradient_(parameters),
        next_gradient_(parameters),
        direction_(parameters) {
    for (auto* memory : {&steps_, &changes_})
      for (Index k = 0; k < options.history; ++k) memory->emplace_back(parameters);
    weights_.resize(at(options.history));
  }

  Index batches() const override { return options_.windows; }

  StepReport take_step(Objective<T>& objective, const Progress&, double factor) override {
    StepReport report;
    const double scale = 1 / objective.predicted();
    l2_ = options_.l2 * scale, l1_ = options_.l1 * scale;
    begin(objective);
    report.finite = std::isfinite(at_start_.value);
    report.loss = at_start_.loss;
    if (!report.finite) return report;
    std::ranges::copy(objective.parameters().flat(), start_.begin());
    find_pseudo_gradient(objective.team());
    report.gradient_norm = global_norm<T>(objective.team(), direction_.span());
    report.finite = std::isfinite(report.gradient_norm);
    if (!report.finite) return report;
    report.converged = is_flat(objective, report.gradient_norm) || (objective.repeats() && !falls());
    if (!report.converged) {
      report.rate = advance(objective, report.gradient_norm, std::min(1.0, factor));
      report.converged = report.rate == 0 && remembered_ == 0;
      if (report.rate == 0) remembered_ = 0;  // the next step follows the gradient itself
    }
    return report;
  }

  void visit(StateVisitor<T>& visitor) override {
    for (std::size_t k = 0; k < steps_.size(); ++k) {
      visitor(fmt::format("step{}", k), steps_[k].span());
      visitor(fmt::format("change{}", k), changes_[k].span());
    }
    for (std::size_t k = 0; k < weights_.size(); ++k) visitor(fmt::format("weight{}", k), weights_[k]);
    for (std::size_t k = 0; k < kRecent; ++k) visitor(fmt::format("recent{}", k), recent_[k]);
    const auto history = static_cast<double>(options_.history);
    visitor.count("remembered", remembered_, history);
    visitor.count("next", next_, history - 1);
    visitor.count("taken", taken_);
  }

 private:
  struct Point {
    double loss = 0;   // loss of the data
    double value = 0;  // F
  };
  /// A length along the direction, with the value and slope of F.
  struct Length {
    double t = 0, value = 0, slope = 0;
  };

  /// Sets at_start_ and gradient_; if every step uses the same batch, the previous step has already computed both.
  void begin(Objective<T>& objective) {
    const std::span<const T> p = objective.parameters().flat();
    if (known_ && std::ranges::equal(p, reached_.span())) {
      at_start_ = last_;
      std::swap(gradient_, next_gradient_);
    } else {
      at_start_ = evaluate(objective, gradient_);
    }
    known_ = false;
  }

  /// Returns F at the current parameters and sets the gradient, excluding the l1 part.
  Point evaluate(Objective<T>& objective, Buffer<T>& gradient) {
    Point point;
    point.loss = objective.gradient(gradient.span());
    point.value = point.loss;
    const std::span<const T> p = objective.parameters().flat();
    if (l2_ > 0) {
      add_multiple<T>(objective.team(), l2_, p, gradient.span());
      point.value += 0.5 * l2_ * dot<T>(objective.team(), p, p);
    }
    if (l1_ > 0) {
      double sum = 0;
      for (const T x : p) sum += std::fabs(static_cast<double>(x));
      point.value += l1_ * sum;
    }
    return point;
  }

  /// Stores in direction_ the gradient of F or, where F is not differentiable (at 0), the slope in the direction of
  /// descent, if there is one.
  void find_pseudo_gradient(Team& team) {
    const T c = static_cast<T>(l1_);
    for_each_element(team, start_.size(), [&](Index i) {
      const T x = start_[i], g = gradient_[i];
      T& out = direction_[i];
      if (c == 0)
        out = g;
      else if (x != 0)
        out = x > 0 ? g + c : g - c;
      else
        out = g + c < 0 ? g + c : g - c > 0 ? g - c : T{0};
    });
  }

  bool is_flat(Objective<T>& objective, double norm) const {
    const double length = global_norm<T>(objective.team(), start_.span());
    return norm * objective.predicted() <= options_.tolerance * std::max(1.0, length);
  }

  /// Returns whether F has decreased enough in the last steps, and stores its current value.
  bool falls() {
    double& oldest = recent_[at(static_cast<Index>(taken_)) % kRecent];
    const bool enough = taken_ < static_cast<double>(kRecent) || options_.change == 0 ||
                        oldest - at_start_.value >= options_.change * std::fabs(at_start_.value);
    oldest = at_start_.value;
    taken_ += 1;
    return enough;
  }

  /// Takes a step and stores it in the history. Returns its length; 0 if no length was found and nothing changed.
  /// direction_ holds the pseudo-gradient.
  double advance(Objective<T>& objective, double norm, double factor) {
    Team& team = objective.team();
    if (l1_ > 0) pseudo_ = direction_;
    make_direction(team);
    const Buffer<T>& slope_from = l1_ > 0 ? pseudo_ : gradient_;
    double slope = dot<T>(team, slope_from.span(), direction_.span());
    if (!(slope < 0)) {
      remembered_ = 0;
      for_each_element(team, start_.size(), [&](Index i) { direction_[i] = -slope_from[i]; });
      slope = -norm * norm;
    }
    const double first = factor * (remembered_ == 0 ? 1 / norm : 1);
    Point reached;
    const double length =
        l1_ > 0 ? search_orthant(objective, first, reached) : search(objective, slope, first, reached);
    if (length == 0) {
      std::ranges::copy(start_, objective.parameters().flat().begin());
      return 0;
    }
    remember(objective);
    if (objective.repeats()) {
      last_ = reached;
      known_ = true;
      if (reached_.empty()) reached_ = Buffer<T>(start_.size());
      std::ranges::copy(objective.parameters().flat(), reached_.begin());
    }
    return length;
  }

  /// direction_ = -H direction_, with H from the history. With l1, components that do not point downhill are set to 0.
  void make_direction(Team& team) {
    const auto count = static_cast<Index>(remembered_);
    std::vector<double> along(at(count));
    const auto slot = [&](Index back) {  // 0: the most recent step
      return at((static_cast<Index>(next_) - 1 - back + 2 * options_.history) % options_.history);
    };
    const auto add = [&](double a, const Buffer<T>& x) { add_multiple<T>(team, a, x.span(), direction_.span()); };
    for (Index k = 0; k < count; ++k) {
      const std::size_t s = slot(k);
      along[at(k)] = weights_[s] * dot<T>(team, steps_[s].span(), direction_.span());
      add(-along[at(k)], changes_[s]);
    }
    const double size = count == 0 ? 1 : 1 / (weights_[slot(0)] * sum_of_change_squares(team, slot(0)));
    const T factor = static_cast<T>(-size);
    for_each_element(team, direction_.size(), [&](Index i) { direction_[i] *= factor; });
    for (Index k = count - 1; k >= 0; --k) {
      const std::size_t s = slot(k);
      const double back = weights_[s] * dot<T>(team, changes_[s].span(), direction_.span());
      add(-along[at(k)] - back, steps_[s]);
    }
    if (l1_ > 0)
      for_each_element(team, direction_.size(), [&](Index i) {
        if (direction_[i] * pseudo_[i] >= 0) direction_[i] = 0;
      });
  }

  double sum_of_change_squares(Team& team, std::size_t slot) const {
    return dot<T>(team, changes_[slot].span(), changes_[slot].span());
  }

  void remember(Objective<T>& objective) {
    Team& team = objective.team();
    const auto slot = at(static_cast<Index>(next_));
    Buffer<T>&s = steps_[slot], &y = changes_[slot];
    const std::span<const T> p = objective.parameters().flat();
    for_each_element(team, start_.size(), [&](Index i) {
      s[i] = p[at(i)] - start_[i];
      y[i] = next_gradient_[i] - gradient_[i];
    });
    const double product = dot<T>(team, s.span(), y.span());
    if (!(product > std::numeric_limits<T>::epsilon() * sum_of_change_squares(team, slot))) return;
    weights_[slot] = 1 / product;
    next_ = static_cast<double>((static_cast<Index>(next_) + 1) % options_.history);
    remembered_ = std::min(remembered_ + 1, static_cast<double>(options_.history));
  }

  /// Computes F and its gradient (in next_gradient_) at length t.
  Point try_length(Objective<T>& objective, double t) {
    const std::span<T> p = objective.parameters().flat();
    std::ranges::copy(start_, p.begin());
    add_multiple<T>(objective.team(), t, direction_.span(), p);
    return evaluate(objective, next_gradient_);
  }

  /// Returns the tolerance for F due to rounding.
  double rounding() const { return 4 * std::numeric_limits<T>::epsilon() * std::fabs(at_start_.value); }

  /// Returns a length that satisfies the strong Wolfe conditions, or the last length with sufficient decrease; 0 if
  /// there is no such length.
  double search(Objective<T>& objective, double slope, double first, Point& reached) {
    Length low{0, at_start_.value, slope}, high{kInfinite, kInfinite, 0};
    double t = first, last = 0;
    for (Index trial = 0; trial < options_.trials; ++trial) {
      reached = try_length(objective, t);
      last = t;
      const double now = dot<T>(objective.team(), next_gradient_.span(), direction_.span());
      const bool low_enough = reached.value <= at_start_.value + kDecrease * t * slope + rounding();  // false for NaN
      if (low_enough && std::fabs(now) <= -kFlatness * slope) return t;
      if (!low_enough || now > 0)
        high = {t, reached.value, now};
      else
        low = {t, reached.value, now};
      t = next_length(low, high);
    }
    if (low.t > 0 && last != low.t) reached = try_length(objective, low.t);
    return reached.value < at_start_.value ? low.t : 0;  // the step is too short to decrease F
  }

  /// Multiplies the length by 2.5 if there is no upper bound; otherwise minimizes a parabola through both ends,
  /// restricted to the interior.
  static double next_length(const Length& low, const Length& high) {
    if (high.t == kInfinite) return low.t > 0 ? 2.5 * low.t : 1;
    const double width = high.t - low.t;
    double share = 0.5;
    if (std::isfinite(high.value)) {
      const double bend = high.value - low.value - low.slope * width;
      if (bend > 0) share = -0.5 * low.slope * width / bend;
    }
    return low.t + std::clamp(share, 0.1, 0.9) * width;
  }

  /// Halves the length until F is low enough, within the orthant of the start.
  double search_orthant(Objective<T>& objective, double first, Point& reached) {
    const std::span<T> p = objective.parameters().flat();
    double t = first;
    for (Index trial = 0; trial < options_.trials; ++trial, t *= 0.5) {
      const T length = static_cast<T>(t);
      for_each_element(objective.team(), start_.size(), [&](Index i) {
        const T side = start_[i] != 0 ? start_[i] : -pseudo_[i], x = std::fma(length, direction_[i], start_[i]);
        p[at(i)] = x * side > 0 ? x : T{0};
        next_gradient_[i] = p[at(i)] - start_[i];
      });
      const double foretold = dot<T>(objective.team(), pseudo_.span(), next_gradient_.span());
      reached = evaluate(objective, next_gradient_);
      if (foretold < 0 && reached.value <= at_start_.value + kDecrease * foretold + rounding()) return t;
    }
    return 0;
  }

  LbfgsOptions options_;
  double l2_ = 0, l1_ = 0;  // relative to the mean loss
  Buffer<T> start_, gradient_, next_gradient_, direction_, pseudo_;
  std::vector<Buffer<T>> steps_, changes_;
  std::vector<double> weights_;  // 1 / <step, change>
  std::array<double, kRecent> recent_{};
  Point at_start_;      // starting point of the current step
  bool known_ = false;  // whether last_ and next_gradient_ belong to reached_, the end of the last step
  Point last_;
  Buffer<T> reached_;
  double remembered_ = 0, next_ = 0, taken_ = 0;
};

}  // namespace

template <class T>
std::unique_ptr<Optimizer<T>> lbfgs(Index parameters, const LbfgsOptions& options, std::string spec) {
  return std::make_unique<Lbfgs<T>>(parameters, options, std::move(spec));
}

template std::unique_ptr<Optimizer<float>> lbfgs(Index, const LbfgsOptions&, std::string);
template std::unique_ptr<Optimizer<double>> lbfgs(Index, const LbfgsOptions&, std::string);

}  // namespace unfold
