#pragma once
/// Names of files in a run folder that only some models have.

namespace unfold {

/// What `train --update` needs of earlier logs (app/logs/log_update.h).
inline constexpr const char* kLogCountsFile = "counts.cbor";

}  // namespace unfold
