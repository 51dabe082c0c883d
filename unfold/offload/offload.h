#pragma once
/// Offloading: unfoldings whose passes run on a device.
///
///   network.offload = make_offload(open_device("cuda:0"), {.precision = DevicePrecision::tf32});
///
/// Two runs on one device give the same bytes; the host's bits are others, and so are those of another device. What a
/// device runs: chains of any lengths, carried state, dropout (by the host's masks), all passes, float and double.

#include <map>
#include <memory>
#include <string>

#include "unfold/devices/device.h"
#include "unfold/engine/backend.h"

namespace unfold {

/// Seconds of the device's own clock, added up; transfers are not in them.
struct DeviceTimes {
  double forward = 0, backward = 0;  ///< of passes that are recorded and replayed
  bool by_stage = false;             ///< then passes are not recorded, and stages are told apart
  std::map<std::string, double> stages = {};
};

struct OffloadOptions {
  DevicePrecision precision = DevicePrecision::exact;  ///< of products in float
  std::shared_ptr<DeviceTimes> times = nullptr;        ///< null: they are not wanted, and cost nothing
  bool loops = true;  ///< loops that allow it run as one kernel; false: step by step (tests)
};
std::shared_ptr<const Offload> make_offload(std::shared_ptr<Device> device, const OffloadOptions& options = {});

}  // namespace unfold
