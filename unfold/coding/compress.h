#pragma once
/// Lossless compression with any predictor: bytes in, container out, and back.
///
///   CompressOptions options{.model = "cm:18"};
///   compress(source, sink, options);
///   decompress(container_source, sink, {});
///
/// What is written is decoded again and compared before it leaves, block by block. Memory: one predictor (two when
/// verified) and a few blocks, however long the input.

#include <atomic>
#include <memory>
#include <string>

#include "unfold/capabilities/symbol_model.h"
#include "unfold/coding/container.h"

namespace unfold {

struct CompressOptions {
  std::string model = {};  ///< SPEC of a model that learns from nothing (models/learning.h); or, with `file`, its name
  std::shared_ptr<const SymbolModel> trained = {};  ///< a trained model; then `file` holds its bytes
  std::string file = {};
  bool embed = false;          ///< put the model file into the container
  bool learns = true;          ///< the trained model goes on learning while it reads
  std::string optimizer = {};  ///< of a network that learns; empty: its default
  Index window = 0;            ///< of a network that learns; 0: its default
  std::string bytes = {};      ///< a SPEC: the bytes that occur, in rising order; empty: all 256
  Index block = 1 << 20;       ///< bytes per block
  bool independent = false;    ///< every block starts anew, so that threads can share the work
  int threads = 1;             ///< no influence on the result
  bool verify = true;          ///< decode what was written and compare
  const Key* key = nullptr;    ///< authenticate what is written
  const std::atomic<bool>* stop = nullptr;
  std::function<void(Index)> progress = {};  ///< bytes done
};

struct CompressResult {
  Index bytes_in = 0, bytes_out = 0;
};

/// Throws VerificationError when what was coded does not decode to what was read; UsageError for a model that does not
/// fit; ModelError for one whose predictions are not finite, DivergedError when it was learning; InterruptedError.
CompressResult compress(const ByteSource& source, const ByteSink& sink, const CompressOptions& options);

/// Codes pieces of what `compress` makes where blocks start anew (options.independent): several processes share them,
/// and whoever joins all pieces in order (`join_pieces`) has the same container.
class PieceCompressor {
 public:
  /// Errors are those of `compress`.
  PieceCompressor(ByteSource source, const CompressOptions& options);
  ~PieceCompressor();
  /// Blocks [begin, end) of the source, or as many of them as there are. Pieces are asked for in rising order.
  std::string piece(Range blocks);
  /// Reads on without coding; how many blocks there were, at most so many.
  Index skip(Index blocks);

 private:
  struct Parts;
  ByteSource source_;
  CompressOptions options_;
  std::unique_ptr<Parts> parts_;
};
/// `next` sets the next piece; false: there is none.
CompressResult join_pieces(const std::function<bool(std::string&)>& next, const ByteSink& sink,
                           const CompressOptions& options);

/// What an archive may cost: a hundred bytes may ask for gigabytes and hours, and only the end of the work would show
/// whether they mean it. What is claimed is checked before anything is allocated or decoded.
struct DecompressLimits {
  Index memory = 0;  ///< bytes, about, of the models; 0: 1 GiB and 1024 times the archive
  Index output = 0;  ///< bytes; 0: 1 MiB and 65,536 times what was read so far
};

struct DecompressOptions {
  std::string name = "the compressed data";  ///< for messages
  Index size = -1;                           ///< of the archive; -1: not known
  DecompressLimits limits = {};
  /// Finds the file of an external model; called with its name and identity. Throws ModelError when there is none.
  std::function<std::string(const std::string& name, std::uint64_t identity)> find_model = {};
  int threads = 1;
  const Key* key = nullptr;  ///< read only what was written with it
  const std::atomic<bool>* stop = nullptr;
  std::function<void(Index)> progress = {};
};

/// Throws VerificationError, ModelError, RuntimeFailure for what is beyond the limits.
CompressResult decompress(const ByteSource& source, const ByteSink& sink, const DecompressOptions& options);

}  // namespace unfold
