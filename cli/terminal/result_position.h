#pragma once
/// The position in an output file where the results of a command end, so that an interrupted command can continue them.
///
///   flush_results();
///   remember(result_position());                            // with the state of the command
///   if (remembered) continue_results(*remembered);          // after a restart, before the first result

#include <cstdint>
#include <optional>

#include "unfold/base/types.h"

namespace unfold {

/// A position at the end of the results in a regular file that is written at its end.
struct ResultPosition {
  std::uint64_t device = 0, inode = 0;
  Index bytes = 0;
};
/// Returns the end of the flushed results; std::nullopt if standard output is not a regular file that is written at its
/// end.
std::optional<ResultPosition> result_position();
/// Continues the results at `position`; call it before the first result. Bytes that an interrupted command already
/// wrote after `position` are not written again as long as they are equal; from the first difference on, everything is
/// written.
void continue_results(const ResultPosition& position);

}  // namespace unfold
