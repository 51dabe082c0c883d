#pragma once
/// Reference-counted device memory, released with its last owner. Internal to offload/.

#include <memory>
#include <utility>

#include "graph/device/device.h"

namespace unfold {

class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept { swap(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceMemory() { release(); }

  /// Ensures a capacity of at least `bytes`. Returns true if the memory was reallocated; its contents are then lost.
  bool reserve(const std::shared_ptr<Device>& device, std::size_t bytes) {
    if (bytes <= bytes_ && device_ != nullptr) return false;
    release();
    device_ = device;
    address_ = device->allocate(bytes > 0 ? bytes : 8);
    bytes_ = bytes;
    return true;
  }
  Address address() const { return address_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void release() {
    if (device_ != nullptr) device_->release(address_);
    device_ = nullptr;
    address_ = 0;
    bytes_ = 0;
  }
  void swap(DeviceMemory& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
  }
  std::shared_ptr<Device> device_;
  Address address_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace unfold
