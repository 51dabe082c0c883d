#pragma once
/// Starts threads, with an error of the library if the system cannot create them. Internal to the library.

#include <string>
#include <system_error>

#include "unfold/base/error.h"

namespace unfold {

/// Returns the result of `start`, which starts a thread. Throws RuntimeFailure if the thread cannot be created: the
/// system's own message is "Resource temporarily unavailable".
template <class Start>
auto start_thread(const Start& start) {
  try {
    return start();
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again)
      throw RuntimeFailure(std::string("a thread cannot be started: ") + error.what());
    throw RuntimeFailure(
        "the system cannot create more threads (a limit of this user or container: ulimit -u); use fewer with "
        "--threads");
  }
}

}  // namespace unfold
