#include "optim/direction/path_penalty.h"

#include <cmath>
#include <utility>
#include <vector>

#include "optim/direction/path_sums.h"
#include "unfold/base/views.h"
#include "unfold/optim/direction/objective.h"

namespace unfold {
namespace {

template <class T>
class PathPenalty final : public Direction<T> {
 public:
  PathPenalty(std::unique_ptr<Direction<T>> inner, double weight) : inner_(std::move(inner)), weight_(weight) {}

  void attach(Objective<T>& objective) override {
    pass_ = std::make_unique<PathPass<T>>(*objective.path_reading().circuit, objective.team());
    inner_->attach(objective);
  }
  void prepare(Objective<T>& objective) override {
    const PathReading reading = objective.path_reading();
    const std::span<const T> p = objective.parameters().flat();
    kappa_.resize(p.size());
    const PathSums sums = path_sums(*pass_, objective, reading, {}, kappa_);
    const double share = std::ldexp(2 * weight_ / sums.norm.mantissa, sums.exponent - sums.norm.exponent);
    for (std::size_t i = 0; i < p.size(); ++i) kappa_[i] *= share * static_cast<double>(p[i]);
    inner_->prepare(objective);
  }
  void move(Team& team, std::span<T> parameters, std::span<const T> gradient, double scale, double rate) override {
    const auto n = static_cast<Index>(gradient.size());
    if (total_.size() != n) total_.resize(n);
    const T factor = static_cast<T>(scale);
    team.run([&](Member& me) {
      const Range mine = me.share(n, 64);
      for (Index i = mine.begin; i < mine.end; ++i) {
        const auto k = static_cast<std::size_t>(i);
        total_[i] = factor * gradient[k] + static_cast<T>(kappa_[k]);
      }
    });
    inner_->move(team, parameters, total_.span(), 1, rate);
  }
  void visit_state(StateVisitor<T>& visitor) override { inner_->visit_state(visitor); }

 private:
  std::unique_ptr<Direction<T>> inner_;
  double weight_;
  std::unique_ptr<PathPass<T>> pass_;
  std::vector<double> kappa_;  // the gradient of the penalty
  Buffer<T> total_ = Buffer<T>(0);
};

}  // namespace

template <class T>
std::unique_ptr<Direction<T>> path_penalty(std::unique_ptr<Direction<T>> inner, double weight) {
  return std::make_unique<PathPenalty<T>>(std::move(inner), weight);
}

template std::unique_ptr<Direction<float>> path_penalty(std::unique_ptr<Direction<float>>, double);
template std::unique_ptr<Direction<double>> path_penalty(std::unique_ptr<Direction<double>>, double);

}  // namespace unfold
