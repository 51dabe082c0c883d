#pragma once
/// `compress --block` in several processes that share a folder. Each process compresses pieces of the file; the first
/// process joins them. The result is byte-identical to the result of one process. Finished pieces stay next to the
/// output until all are done, so that the same command resumes after processes were killed.

#include <string>

#include "app/common/reporter.h"
#include "unfold/compression/compress.h"
#include "unfold/distributed/processes.h"

namespace unfold {

struct DistributedCompression {
  std::string input;             ///< a regular file
  std::string folder;            ///< folder for the pieces; created here and removed at the end
  CompressOptions options = {};  ///< blocks are independent; `threads` per process
};

/// Called by all processes. Only the sink and the result of the first process are used. Throws like `compress`, and
/// UsageError in all processes if the options or the input file of one process differ from the options or the input
/// file of the first one.
CompressResult compress_in_processes(const DistributedCompression& work, const ByteSink& sink, Processes& processes,
                                     Reporter& reporter);

}  // namespace unfold
