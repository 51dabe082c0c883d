#include "unfold/compression/compress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <vector>

#include "base/threads/start_thread.h"
#include "compression/byte_symbols.h"
#include "compression/symbol_coder.h"
#include "model/adaptive/learning.h"
#include "model/context_mixing/context_mixing.h"
#include "model/finite.h"
#include "unfold/base/error.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

/// The model of a container: its alphabet and a factory for predictors in the initial state. Equal headers give equal
/// predictors.
class Codec {
 public:
  Codec(ContainerHeader header, std::shared_ptr<const SymbolModel> trained)
      : header_(std::move(header)),
        trained_(std::move(trained)),
        alphabet_(trained_ ? trained_->alphabet() : bytes_alphabet(header_.bytes)) {}

  const Alphabet& alphabet() const { return alphabet_; }
  /// Approximate size in bytes of a predictor in the initial state; for a network: weights, gradients and optimizer
  /// state.
  double memory() const {
    constexpr double kCopies = 8;
    return trained_ ? kCopies * sizeof(float) * static_cast<double>(trained_->parameter_count())
                    : learner_memory(header_.model, alphabet_);
  }
  std::unique_ptr<Predictor> predictor() const {
    const LearningOptions learning{.optimizer = header_.optimizer, .window = header_.window};
    if (!trained_) return make_learner(header_.model, alphabet_, learning);
    if (header_.learns) return learning_predictor(*trained_, learning);
    return trained_->archive_predictor();
  }

 private:
  static Alphabet bytes_alphabet(const std::string& bytes) {
    if (bytes.empty()) return Alphabet::all_bytes();
    std::vector<std::string> texts;
    for (const char byte : bytes) texts.emplace_back(1, byte);
    return {SymbolKind::bytes, std::move(texts)};
  }

  ContainerHeader header_;
  std::shared_ptr<const SymbolModel> trained_;
  Alphabet alphabet_;
};

/// Codes consecutive blocks with one predictor, which continues to learn. The writer and the reader each have one.
class BlockCoder {
 public:
  explicit BlockCoder(const Codec& codec) : alphabet_(codec.alphabet()), predictor_(codec.predictor()) {}

  ContainerBlock encode(std::string_view bytes) {
    SymbolText text = to_symbols(alphabet_, bytes);
    SymbolEncoder encoder(*predictor_);
    for (const Symbol symbol : text.symbols) encoder.encode(symbol);
    ContainerBlock block{.bytes = static_cast<Index>(bytes.size()),
                         .symbols = static_cast<Index>(text.symbols.size()),
                         .content_crc = crc32_of(bytes),
                         .code = encoder.finish(),
                         .side = {}};
    if (text.corrections.empty()) return block;
    for (std::size_t left = text.corrections.size();; left >>= 7) {  // the length comes first
      block.side += static_cast<char>(left >= 0x80 ? left | 0x80 : left);
      if (left < 0x80) break;
    }
    SymbolEncoder side(side_predictor());
    for (const char byte : text.corrections) side.encode(static_cast<std::uint8_t>(byte));
    block.side += side.finish();
    return block;
  }

  /// Throws VerificationError if the decoded contents differ from the original.
  std::string decode(const ContainerBlock& block) {
    SymbolText text;
    SymbolDecoder decoder(*predictor_, block.code);
    text.symbols.reserve(static_cast<std::size_t>(std::min<Index>(block.symbols, 1 << 20)));
    for (Index i = 0; i < block.symbols; ++i) text.symbols.push_back(decoder.decode());
    if (!block.side.empty()) text.corrections = decode_side(block.side, block.bytes);
    std::string bytes = to_bytes(alphabet_, text);
    if (static_cast<Index>(bytes.size()) != block.bytes || crc32_of(bytes) != block.content_crc)
      throw VerificationError(
          "a block does not decode to the original data: the predictions of the model differ from those of the writer; "
          "decompress with the version of unfold that compressed it");
    return bytes;
  }

