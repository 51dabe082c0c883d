#include "graph/offload/offload.h"

#include <utility>

#include "graph/offload/device_passes.h"

namespace unfold {
namespace {

class DeviceOffload final : public Offload {
 public:
  DeviceOffload(std::shared_ptr<Device> device, const OffloadOptions& options)
      : device_(std::move(device)), options_(options) {}

  std::unique_ptr<Backend<float>> backend(Parts<float>& parts) const override { return make(parts); }
  std::unique_ptr<Backend<double>> backend(Parts<double>& parts) const override { return make(parts); }

 private:
  template <class T>
  std::unique_ptr<Backend<T>> make(Parts<T>& parts) const {
    return std::make_unique<DevicePasses<T>>(device_, options_, parts);
  }
  std::shared_ptr<Device> device_;
  OffloadOptions options_;
};

}  // namespace

std::shared_ptr<const Offload> make_offload(std::shared_ptr<Device> device, const OffloadOptions& options) {
  return std::make_shared<DeviceOffload>(std::move(device), options);
}

}  // namespace unfold
