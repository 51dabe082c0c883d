#include "base/interruptible.h"

#include "unfold/base/error.h"
#include "unfold/base/signals.h"

namespace unfold {
namespace {

thread_local const std::atomic<bool>* innermost_flag = nullptr;
std::atomic<int> unsaved{0};

}  // namespace

Interruptible::Interruptible(const std::atomic<bool>* stop) : outer_(innermost_flag) { innermost_flag = stop; }
Interruptible::~Interruptible() { innermost_flag = outer_; }
const std::atomic<bool>* Interruptible::flag() { return innermost_flag; }

NothingToSave::NothingToSave() {
  ++unsaved;  // precedes the check below, so that it is set for any signal that arrives after the check
  if (!stop_requested()) return;
  --unsaved;
  throw InterruptedError("interrupted");
}

NothingToSave::~NothingToSave() { --unsaved; }
bool NothingToSave::any() noexcept { return unsaved > 0; }

}  // namespace unfold
