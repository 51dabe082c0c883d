#include "app/train/setup/training_device.h"

#include <fmt/format.h>

#include <utility>

#include "unfold/base/error.h"
#include "unfold/base/threads/team.h"
#include "unfold/numerics/bf16.h"

namespace unfold {
namespace {

DevicePrecision precision_on_device(const TrainSettings& settings) {
  if (*settings.precision == "bf16") return DevicePrecision::bf16;
  return *settings.precision == "tf32" ? DevicePrecision::tf32 : DevicePrecision::exact;
}

/// Reports which arithmetic this processor uses for bf16.
void report_precision(const TrainSettings& settings, Reporter& reporter) {
  if (*settings.precision != "bf16") return;
  if (bf16_unit() == Bf16Unit::none)
    reporter.warn("--precision bf16: this processor does not support AVX-512-BF16; training uses float");
  else
    reporter.remark(fmt::format("matrix products in training use {}, everything else float", bf16_unit_name()));
}

}  // namespace

TrainingDevice::TrainingDevice(const TrainSettings& settings, const RunSettings& run, std::shared_ptr<Device> given,
                               Reporter& reporter) {
  if (!run.device) {
    report_precision(settings, reporter);
    return;
  }
  device_ = given != nullptr ? std::move(given) : open_device(*run.device);
  offload_ = make_offload(device_, {.precision = precision_on_device(settings)});
  reporter.remark(fmt::format("on {}, products in {}", device_->name(), *settings.precision));
}

template <class T>
void TrainingDevice::require(const Network<T>& network, const DataSpecification& data) const {
  if (is_cpu()) return;
  if (data.trees || data.grids)
    throw UsageError(fmt::format("devices do not support {} yet; leave out --device", data.trees ? "trees" : "grids"));
  Team one(1);
  const Unfolding<T> tried(network.plan, one, Precision::exact, offload_);
}

bool may_keep_precision(const Config& before, const TrainSettings& settings, const RunSettings& run) {
  if (!run.device && before.find(name_of(&RunSettings::device)) == nullptr) return false;
  const bool was_double = before.find(name_of(&TrainSettings::precision))->value == ConfigValue(std::string("double"));
  return was_double == (*settings.precision == "double");
}

template void TrainingDevice::require(const Network<float>&, const DataSpecification&) const;
template void TrainingDevice::require(const Network<double>&, const DataSpecification&) const;

}  // namespace unfold
