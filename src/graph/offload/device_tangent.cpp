/// Tangent pass on a device.

#include "graph/offload/device_passes.h"

#include <algorithm>

namespace unfold {

/// d(b + sum x W) = db + sum (x dW + dx W)
template <class T>
void DevicePasses<T>::affine_tangent(const Item& item, const Rows& rows) {
  const Node& n = node(item.node);
  const Address bias = n.affine().bias >= 0 ? parameter(n.affine().bias, direction_) : 0,
                y = address(What::tangent, item.node, rows);
  const Index ld = layout_.stride(What::tangent, item.node), count = rows.range.size();
  if (item.start) start_rows(What::tangent, item.node, rows, bias);
  for (const auto& part : item.parts) {
    const auto& t = term_of(item, part);
    if (layout_.lookup(t.source) != nullptr) {
      launch(FixedKernel::look_up, count * n.size,
             Arguments()
                 .add(parameter(t.parameter, direction_))
                 .add(n.size)
                 .add(symbols_[at(t.source)].address() + sizeof(Symbol) * at(rows.range.begin))
                 .add(y)
                 .add(ld)
                 .add(count)
                 .add(Index{0})
                 .add(Address{0}));
      continue;
    }
    const auto add = [&](What what, const DeviceMemory& weights) {
      multiply({.m = count,
                .n = n.size,
                .k = node(t.source).size,
                .a = address(what, t.source, rows),
                .b = parameter(t.parameter, weights),
                .c = y,
                .lda = layout_.stride(what, t.source),
                .ldb = n.size,
                .ldc = ld,
                .accumulate = true});
    };
    add(What::value, direction_);
    if (plan_.needs_adjoint(t.source)) add(What::tangent, parameters_);
  }
}

template <class T>
void DevicePasses<T>::tangent(std::span<const T> direction) {
  make_room(What::tangent);
  compile(Kind::tangent);
  upload_parameters();
  parts_.boundary.load_tangents(*parts_.parameters, direction.data(), nullptr);
  if (direction_.reserve(device_, bytes_of<T>(plan_.parameter_count()))) forget_recordings();
  device_->upload(direction_.address(), direction.data(), bytes_of<T>(plan_.parameter_count()));
  for (int root = 0; root < static_cast<int>(plan_.nodes().size()); ++root)
    if (const DeviceMemory& b = buffer(What::tangent, root); b.bytes() > 0) device_->clear(b.address(), b.bytes());
  upload_history(What::tangent);
  play(tangent_, &DeviceTimes::forward, [&] { run(Kind::tangent); });
  std::fill(stale_[2].begin(), stale_[2].end(), 1);
}

template class DevicePasses<float>;
template class DevicePasses<double>;

}  // namespace unfold