 private:
  /// Upper bound for the corrections of `contents` bytes: each correction has at least one byte and two numbers of at
  /// most five bytes each.
  std::string decode_side(std::string_view side, Index contents) {
    std::uint64_t size = 0;
    for (int shift = 0; !side.empty(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(side.front());
      side.remove_prefix(1);
      if (shift < 35) size |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) break;
    }
    if (size > 11 * static_cast<std::uint64_t>(contents))
      throw VerificationError("the length of the corrections of a block is invalid");
    SymbolDecoder decoder(side_predictor(), side);
    std::string bytes;
    for (std::uint64_t i = 0; i < size; ++i) bytes += static_cast<char>(decoder.decode());
    return bytes;
  }

  Predictor& side_predictor() {
    if (!side_)
      side_ = std::make_unique<ContextMixing>(
          256, ContextMixingOptions{.contexts = MixingContexts::few, .memory = Index{1} << 20});
    return *side_;
  }

  const Alphabet& alphabet_;
  std::unique_ptr<Predictor> predictor_, side_;
};

void check(const std::string& decoded, std::string_view bytes) {
  if (decoded != bytes) throw VerificationError("the compressed data does not decode to the input; no output was kept");
}

void poll(const std::atomic<bool>* stop) {
  if (stop != nullptr && *stop) throw InterruptedError("interrupted; no output was written");
}

/// Cuts the source into blocks.
class BlockReader {
 public:
  BlockReader(const ByteSource& source, const Alphabet& alphabet, Index block)
      : source_(source), alphabet_(alphabet), block_(static_cast<std::size_t>(block)) {}
  /// Returns an empty string at the end.
  std::string next() {
    std::string bytes = std::move(left_);
    left_.clear();
    bytes += read_up_to(source_, block_ - bytes.size());
    if (bytes.size() < block_) return bytes;
    const std::size_t end = block_end(alphabet_, bytes);
    left_ = bytes.substr(end);
    bytes.resize(end);
    return bytes;
  }

 private:
  const ByteSource& source_;
  const Alphabet& alphabet_;
  std::size_t block_;
  std::string left_;
};

/// Codes the blocks one after another with one model; a second thread decodes each block while the next one is coded.
void compress_chain(BlockReader& reader, const Codec& codec, ContainerWriter& writer, const CompressOptions& options,
                    CompressResult& result) {
  BlockCoder coder(codec);
  std::unique_ptr<BlockCoder> checker = options.verify ? std::make_unique<BlockCoder>(codec) : nullptr;
  struct Pending {
    std::string bytes;
    ContainerBlock block;
  };
  std::unique_ptr<Pending> pending;
  std::future<void> checked;
  const auto settle = [&] {
    if (!pending) return;
    if (checked.valid()) checked.get();
    writer.write(pending->block);
    result.bytes_in += pending->block.bytes;
    pending.reset();
    if (options.progress) options.progress(result.bytes_in);
  };
  for (std::string bytes = reader.next(); !bytes.empty(); bytes = reader.next()) {
    poll(options.stop);
    auto next = std::make_unique<Pending>();
    next->block = coder.encode(bytes);
    next->bytes = std::move(bytes);
    settle();
    pending = std::move(next);
    if (checker)
      checked = start_thread([&] {
        return std::async(options.threads > 1 ? std::launch::async : std::launch::deferred,
                          [&, at = pending.get()] { check(checker->decode(at->block), at->bytes); });
      });
  }
  settle();
}

