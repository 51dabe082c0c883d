#include "unfold/coding/compress.h"

#include <fmt/format.h>

#include <future>
#include <vector>

#include "unfold/base/error.h"
#include "unfold/classical/context_mixing.h"
#include "unfold/coding/byte_symbols.h"
#include "unfold/coding/symbol_coder.h"
#include "unfold/models/learning.h"
#include "unfold/models/registry.h"

namespace unfold {
namespace {

/// The model of a container: its alphabet, and how a predictor before the first symbol is made. Equal headers give
/// equal predictors.
class Codec {
 public:
  Codec(ContainerHeader header, std::shared_ptr<const SymbolModel> trained)
      : header_(std::move(header)),
        trained_(std::move(trained)),
        alphabet_(trained_ ? trained_->alphabet() : bytes_alphabet(header_.bytes)) {}

  const Alphabet& alphabet() const { return alphabet_; }
  std::unique_ptr<Predictor> predictor() const {
    const LearningOptions learning{.optimizer = header_.optimizer, .window = header_.window};
    if (!trained_) return make_learner(header_.model, alphabet_, learning);
    if (header_.learns) return learning_predictor(*trained_, learning);
    std::unique_ptr<Predictor> predictor = trained_->predictor();
    predictor->set_learning(false);
    return predictor;
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

/// What a sequence of blocks has learnt so far: one at the writer's end, one at the reader's.
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
    for (std::size_t left = text.corrections.size();; left >>= 7) {  // their length comes first
      block.side += static_cast<char>(left >= 0x80 ? left | 0x80 : left);
      if (left < 0x80) break;
    }
    SymbolEncoder side(side_predictor());
    for (const char byte : text.corrections) side.encode(static_cast<std::uint8_t>(byte));
    block.side += side.finish();
    return block;
  }

  /// Throws VerificationError when the contents are not those that were compressed.
  std::string decode(const ContainerBlock& block) {
    SymbolText text;
    SymbolDecoder decoder(*predictor_, block.code);
    text.symbols.reserve(static_cast<std::size_t>(std::min<Index>(block.symbols, 1 << 20)));
    for (Index i = 0; i < block.symbols; ++i) text.symbols.push_back(decoder.decode());
    if (!block.side.empty()) text.corrections = decode_side(block.side);
    std::string bytes = to_bytes(alphabet_, text);
    if (static_cast<Index>(bytes.size()) != block.bytes || crc32_of(bytes) != block.content_crc)
      throw VerificationError(
          "a block does not decode to what was compressed: the model here predicts otherwise than the one that wrote "
          "it; decompress with the version of unfold that compressed");
    return bytes;
  }

 private:
  std::string decode_side(std::string_view side) {
    std::uint64_t size = 0;
    for (int shift = 0; !side.empty(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(side.front());
      side.remove_prefix(1);
      if (shift < 35) size |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) break;
    }
    if (size > 4 * static_cast<std::uint64_t>(kMostBlock))
      throw VerificationError("the length of the corrections of a block makes no sense");
    SymbolDecoder decoder(side_predictor(), side);
    std::string bytes;
    for (std::uint64_t i = 0; i < size; ++i) bytes += static_cast<char>(decoder.decode());
    return bytes;
  }

  Predictor& side_predictor() {
    if (!side_) side_ = std::make_unique<ContextMixing>(256, ContextMixingOptions{MixingLevel::fast, 14});
    return *side_;
  }

