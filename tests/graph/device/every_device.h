#pragma once
/// The devices under test: the simulated one and a GPU, if the build supports it and the machine has one.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "graph/device/device.h"
#include "tests/graph/device/simulated_device.h"
#include "unfold/base/error.h"

namespace unfold {

class EveryDevice : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("simulated")) {
      device = simulated_device();
      return;
    }
    if (!has_device_support()) GTEST_SKIP() << "this build has no CUDA support";
    try {
      device = open_device(GetParam());
    } catch (const RuntimeFailure& reason) {
      GTEST_SKIP() << reason.what();
    }
  }

  template <class T>
  Address uploaded(const std::vector<T>& values) {
    const Address memory = device->allocate(values.size() * sizeof(T));
    device->upload(memory, values.data(), values.size() * sizeof(T));
    return memory;
  }
  template <class T>
  std::vector<T> downloaded(Address memory, std::size_t count) {
    std::vector<T> values(count);
    device->download(values.data(), memory, count * sizeof(T));
    return values;
  }
  int kernel(const std::string& source, const std::string& name) { return device->compile(source, {name}).at(0); }

  std::shared_ptr<Device> device;
};

}  // namespace unfold
