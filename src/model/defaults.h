#pragma once
/// Default settings of the command: those with the best result on ordinary text within minutes on a small machine
/// (docs/performance.md). This is the only place where they are defined.

#include "base/types.h"

namespace unfold {

inline constexpr const char* kDefaultModel = "gru:448,reset=after,dropout=0.15";
inline constexpr const char* kDefaultOptimizer = "adam:rate=0.006,clip=1,schedule=cosine,warmup=100";
/// For running text with a budget in minutes: this, or fewer units with a higher learning rate
/// (app/settings/default_model.h).
inline constexpr const char* kTimedModel = "gru:448,reset=after,gated-state=true,dropout=0.15";
inline constexpr const char* kTimedOptimizer = "adamw:rate={},clip=1,decay=0.05,schedule=cosine,warmup=100";
inline constexpr double kTimedRate = 0.006;
inline constexpr Index kDefaultWindow = 64;
inline constexpr Index kDefaultBatch = 16;
inline constexpr double kDefaultEpochs = 10;  ///< if no budget is given

}  // namespace unfold
