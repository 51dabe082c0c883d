#pragma once
/// Counts of several processes together.

#include <memory>

#include "unfold/base/types.h"
#include "unfold/counting/count_stream.h"
#include "unfold/processes/processes.h"

namespace unfold {

/// By all processes, each with its own counts of keys of so many codes. In the first: a stream of the sums over all,
/// which the others send block by block while it is read, so that it has to be read to its end; in the others null,
/// after they have sent everything.
std::unique_ptr<CountStream> gather_counts(std::unique_ptr<CountStream> mine, Index codes, Processes& processes);

}  // namespace unfold
