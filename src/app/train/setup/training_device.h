#pragma once
/// Internal: the device on which a call of `train` runs: a GPU, or the CPU.

#include <memory>
#include <string>

#include "app/common/reporter.h"
#include "app/settings/train_settings.h"
#include "graph/device/device.h"
#include "graph/offload/offload.h"
#include "unfold/base/formats/config.h"
#include "unfold/data/examples/specification.h"
#include "unfold/loss/network.h"

namespace unfold {

class TrainingDevice {
 public:
  /// The CPU.
  TrainingDevice() = default;
  /// Opens the device named in the settings, or uses `given` if the caller has opened it. Reports the device, or how
  /// the CPU handles --precision bf16. Throws like open_device.
  TrainingDevice(const TrainSettings& settings, const RunSettings& run, std::shared_ptr<Device> given,
                 Reporter& reporter);

  bool is_cpu() const { return device_ == nullptr; }
  /// Returns the name of the device, for the model card.
  std::string name() const { return device_->name(); }
  /// For the trainer; nullptr for the CPU.
  const std::shared_ptr<const Offload>& offload() const { return offload_; }

  /// Checks that the device can run the network, before anything is written. Throws UsageError.
  template <class T>
  void require(const Network<T>& network, const DataSpecification& data = {}) const;

 private:
  std::shared_ptr<Device> device_;
  std::shared_ptr<const Offload> offload_;
};

/// Returns whether a run that began with the settings `before` can be resumed with a different precision. This is
/// allowed if the run moves to or from a device, because the arithmetic changes anyway, but not between float and
/// double.
bool may_keep_precision(const Config& before, const TrainSettings& settings, const RunSettings& run);

}  // namespace unfold
