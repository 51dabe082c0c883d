/// Replaces cuda_device.cpp in builds without CUDA.

#include "graph/device/cuda_device.h"
#include "unfold/base/error.h"

namespace unfold {

std::shared_ptr<Device> open_cuda_device(int) {
  throw RuntimeFailure(
      "this build has no CUDA support; rebuild with --preset cuda (needs the CUDA toolkit), or run on the CPU");
}

bool cuda_is_built() { return false; }

}  // namespace unfold
