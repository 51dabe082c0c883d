#pragma once
/// Sums counts over several processes.

#include <memory>

#include "data/counts/count_stream.h"
#include "unfold/base/types.h"
#include "unfold/distributed/processes.h"

namespace unfold {

/// Collective: must be called by all processes, each with its own counts of keys of `codes` codes. The first process
/// gets a stream of the sums; the others send their counts block by block while it is read, so it must be read to the
/// end. The other processes get null after they have sent everything.
std::unique_ptr<CountStream> gather_counts(std::unique_ptr<CountStream> mine, Index codes, Processes& processes);

}  // namespace unfold
