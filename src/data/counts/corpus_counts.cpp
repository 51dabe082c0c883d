#include "data/counts/corpus_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "data/counts/gathered_counts.h"
#include "data/counts/sorted_counts.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr Index kSymbolsOfBlock = Index{1} << 16;
constexpr std::size_t kCodesOfBlock = std::size_t{1} << 16;

/// A sequence of codes; some of them start an n-gram that is counted.
class NgramReader {
 public:
  NgramReader(Index order, SortedCounts& counts)
      : order_(static_cast<std::size_t>(order)), counts_(counts), key_(order_) {}

  /// Codes that start a counted n-gram precede all others of a piece.
  void push(Code code, bool counted) {
    codes_.push_back(code);
    if (counted) counted_ = codes_.size();
    if (codes_.size() >= kCodesOfBlock + order_) {
      count(std::min(counted_, kCodesOfBlock));
      codes_.erase(codes_.begin(), codes_.begin() + kCodesOfBlock);
      counted_ -= std::min(counted_, kCodesOfBlock);
    }
  }
  void end_piece() {
    codes_.insert(codes_.end(), order_, kEndCode);
    count(counted_);
    codes_.clear();
    counted_ = 0;
  }

 private:
  void count(std::size_t end) {
    for (std::size_t i = 0; i < end; ++i) {
      if (codes_[i] == kEndCode) continue;
      bool open = true;
      for (std::size_t k = 0; k < order_; ++k) {
        open = open && codes_[i + k] != kEndCode;
        key_[k] = open ? codes_[i + k] : kEndCode;
      }
      counts_.add(key_);
    }
  }

  std::size_t order_;
  SortedCounts& counts_;
  std::vector<Code> codes_, key_;
  std::size_t counted_ = 0;
};

/// Reads the symbols of this process plus one symbol before them, which shows whether a sentence begins, and the
/// symbols after it that its n-grams extend to.
void read_piece(const Corpus& corpus, const Piece& piece, Range share, const CorpusCountOptions& options,
                NgramReader& reader, const std::function<void()>& tick) {
  const Code begin_code = static_cast<Code>(corpus.alphabet().size()) + 1;
  const Range read = {std::max(piece.range.begin, share.begin - 1),
                      std::min(piece.range.end, share.end + options.order - 1)};
  std::vector<Symbol> symbols;
  bool open = false;
  for (Index at = read.begin; at < read.end;) {
    symbols.resize(static_cast<std::size_t>(std::min(kSymbolsOfBlock, read.end - at)));
    corpus.read(piece.sequence, at, symbols);
    for (const Symbol symbol : symbols) {
      const bool counted = share.begin <= at && at < share.end;
      if (at++ >= share.begin) {
        if (!open) reader.push(begin_code, counted);
        reader.push(static_cast<Code>(symbol) + 1, counted);
        if (symbol == options.line_end) reader.push(kEndCode, false);
        if (counted) tick();
      }
      open = symbol != options.line_end;
    }
  }
  reader.end_piece();
}

}  // namespace

std::unique_ptr<CountStream> count_ngrams(const Corpus& corpus, const Split& part, const CorpusCountOptions& options) {
  if (part.symbols() >= std::numeric_limits<std::uint32_t>::max() - 1)
    throw DataError(
        fmt::format("ngram: the training part has {} symbols, but at most 2^32 - 3 are supported; train on a "
                    "part of the data",
                    part.symbols()));
  Processes& processes = options.processes != nullptr ? *options.processes : single_process();
  const Range mine = share_of_process(part.symbols(), processes.number(), processes.count());
  const auto counts = make_sorted_counts(
      {.codes = options.order, .largest = static_cast<Code>(corpus.alphabet().size()) + 1, .memory = options.memory});
  NgramReader reader(options.order, *counts);
  Index first = 0, done = 0;  // global index of the first symbol of a piece
  for (const Piece& piece : part.pieces) {
    const Range share = {piece.range.begin + std::max<Index>(0, mine.begin - first),
                         piece.range.begin + std::min(piece.range.size(), mine.end - first)};
    first += piece.range.size();
    if (share.begin < share.end)
      read_piece(corpus, piece, share, options, reader, [&] {
        if (options.tick) options.tick(done++, mine.size());
      });
  }
  return gather_counts(counts->sorted(), options.order, processes);
}

}  // namespace unfold
