#pragma once
/// How much memory there is to take.

#include <cstddef>

#include "unfold/base/control_groups.h"

namespace unfold {

/// Bytes of memory that this process can still take: what the machine has left, less where a control group or a limit
/// of the process allows less.
std::size_t available_memory();

/// Bytes that control groups leave a process, by the fullest that it is in; files that a group could forget count as
/// free. The largest number where there is no limit, and where there is nothing to be read.
std::size_t memory_left_by(const ControlGroups& groups);

}  // namespace unfold
