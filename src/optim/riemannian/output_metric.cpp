#include "optim/riemannian/output_metric.h"

namespace unfold {

template <class T>
OutputMetric<T>::OutputMetric(const CorePass<T>& core, double damping, bool averages) {
  heads_.reserve(core.heads().size());
  for (const CoreHead<T>& head : core.heads()) heads_.emplace_back(head, core.team().size(), damping, averages);
}

template <class T>
double OutputMetric<T>::pass(CorePass<T>& core, const Parameters<T>& parameters, const Batch& batch,
                             const Wanted& wanted) {
  if (wanted.adjoints) core.unfolding().clear_adjoints();
  double nats = 0;
  Wanted of_head = wanted;
  for (HeadMetric<T>& head : heads_) {
    nats += head.pass(core, parameters, batch, of_head);
    ++of_head.stream;
  }
  return nats;
}

template <class T>
void OutputMetric<T>::direction(const Parameters<T>& parameters, double keep, std::span<double> direction) {
  for (HeadMetric<T>& head : heads_) head.direction(parameters, keep, direction);
}

template <class T>
void OutputMetric<T>::gradient(const Parameters<T>& parameters, std::span<double> gradient) const {
  for (const HeadMetric<T>& head : heads_) head.gradient(parameters, gradient);
}

template <class T>
void OutputMetric<T>::seed_variances(CorePass<T>& core) const {
  core.unfolding().clear_adjoints();
  for (const HeadMetric<T>& head : heads_) head.add_variances(core);
}

/// The first head uses the name that checkpoints with one head have.
template <class T>
void OutputMetric<T>::visit_averages(StateVisitor<T>& visitor) {
  for (HeadMetric<T>& head : heads_)
    visitor(&head == heads_.data() ? "average/writing" : "average/writing/" + head.field(), head.average());
}

template class OutputMetric<float>;
template class OutputMetric<double>;

}  // namespace unfold
