#pragma once
/// Ctrl-C during work on data with fields.

#include <functional>

#include "base/interruptible.h"
#include "unfold/base/error.h"
#include "work.h"

namespace unfold::python {

/// Like PythonReporter::run, for work that has no result until it is complete. After a signal, it ends at the start of
/// the next parallel region, of which there is at least one in each pass over a batch.
inline void run_interruptibly(PythonReporter& reporter, const std::function<void()>& work) {
  reporter.run([&] {
    const Interruptible within(reporter.stop());
    try {
      work();
    } catch (const BrokenOff&) {
      throw InterruptedError("interrupted");
    }
  });
}

}  // namespace unfold::python
