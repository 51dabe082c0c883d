#include "unfold/optim/direction/step_control.h"

#include <algorithm>
#include <cmath>

#include "graph/engine/backend.h"
#include "optim/direction/conjugate_gradient.h"
#include "optim/direction/row_steps.h"
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
    if (slices_ == nullptr) {
      auto* by_rows = dynamic_cast<RowDirection<T>*>(&direction);
      auto* read = dynamic_cast<RowObjective<T>*>(&objective);
      if (by_rows != nullptr && read != nullptr && by_rows->can_move_rows())
        if (const RowTables* tables = read->rows_read()) return step_rows(objective, *read, *by_rows, *tables, report);
    }
    cleared_ = false;
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
  /// Takes a step in which only the rows that the batch reads have a gradient.
  StepReport step_rows(Objective<T>& objective, RowObjective<T>& read, RowDirection<T>& direction,
                       const RowTables& tables, StepReport report) {
    clear(objective.team(), tables);
    direction.start_rows(objective.team(), objective.parameters(), tables);
    report.loss = read.gradient_of_rows(direction, gradient_.span());
    report.gradient_norm = norm_of_rows<T>(objective.team(), gradient_.span(), tables);
    report.finite = std::isfinite(report.loss) && std::isfinite(report.gradient_norm);
    if (!report.finite) return report;
    const double scale = clip_ > 0 && report.gradient_norm > clip_ ? clip_ / report.gradient_norm : 1;
    direction.move_rows(objective.team(), objective.parameters(), tables, gradient_.span(), scale, report.rate);
    return report;
  }
  /// Zeroes the gradient. After a step over the same tables, only the rows that were read then are not zero.
  void clear(Team& team, const RowTables& tables) {
    const auto zero = [&](Range r) { std::fill_n(gradient_.data() + r.begin, r.size(), T{0}); };
    if (cleared_) {
      for_each_range_outside(written_, gradient_.size(), zero);
      for (const RowTable& table : written_)
        for (const Index row : table.read) zero({table.row(row), table.row(row + 1)});
    } else {
      team.run([&](Member& me) { zero(me.share(gradient_.size(), 1024)); });
    }
    written_ = tables;
    cleared_ = true;
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
  RowTables written_;               // the rows of the gradient that the last step over rows has written
  bool cleared_ = false;            // whether the other rows are zero
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
