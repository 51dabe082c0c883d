/// The parts of a training step outside the passes: the softmax of the loss, and the optimizer step.

#include <cmath>
#include <exception>

#include "graph/offload/device_passes.h"

#include <algorithm>
#include <utility>

namespace unfold {

template <class T>
bool DevicePasses<T>::softmax(int i, std::span<const Symbol> targets, T scale, bool adjoint, T* nats) {
  const Index rows = layout_.rows(), cols = node(i).size;
  if (std::ranges::any_of(targets, [&](Symbol s) { return s >= cols; })) return false;
  if (adjoint) make_room(What::adjoint);
  targets_of_rows_.reserve(device_, targets.size_bytes());
  nats_.reserve(device_, at(rows) * sizeof(T));
  device_->upload(targets_of_rows_.address(), targets.data(), targets.size_bytes());
  launch(FixedKernel::softmax_rows, 32 * rows,
         Arguments()
             .add(address(What::value, i, {0, {0, 0}}))
             .add(layout_.stride(What::value, i))
             .add(targets_of_rows_.address())
             .add(rows)
             .add(cols)
             .add(static_cast<double>(scale))
             .add(nats_.address())
             .add(adjoint ? address(What::adjoint, i, {0, {0, 0}}) : Address{0})
             .add(adjoint ? layout_.stride(What::adjoint, i) : Index{0}));
  if (adjoint) {
    const int root = plan_.adjoint_place(i).root;
    expected_[1][at(root)] = 0;
    stale_[1][at(root)] = 1;
  }
  device_->download(nats, nats_.address(), at(rows) * sizeof(T));
  return true;
}

/// Returns nullptr if there are trained initial states, because their gradients are computed on the host.
template <class T>
Resident<T>* DevicePasses<T>::resident() {
  const bool starts = std::ranges::any_of(plan_.nodes(), [](const Node& n) { return n.trained_initial() >= 0; });
  return starts ? nullptr : this;
}

template <class T>
double DevicePasses<T>::gradient_norm() {
  constexpr Index kBlocks = 128, kThreads = 256;
  sums_.reserve(device_, at(1 + kBlocks * kThreads) * sizeof(double));
  const Address partial = sums_.address() + sizeof(double);
  const auto kernel = [&](FixedKernel k) { return fixed_[static_cast<std::size_t>(k)]; };
  device_->launch(kernel(FixedKernel::square_parts), {.blocks = kBlocks, .threads = kThreads},
                  Arguments().add(partial).add(gradient_.address()).add(plan_.parameter_count()));
  device_->launch(kernel(FixedKernel::join_squares), {.threads = kThreads, .shared_bytes = kThreads * 8},
                  Arguments().add(sums_.address()).add(partial).add(kBlocks * kThreads));
  double squares = 0;
  device_->download(&squares, sums_.address(), sizeof squares);
  return std::sqrt(squares);
}

template <class T>
Address DevicePasses<T>::vector(std::span<T> home) {
  Vector& v = vectors_[home.data()];
  v.memory.reserve(device_, home.size_bytes());
  if (!std::exchange(v.here, true)) device_->upload(v.memory.address(), home.data(), home.size_bytes());
  return v.memory.address();
}

template <class T>
void DevicePasses<T>::adam(Parameters<T>& parameters, std::span<T> mean, std::span<T> square, const AdamStep& step) {
  upload_parameters();
  launch(FixedKernel::adam_step, plan_.parameter_count(),
         Arguments()
             .add(parameters_.address())
             .add(gradient_.address())
             .add(vector(mean))
             .add(vector(square))
             .add(plan_.parameter_count())
             .add(step.gradient_scale)
             .add(step.rate)
             .add(step.beta1)
             .add(step.beta2)
             .add(step.epsilon)
             .add(step.correction1)
             .add(step.correction2)
             .add(step.decay));
  parameters.lend(*this);
  lent_ = &parameters;
}

template <class T>
void DevicePasses<T>::bring(std::span<T> home) {
  if (const auto known = vectors_.find(home.data()); known != vectors_.end()) {
    if (std::exchange(known->second.here, false))
      device_->download(home.data(), known->second.memory.address(), home.size_bytes());
    return;
  }
  if (lent_ == nullptr) return;
  device_->download(home.data(), parameters_.address(), home.size_bytes());
  lent_ = nullptr;
  parameters_stale_ = true;  // the host may change them
}

template class DevicePasses<float>;
template class DevicePasses<double>;

}  // namespace unfold
