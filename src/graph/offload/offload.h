#pragma once
/// Offloading: unfolded networks whose passes run on a device.
///
///   network.offload = make_offload(open_device("cuda:0"), {.precision = DevicePrecision::tf32});
///
/// Results on one device are reproducible byte for byte, but are not bit-identical to the host or to other devices.
/// Chains of any lengths, carried state, dropout (with the masks of the host), all passes, float and double are
/// supported.

#include <map>
#include <memory>
#include <string>

#include "graph/device/device.h"
#include "graph/engine/backend.h"

namespace unfold {

/// Accumulated seconds on the device clock, excluding transfers.
struct DeviceTimes {
  double forward = 0, backward = 0;  ///< time in recorded and replayed passes
  bool by_stage = false;             ///< if true, passes are not recorded, and stages are timed separately
  std::map<std::string, double> stages = {};
};

struct OffloadOptions {
  DevicePrecision precision = DevicePrecision::exact;  ///< precision of float products
  std::shared_ptr<DeviceTimes> times = nullptr;        ///< null disables timing, which then has no overhead
  bool loops = true;  ///< supported loops run as one kernel; if false, step by step (for tests)
};
std::shared_ptr<const Offload> make_offload(std::shared_ptr<Device> device, const OffloadOptions& options = {});

}  // namespace unfold
