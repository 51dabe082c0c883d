#pragma once
/// Internal: the device that one call of train runs on, or the processor.

#include <memory>
#include <string>

#include "unfold/base/config.h"
#include "unfold/data/specification.h"
#include "unfold/devices/device.h"
#include "unfold/losses/network.h"
#include "unfold/offload/offload.h"
#include "unfold/runs/reporter.h"
#include "unfold/runs/train_settings.h"

namespace unfold {

class TrainingDevice {
 public:
  /// The processor.
  TrainingDevice() = default;
  /// What the settings name; `given`, where a caller has one at hand, in its place. Says which one it is, or what the
  /// processor makes of --precision bf16. Throws as open_device.
  TrainingDevice(const TrainSettings& settings, const RunSettings& run, std::shared_ptr<Device> given,
                 Reporter& reporter);

  bool is_processor() const { return device_ == nullptr; }
  /// Of the device, for the card of the model.
  std::string name() const { return device_->name(); }
  /// For the trainer; nullptr: the processor.
  const std::shared_ptr<const Offload>& offload() const { return offload_; }

  /// Whether it runs the network at all: asked before anything is written. Throws UsageError.
  template <class T>
  void require(const Network<T>& network, const DataSpecification& data = {}) const;

 private:
  std::shared_ptr<Device> device_;
  std::shared_ptr<const Offload> offload_;
};

/// Whether a run that began with the settings `before` may go on with others' precision: where it leaves a device, or
/// comes to one, all is of another arithmetic anyway, but numbers keep their size.
bool may_keep_precision(const Config& before, const TrainSettings& settings, const RunSettings& run);

}  // namespace unfold