/// Runs work(i) for every i < n on a separate thread; rethrows the first error after all threads have finished.
template <class Work>
void parallel_for_each(std::size_t n, Work&& work) {
  std::vector<std::future<void>> running;
  for (std::size_t i = 1; i < n; ++i)
    running.push_back(start_thread([&] { return std::async(std::launch::async, [&work, i] { work(i); }); }));
  std::exception_ptr error;
  const auto run = [&](auto&& what) {
    try {
      what();
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  };
  if (n > 0) run([&] { work(0); });
  for (std::future<void>& one : running) run([&] { one.get(); });
  if (error) std::rethrow_exception(error);
}

/// Codes independent blocks, each on a separate thread.
std::vector<ContainerBlock> code_independent(const std::vector<std::string>& bytes, const Codec& codec, bool verify) {
  std::vector<ContainerBlock> blocks(bytes.size());
  parallel_for_each(bytes.size(), [&](std::size_t i) {
    blocks[i] = BlockCoder(codec).encode(bytes[i]);
    if (verify) check(BlockCoder(codec).decode(blocks[i]), bytes[i]);
  });
  return blocks;
}

/// Returns the next blocks of the source: at most `most`, fewer at its end.
std::vector<std::string> next_blocks(BlockReader& reader, Index most) {
  std::vector<std::string> blocks;
  while (static_cast<Index>(blocks.size()) < most) {
    std::string bytes = reader.next();
    if (bytes.empty()) break;
    blocks.push_back(std::move(bytes));
  }
  return blocks;
}

void compress_apart(BlockReader& reader, const Codec& codec, ContainerWriter& writer, const CompressOptions& options,
                    CompressResult& result) {
  for (;;) {
    poll(options.stop);
    const std::vector<std::string> bytes = next_blocks(reader, options.threads);
    if (bytes.empty()) return;
    for (const ContainerBlock& block : code_independent(bytes, codec, options.verify)) {
      writer.write(block);
      result.bytes_in += block.bytes;
    }
    if (options.progress) options.progress(result.bytes_in);
  }
}

void require_streams(std::string_view who, bool source, bool sink) {
  if (!source) throw UsageError(fmt::format("{}: the source is empty; pass a function that reads bytes", who));
  if (!sink) throw UsageError(fmt::format("{}: the sink is empty; pass a function that accepts bytes", who));
}

ContainerHeader header_of(const CompressOptions& options) {
  if (options.block < 1 || options.block > kMostBlock)
    throw UsageError(fmt::format("block size {} must be from 1 to {} bytes", options.block, kMostBlock));
  if (options.threads < 1) throw UsageError(fmt::format("compress: {} threads; at least 1 is needed", options.threads));
  if (options.window < 0)
    throw UsageError(fmt::format("compress: a window cannot have {} symbols; 0 selects the default", options.window));
  ContainerHeader header{.learns = options.learns,
                         .optimizer = options.optimizer,
                         .window = options.window,
                         .bytes = options.bytes,
                         .block = options.block,
                         .independent = options.independent};
  if (options.trained) {
    header.source = options.embed ? ModelSource::embedded : ModelSource::external;
    header.model = options.embed ? options.file : options.model;
    header.identity = identity_of(options.file);
  } else {
    header.model = canonical_learner(options.model);
  }
  return header;
}

/// The resource limits of an archive, checked before memory is allocated or work is done.
class Budget {
 public:
  explicit Budget(const DecompressOptions& options) : options_(options) {}

  /// Returns how many models of this size may exist at the same time, at most `most`. Throws if there is not enough
  /// memory for one.
  int models(double bytes, int most) const {
    constexpr double kLeast = 1024.0 * 1024 * 1024, kShare = 1024;
    const double limit = options_.limits.memory > 0
                             ? static_cast<double>(options_.limits.memory)
                             : kLeast + kShare * static_cast<double>(std::max<Index>(options_.size, 0));
    if (bytes > limit)
      throw RuntimeFailure(
          fmt::format("{}: its model needs about {} MiB of memory, more than the limit of {} MiB; if you trust its "
                      "origin, raise the limit with --memory-limit {}M",
                      options_.name, mebibytes(bytes), mebibytes(limit), mebibytes(bytes)));
    return static_cast<int>(std::clamp(limit / std::max(bytes, 1.0), 1.0, static_cast<double>(most)));
  }

  /// Checks the total output of `bytes` bytes for an archive of which `read` bytes have been read so far.
  void output(Index bytes, Index read) const {
    constexpr Index kLeast = Index{1} << 20, kRatio = Index{1} << 16;
    const Index limit = options_.limits.output > 0 ? options_.limits.output : kLeast + kRatio * read;
    if (bytes > limit)
      throw RuntimeFailure(
          fmt::format("{}: {} bytes claim to decode to {} bytes or more, beyond the limit of {}; if you trust its "
                      "origin, raise the limit with --max-output",
                      options_.name, read, bytes, limit));
  }

 private:
  static Index mebibytes(double bytes) { return static_cast<Index>(std::ceil(std::min(bytes, 1e18) / (1 << 20))); }
  const DecompressOptions& options_;
};

/// Returns the trained model of a container; null if the container uses a model without training.
std::shared_ptr<const SymbolModel> trained_model(const ContainerHeader& header, const DecompressOptions& options) {
  if (header.source == ModelSource::spec) return nullptr;
  if (header.source == ModelSource::embedded)
    return symbol_model_from_bytes(header.model, options.name + " (the embedded model)");
  if (!options.find_model)
    throw ModelError(fmt::format("{} was compressed with the model {}, which was not given; pass this model",
                                 options.name, header.model));
  std::string file = options.find_model(header.model, header.identity);
  if (identity_of(file) != header.identity)
    throw ModelError(fmt::format("{} was compressed with a different model, named {}", options.name, header.model));
  return symbol_model_from_bytes(std::move(file), header.model);
}

/// Reads, decodes and writes the blocks of a container.
class Decompressor {
 public:
  Decompressor(const ByteSource& source, const DecompressOptions& options)
      : options_(options), budget_(options), reader_(source, options.name, options.key) {
    const ContainerHeader& header = reader_.header();
    try {
      codec_ = std::make_unique<const Codec>(header, trained_model(header, options));
      side_by_side_ = budget_.models(codec_->memory(), header.independent ? options.threads : 1);
      // For independent blocks: checks that the model can be constructed.
      chain_ = std::make_unique<BlockCoder>(*codec_);
    } catch (const UsageError& error) {
      throw ModelError(fmt::format("{}: its model cannot be built: {}", options.name, error.what()));
    }
    if (header.independent) chain_.reset();
  }

  CompressResult run(const ByteSink& sink) {
    while (!ended_) {
      poll(options_.stop);
      const std::vector<ContainerBlock> blocks = next_blocks();
      for (const std::string& bytes : decode(blocks)) {
        sink(bytes);
        written_ += static_cast<Index>(bytes.size());
      }
      if (options_.progress) options_.progress(written_);
    }
    return {.bytes_in = reader_.bytes(), .bytes_out = written_};
  }

 private:
  std::vector<ContainerBlock> next_blocks() {
    std::vector<ContainerBlock> blocks;
    Index bytes = written_;
    for (ContainerBlock block; static_cast<int>(blocks.size()) < side_by_side_;) {
      ended_ = !reader_.next(block);
      if (ended_) break;
      bytes += block.bytes;
      budget_.output(bytes, reader_.bytes());
      blocks.push_back(std::move(block));
    }
    return blocks;
  }

  std::vector<std::string> decode(const std::vector<ContainerBlock>& blocks) {
    std::vector<std::string> bytes(blocks.size());
    parallel_for_each(blocks.size(), [&](std::size_t i) {
      bytes[i] = chain_ ? chain_->decode(blocks[i]) : BlockCoder(*codec_).decode(blocks[i]);
    });
    return bytes;
  }

  const DecompressOptions& options_;
  Budget budget_;
  ContainerReader reader_;
  std::unique_ptr<const Codec> codec_;
  std::unique_ptr<BlockCoder> chain_;  ///< coder of all blocks; null if the blocks are independent
  int side_by_side_ = 1;
  Index written_ = 0;
  bool ended_ = false;
};

[[noreturn]] void fail_not_finite(const CompressOptions& options, const NotFiniteError& error) {
  if (options.trained) fail_not_finite(*options.trained, options.model, error.position(), options.learns);
  throw DivergedError(fmt::format("{} diverged while it was learning: {}; lower the learning rate with --optimizer",
                                  options.model, error.what()));
}

}  // namespace

