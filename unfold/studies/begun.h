#pragma once
/// Which settings a run of a study was begun with: only runs of the same settings go on where they were interrupted.

#include <string>

namespace unfold {

/// Whether `folder` holds a checkpoint of a run of these settings. If not, the run that it holds is removed, and that
/// one of these settings begins there is written down beside it (`folder`.begun). Throws RuntimeFailure.
bool goes_on(const std::string& folder, const std::string& settings);

}  // namespace unfold
