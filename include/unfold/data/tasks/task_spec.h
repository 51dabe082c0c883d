#pragma once
/// SPECs of tasks, such as `adding:100`, `temporal-order:length=100,bits=3`, `mnist:permuted=true`, and the list of
/// tasks.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/options/registry.h"
#include "unfold/data/tasks/tasks.h"

namespace unfold {

/// Throws UsageError for an unknown task or option (suggesting the nearest name), for an invalid value, and for mnist
/// without `folder`, the folder of its files. Throws DataError for files that are missing or damaged.
std::unique_ptr<Task> make_task(std::string_view spec, const std::string& folder = {});
/// Returns the SPEC with only the options that differ from the defaults, in the order of the table. Throws UsageError
/// like make_task.
std::string canonical_task(std::string_view spec);
/// Returns whether the task reads files. REQUIRES a valid SPEC.
bool task_needs_files(std::string_view spec);
bool is_task(std::string_view spec);

using TaskHelp = EntryHelp;
std::vector<TaskHelp> tasks();

}  // namespace unfold
