#include "unfold/training/control.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "unfold/numerics/vector.h"

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
  const auto chunks = (static_cast<Index>(vector.size()) + kSumChunk - 1) / kSumChunk;
  std::vector<double> sums(static_cast<std::size_t>(chunks));
  team.run([&](Member& me) {
    const Range mine = me.share(chunks);
    for (Index c = mine.begin; c < mine.end; ++c) {
      const auto at = static_cast<std::size_t>(c * kSumChunk);
      sums[static_cast<std::size_t>(c)] =
          sum_of_squares<T>(vector.subspan(at, std::min<std::size_t>(kSumChunk, vector.size() - at)));
    }
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return std::sqrt(total);
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
