#pragma once
/// SPECs of tasks: `adding:100`, `temporal-order:length=100,bits=3`, `mnist:permuted=true`. An explicit list.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/registry.h"
#include "unfold/tasks/tasks.h"

namespace unfold {

/// Throws UsageError: an unknown task or option (with the nearest name), a bad value; for mnist without `folder`, the
/// folder of its files, too. DataError: files that are missing or damaged.
std::unique_ptr<Task> make_task(std::string_view spec, const std::string& folder = {});
/// Only what differs from the defaults, in the order of the table. Throws UsageError as above.
std::string canonical_task(std::string_view spec);
/// Whether the task reads files. REQUIRES a valid SPEC.
bool task_needs_files(std::string_view spec);
bool is_task(std::string_view spec);

using TaskHelp = EntryHelp;
std::vector<TaskHelp> tasks();

}  // namespace unfold
