#pragma once
/// NVIDIA GPUs. Implemented in cuda_device.cpp, or in no_cuda.cpp in builds without CUDA.

#include <memory>

#include "graph/device/device.h"

namespace unfold {

std::shared_ptr<Device> open_cuda_device(int number);
bool cuda_is_built();

}  // namespace unfold
