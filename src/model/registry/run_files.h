#pragma once
/// Names of files in a run folder that only some models have.

namespace unfold {

/// What `train --update` needs of earlier logs (app/logs/log_update.h).
inline constexpr const char* kLogCountsFile = "counts.cbor";
/// The errors of the models that were compared before the run, which a resumed run stores in its model again (JSON).
inline constexpr const char* kSelectionFile = "selection.json";

}  // namespace unfold
