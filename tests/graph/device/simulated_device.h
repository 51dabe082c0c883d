#pragma once
/// A device for tests on machines without one: kernels are compiled by the system's C++ compiler, and their threads are
/// simulated by one thread. It is strict: memory is guarded, shared memory begins as what is not a number, every second
/// launch runs the threads in the opposite order, threads that wait for each other for ever are an error.

#include <memory>

#include "graph/device/device.h"

namespace unfold {

/// `processors`: how many blocks may run together. `bytes`: of its memory.
std::shared_ptr<Device> simulated_device(Index processors = 4, std::size_t bytes = std::size_t{4} << 30);

}  // namespace unfold
