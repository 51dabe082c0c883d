#include "optim/averaged.h"

#include <algorithm>
#include <cmath>

namespace unfold {
namespace {

constexpr double kNone = 1e300;  ///< no validation; finite, like everything in checkpoints
constexpr Index kMeanGrain = 1024;

/// mean += (x - mean) / count
template <class T>
void move_mean(Team& team, std::span<const T> x, double count, std::span<T> mean) {
  const auto share = static_cast<T>(1 / count);
  team.run([&](Member& me) {
    const Range mine = me.share(static_cast<Index>(x.size()), kMeanGrain);
    for (Index i = mine.begin; i < mine.end; ++i) mean[at(i)] += share * (x[at(i)] - mean[at(i)]);
  });
}

}  // namespace

template <class T>
AveragedOptimizer<T>::AveragedOptimizer(Index parameters, const AveragingOptions& averaging,
                                        std::unique_ptr<Direction<T>> direction, std::unique_ptr<Control<T>> control,
                                        const CommonOptions& common, const ScheduleOptions& schedule, std::string spec)
    : Optimizer<T>(std::move(direction), std::move(control), common, schedule, std::move(spec)),
      options_(averaging),
      mean_(parameters),
      best_(kNone),
      recent_(at(averaging.nonmono), kNone) {}

template <class T>
StepReport AveragedOptimizer<T>::take_step(Objective<T>& objective, const Progress& progress, double factor) {
  const StepReport report = Optimizer<T>::take_step(objective, progress, factor);
  if (!report.finite) return report;
  steps_ += 1;
  if (options_.t0 > 0 && steps_ >= static_cast<double>(options_.t0)) on_ = 1;
  if (on_ == 0) return report;
  count_ += 1;
  move_mean<T>(objective.team(), objective.parameters().flat(), count_, mean_.span());
  return report;
}

template <class T>
void AveragedOptimizer<T>::judged(double nats) {
  if (options_.t0 > 0 || !std::isfinite(nats)) return;
  if (nats > best_) on_ = 1;
  double leaving = nats;
  if (!recent_.empty()) {
    double& oldest = recent_[static_cast<std::size_t>(judged_) % recent_.size()];
    leaving = oldest;
    oldest = nats;
  }
  best_ = std::min(best_, leaving);
  judged_ += 1;
}

template <class T>
void AveragedOptimizer<T>::visit(StateVisitor<T>& visitor) {
  Optimizer<T>::visit(visitor);
  visitor("mean", mean_.span());
  visitor("mean_count", count_);
  visitor("mean_steps", steps_);
  visitor("mean_on", on_);
  visitor.count("judged", judged_);
  visitor("judged_best", best_);
  for (std::size_t i = 0; i < recent_.size(); ++i) visitor("judged" + std::to_string(i), recent_[i]);
}

template class AveragedOptimizer<float>;
template class AveragedOptimizer<double>;

}  // namespace unfold
