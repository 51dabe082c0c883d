#include "optim/riemannian/output_metric.h"

#include <algorithm>

namespace unfold {

template <class T>
OutputMetric<T>::OutputMetric(const CorePass<T>& core, double damping, bool averages, bool full) {
  heads_.reserve(core.heads().size());
  for (const CoreHead<T>& head : core.heads())
    if (full && !head.split)
      throw UsageError(
          "Riemannian training: writing=full requires an output that is an affine map of units, with a loss "
          "of single positions, which the head of " +
          head.head.field + " is not; leave writing= out");
    else if (head.split)
      heads_.emplace_back(std::in_place_type<HeadMetric<T>>, head, core.team().size(), damping, averages, full);
    else
      heads_.emplace_back(std::in_place_type<LossMetric<T>>, head, core.plan(), damping, averages);
}

template <class T>
double OutputMetric<T>::pass(CorePass<T>& core, const Parameters<T>& parameters, const Batch& batch,
                             const Wanted& wanted) {
  if (wanted.adjoints) core.unfolding().clear_adjoints();
  double nats = 0;
  Wanted of_head = wanted;
  for (HeadPart& head : heads_) {
    nats += std::visit([&](auto& part) { return part.pass(core, parameters, batch, of_head); }, head);
    ++of_head.stream;
  }
  return nats;
}

template <class T>
void OutputMetric<T>::direction(const Parameters<T>& parameters, double keep, std::span<double> direction) {
  for (HeadPart& head : heads_)
    if (auto* split = std::get_if<HeadMetric<T>>(&head))
      split->direction(parameters, keep, direction);
    else
      std::get<LossMetric<T>>(head).direction(keep, direction);
}

template <class T>
void OutputMetric<T>::gradient(const Parameters<T>& parameters, std::span<double> gradient) const {
  for (const HeadPart& head : heads_)
    if (const auto* split = std::get_if<HeadMetric<T>>(&head))
      split->gradient(parameters, gradient);
    else
      std::get<LossMetric<T>>(head).gradient(gradient);
}

template <class T>
void OutputMetric<T>::seed_variances(CorePass<T>& core) const {
  core.unfolding().clear_adjoints();
  for (const HeadPart& head : heads_) std::visit([&](const auto& part) { part.add_variances(core); }, head);
}

template <class T>
bool OutputMetric<T>::samples_variances() const {
  return std::ranges::any_of(heads_, [](const HeadPart& head) {
    const auto* whole = std::get_if<LossMetric<T>>(&head);
    return whole != nullptr && whole->samples_variances();
  });
}

/// The first head uses the name that is used in checkpoints with one head.
template <class T>
void OutputMetric<T>::visit_averages(StateVisitor<T>& visitor) {
  for (HeadPart& head : heads_)
    std::visit(
        [&](auto& part) {
          visitor(&head == heads_.data() ? "average/writing" : "average/writing/" + part.field(), part.average());
        },
        head);
}

template class OutputMetric<float>;
template class OutputMetric<double>;

}  // namespace unfold
