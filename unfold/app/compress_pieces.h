#pragma once
/// `compress --block` by several processes that share a folder: each codes pieces of the file, the first joins them.
/// The bytes are those of one process. What is finished stays beside the output until all is: the same command goes on
/// where processes were killed.

#include <string>

#include "unfold/coding/compress.h"
#include "unfold/processes/processes.h"
#include "unfold/runs/reporter.h"

namespace unfold {

struct SharedCompression {
  std::string input;             ///< a regular file
  std::string folder;            ///< of pieces; made, and removed at the end
  CompressOptions options = {};  ///< blocks start anew; threads: of this process
};

/// By all processes; the sink of the first alone is used, and its result counts. Throws as `compress`; UsageError in
/// all where processes have other options or another file than the first.
CompressResult compress_in_processes(const SharedCompression& work, const ByteSink& sink, Processes& processes,
                                     Reporter& reporter);

}  // namespace unfold