  const Alphabet& alphabet_;
  std::unique_ptr<Predictor> predictor_, side_;
};

void check(const std::string& decoded, std::string_view bytes) {
  if (decoded != bytes) throw VerificationError("what was compressed does not decode to the input; nothing was kept");
}

void poll(const std::atomic<bool>* stop) {
  if (stop != nullptr && *stop) throw InterruptedError("interrupted; nothing was written");
}

/// The source cut into blocks.
class BlockReader {
 public:
  BlockReader(const ByteSource& source, const Alphabet& alphabet, Index block)
      : source_(source), alphabet_(alphabet), block_(static_cast<std::size_t>(block)) {}
  /// Empty at the end.
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

/// One block after another with one model; what was coded is decoded on a second thread while the next is coded.
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
      checked = std::async(options.threads > 1 ? std::launch::async : std::launch::deferred,
                           [&, at = pending.get()] { check(checker->decode(at->block), at->bytes); });
  }
  settle();
}

/// Runs work(i) for i < n, each on a thread of its own; the first error is thrown when all are done.
template <class Work>
void side_by_side(std::size_t n, Work&& work) {
  std::vector<std::future<void>> running;
  for (std::size_t i = 1; i < n; ++i) running.push_back(std::async(std::launch::async, [&work, i] { work(i); }));
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

void compress_apart(BlockReader& reader, const Codec& codec, ContainerWriter& writer, const CompressOptions& options,
                    CompressResult& result) {
  for (bool more = true; more;) {
    poll(options.stop);
    std::vector<std::string> bytes;
    while (static_cast<int>(bytes.size()) < options.threads && more) {
      bytes.push_back(reader.next());
      if (bytes.back().empty()) {
        bytes.pop_back();
        more = false;
      }
    }
    std::vector<ContainerBlock> blocks(bytes.size());
    side_by_side(bytes.size(), [&](std::size_t i) {
      blocks[i] = BlockCoder(codec).encode(bytes[i]);
      if (options.verify) check(BlockCoder(codec).decode(blocks[i]), bytes[i]);
    });
    for (const ContainerBlock& block : blocks) {
      writer.write(block);
      result.bytes_in += block.bytes;
    }
    if (options.progress) options.progress(result.bytes_in);
  }
}

}  // namespace

CompressResult compress(const ByteSource& source, const ByteSink& sink, const CompressOptions& options) {
  if (options.block < 1 || options.block > kMostBlock)
    throw UsageError(fmt::format("blocks of {} bytes: from 1 to {}", options.block, kMostBlock));
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
  const Codec codec(header, options.trained);
  ContainerWriter writer(sink, header);
  BlockReader reader(source, codec.alphabet(), options.block);
  CompressResult result;
  if (options.independent)
    compress_apart(reader, codec, writer, options, result);
  else
    compress_chain(reader, codec, writer, options, result);
  writer.end();
  result.bytes_out = writer.bytes();
  return result;
}

CompressResult decompress(const ByteSource& source, const ByteSink& sink, const DecompressOptions& options) {
  ContainerReader reader(source, options.name);
  const ContainerHeader& header = reader.header();
  std::shared_ptr<const SymbolModel> trained;
  if (header.source == ModelSource::embedded) {
    trained = symbol_model_from_bytes(header.model, options.name + " (the model in it)");
  } else if (header.source == ModelSource::external) {
    if (!options.find_model)
      throw ModelError(
          fmt::format("{} was compressed with the model {}, which is not given", options.name, header.model));
    std::string file = options.find_model(header.model, header.identity);
    if (identity_of(file) != header.identity)
      throw ModelError(fmt::format("{} was compressed with another model than the one given; it was called {}",
                                   options.name, header.model));
    trained = symbol_model_from_bytes(std::move(file), header.model);
  }
  std::unique_ptr<const Codec> codec;
  std::unique_ptr<BlockCoder> chain;
  try {
    codec = std::make_unique<const Codec>(header, trained);
    if (!header.independent) chain = std::make_unique<BlockCoder>(*codec);
  } catch (const UsageError& error) {
    throw ModelError(fmt::format("{}: its model cannot be built here: {}", options.name, error.what()));
  }
  CompressResult result;
  for (bool more = true; more;) {
    poll(options.stop);
    std::vector<ContainerBlock> blocks;
    const int together = header.independent ? options.threads : 1;
    while (static_cast<int>(blocks.size()) < together && more) {
      more = reader.next(blocks.emplace_back());
      if (!more) blocks.pop_back();
    }
    std::vector<std::string> bytes(blocks.size());
    side_by_side(blocks.size(), [&](std::size_t i) {
      bytes[i] = chain ? chain->decode(blocks[i]) : BlockCoder(*codec).decode(blocks[i]);
    });
    for (const std::string& b : bytes) {
      sink(b);
      result.bytes_out += static_cast<Index>(b.size());
    }
    if (options.progress) options.progress(result.bytes_out);
  }
  result.bytes_in = reader.bytes();
  return result;
}

}  // namespace unfold
