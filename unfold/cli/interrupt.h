#pragma once
/// SIGINT and SIGTERM as a flag: the first one asks for an end in good order, a second one ends the process at once.

#include <atomic>

namespace unfold {

/// From here on, until the end of the process.
const std::atomic<bool>& catch_interrupts();

}  // namespace unfold
