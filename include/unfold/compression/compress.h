#pragma once
/// Lossless compression with any predictor. `compress` writes a container; `decompress` restores the bytes.
///
///   CompressOptions options{.model = "cm:1"};
///   compress(source, sink, options);
///   decompress(container_source, sink, {});
///
/// Every block is decoded again and compared before it is written. Memory: one predictor (two when verifying) and a few
/// blocks, regardless of the length of the input.

#include <atomic>
#include <memory>
#include <string>

#include "unfold/compression/container.h"
#include "unfold/model/symbol_model.h"

namespace unfold {

struct CompressOptions {
  /// SPEC of a model that needs no training (cm, dna, ppm, ctw, mix or a recurrent network); with `trained`, the file
  /// name of the model.
  std::string model = {};
  std::shared_ptr<const SymbolModel> trained = {};  ///< a trained model; `file` then holds its bytes
  std::string file = {};
  bool embed = false;          ///< store the model file in the container
  bool learns = true;          ///< the trained model keeps learning from the data that it encodes
  std::string optimizer = {};  ///< optimizer of a network that learns; empty: its default
  Index window = 0;            ///< window of a network that learns; 0: its default
  std::string bytes = {};      ///< if `model` is a SPEC: the byte values that occur, in ascending order; empty: all 256
  Index block = 1 << 20;       ///< bytes per block
  bool independent = false;    ///< every block starts from the initial state, so that threads can share the work
  int threads = 1;             ///< does not affect the result
  bool verify = true;          ///< decode the output and compare
  const Key* key = nullptr;    ///< authenticates the container
  const std::atomic<bool>* stop = nullptr;
  std::function<void(Index)> progress = {};  ///< called with the number of bytes processed
};

struct CompressResult {
  Index bytes_in = 0, bytes_out = 0;
};

/// Throws VerificationError if the output does not decode to the input; UsageError for a model that does not support
/// the data; ModelError for a model whose predictions are not finite (DivergedError if it was learning);
/// InterruptedError.
CompressResult compress(const ByteSource& source, const ByteSink& sink, const CompressOptions& options);

/// Encodes parts of the container that `compress` writes with independent blocks (options.independent). Several
/// processes can share the work; `join_pieces` joins all parts in order into the identical container.
class PieceCompressor {
 public:
  /// Throws the errors of `compress`.
  PieceCompressor(ByteSource source, const CompressOptions& options);
  ~PieceCompressor();
  /// Encodes the blocks [begin, end) of the source; fewer at its end. Pieces must be requested in ascending order.
  std::string piece(Range blocks);
  /// Reads at most `blocks` blocks without encoding them and returns how many were read.
  Index skip(Index blocks);

 private:
  struct Parts;
  ByteSource source_;
  CompressOptions options_;
  std::unique_ptr<Parts> parts_;
};
/// `next` sets its argument to the next piece and returns true, or returns false after the last piece.
CompressResult join_pieces(const std::function<bool(std::string&)>& next, const ByteSink& sink,
                           const CompressOptions& options);

/// Limits on the resources that an archive may use. An archive of a hundred bytes can declare sizes that take gigabytes
/// and hours, and only complete decoding would reveal whether they are correct. The limits are checked before anything
/// is allocated or decoded.
struct DecompressLimits {
  Index memory = 0;  ///< approximate memory of the models in bytes; 0: 1 GiB plus 1024 times the archive
  Index output = 0;  ///< size of the output in bytes; 0: 1 MiB plus 65,536 times the bytes read so far
};

struct DecompressOptions {
  std::string name = "the compressed data";  ///< used in messages
  Index size = -1;                           ///< size of the archive; -1: unknown
  DecompressLimits limits = {};
  /// Returns the bytes of an external model file; called with its name and identity. Throws ModelError if there is
  /// none.
  std::function<std::string(const std::string& name, std::uint64_t identity)> find_model = {};
  int threads = 1;
  const Key* key = nullptr;  ///< accept only data that was written with this key
  const std::atomic<bool>* stop = nullptr;
  std::function<void(Index)> progress = {};
};

/// Throws VerificationError; ModelError; RuntimeFailure if the archive exceeds the limits.
CompressResult decompress(const ByteSource& source, const ByteSink& sink, const DecompressOptions& options);

}  // namespace unfold
