#pragma once
/// A device for tests on machines without one. Kernels are compiled by the system's C++ compiler, and their threads are
/// simulated by one thread. It is strict: memory is guarded, shared memory is initialized to NaN, every second launch
/// runs the threads in reverse order, and threads that deadlock are an error.

#include <memory>

#include "graph/device/device.h"

namespace unfold {

/// `processors`: the number of blocks that may run concurrently. `bytes`: the size of the memory.
std::shared_ptr<Device> simulated_device(Index processors = 4, std::size_t bytes = std::size_t{4} << 30);

}  // namespace unfold
