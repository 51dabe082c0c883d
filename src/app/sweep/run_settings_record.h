#pragma once
/// Records the settings of a run of a sweep or a reproduction, so that an interrupted run is resumed only with the same
/// settings.

#include <string>

namespace unfold {

/// Returns whether `folder` holds a checkpoint of a run with these settings, which can then be resumed. Otherwise
/// removes the run in the folder and records the settings of the new one in a file next to it (`folder`.begun). Throws
/// RuntimeFailure.
bool can_resume(const std::string& folder, const std::string& settings);

}  // namespace unfold
