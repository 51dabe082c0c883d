#pragma once
/// Where the results of a command end in a file, so that a command that was interrupted can continue them.
///
///   flush_results();
///   remember(result_position());                            // with the state of the command
///   if (remembered) continue_results(*remembered);          // after a restart, before the first result

#include <cstdint>
#include <optional>

#include "unfold/base/types.h"

namespace unfold {

/// The end of the results in a regular file that is written at its end.
struct ResultPosition {
  std::uint64_t device = 0, inode = 0;
  Index bytes = 0;
};
/// Where the results that were flushed end; nothing if standard output is not such a file.
std::optional<ResultPosition> result_position();
/// Call it before the first result. If the file contains bytes behind `position` already, the same bytes are not
/// written again: an interrupted command wrote them. From the first difference on, everything is written.
void continue_results(const ResultPosition& position);

}  // namespace unfold