CompressResult compress(const ByteSource& source, const ByteSink& sink, const CompressOptions& options) {
  require_streams("compress", source != nullptr, sink != nullptr);
  const ContainerHeader header = header_of(options);
  const Codec codec(header, options.trained);
  ContainerWriter writer(sink, header, options.key);
  BlockReader reader(source, codec.alphabet(), options.block);
  CompressResult result;
  try {
    if (options.independent)
      compress_apart(reader, codec, writer, options, result);
    else
      compress_chain(reader, codec, writer, options, result);
  } catch (const NotFiniteError& error) {
    fail_not_finite(options, error);
  }
  writer.end();
  result.bytes_out = writer.bytes();
  return result;
}

struct PieceCompressor::Parts {
  Parts(const ByteSource& source, const CompressOptions& options)
      : codec(header_of(options), options.trained), reader(source, codec.alphabet(), options.block) {}
  Codec codec;
  BlockReader reader;
  Index next = 0;  ///< next block to read
};

PieceCompressor::PieceCompressor(ByteSource source, const CompressOptions& options)
    : source_(std::move(source)), options_(options) {
  require_streams("compress", source_ != nullptr, true);
  parts_ = std::make_unique<Parts>(source_, options_);
}

PieceCompressor::~PieceCompressor() = default;

Index PieceCompressor::skip(Index blocks) {
  Index skipped = 0;
  while (skipped < blocks && !parts_->reader.next().empty()) ++skipped;
  parts_->next += skipped;
  return skipped;
}

std::string PieceCompressor::piece(Range blocks) {
  poll(options_.stop);
  if (blocks.begin < parts_->next || blocks.end < blocks.begin)
    throw UsageError(
        fmt::format("compress: blocks {} to {} after block {}: pieces must be requested in ascending order",
                    blocks.begin, blocks.end, parts_->next));
  skip(blocks.begin - parts_->next);
  const std::vector<std::string> bytes = next_blocks(parts_->reader, blocks.size());
  parts_->next += static_cast<Index>(bytes.size());
  std::string result;
  ContainerWriter writer([&](std::string_view written) { result += written; }, {.model = "piece", .independent = true},
                         options_.key);
  try {
    for (const ContainerBlock& block : code_independent(bytes, parts_->codec, options_.verify)) writer.write(block);
  } catch (const NotFiniteError& error) {
    fail_not_finite(options_, error);
  }
  writer.end();
  return result;
}

CompressResult join_pieces(const std::function<bool(std::string&)>& next, const ByteSink& sink,
                           const CompressOptions& options) {
  require_streams("join_pieces", next != nullptr, sink != nullptr);
  ContainerWriter writer(sink, header_of(options), options.key);
  CompressResult result;
  for (std::string piece; next(piece);) {
    std::size_t read = 0;
    const ByteSource source = [&](char* out, std::size_t size) {
      const std::size_t taken = piece.copy(out, size, read);
      read += taken;
      return taken;
    };
    ContainerReader reader(source, "a piece of the compressed data", options.key);
    for (ContainerBlock block; reader.next(block);) {
      writer.write(block);
      result.bytes_in += block.bytes;
    }
  }
  writer.end();
  result.bytes_out = writer.bytes();
  return result;
}

CompressResult decompress(const ByteSource& source, const ByteSink& sink, const DecompressOptions& options) {
  require_streams("decompress", source != nullptr, sink != nullptr);
  if (options.threads < 1)
    throw UsageError(fmt::format("decompress: {} threads; at least 1 is needed", options.threads));
  if (options.limits.memory < 0 || options.limits.output < 0 || options.size < -1)
    throw UsageError("decompress: limits must be at least 0, and the size at least 0, or -1 if it is unknown");
  return Decompressor(source, options).run(sink);
}

}  // namespace unfold
