#pragma once
/// Batches of text: converts sequences of symbols to batches (batch.h).
///
/// A *stream* is a series of passages that are read one after another; several streams are read in parallel, `window`
/// symbols of each at a time. A passage is a part of one sequence that starts from the initial state. If a passage ends
/// inside a batch, the batch contains several chains for that stream (a ragged batch). Fields: kPreviousSymbol, the
/// previous symbol, kNoSymbol before the first of a sequence; kSymbol, the symbol itself, kNoSymbol if it is not
/// predicted.
///
/// State slots: stream b keeps its state in slot b. Further chains of a stream within one batch use spare slots from
/// `streams` on, which start from the initial state; afterwards the last chain of the stream is moved to slot b.

#include <cstdint>
#include <span>
#include <vector>

#include "unfold/data/text/batch.h"
#include "unfold/data/text/corpus.h"
#include "unfold/data/text/curriculum.h"
#include "unfold/data/text/lanes.h"
#include "unfold/data/text/split.h"

namespace unfold {

/// The field of a text, and the input of a language model: the same field one position earlier.
inline constexpr const char *kSymbol = "symbol", *kPreviousSymbol = "previous symbol";

/// Returns the network of a language model: `symbols` reads kPreviousSymbol, and `logits` predict kSymbol with a
/// softmax.
template <class T>
Network<T> text_network(const std::shared_ptr<const Plan>& plan, Signal symbols, Signal logits, bool dropout = false);

/// Symbols [begin, end) of a sequence, read from the initial state. The symbols before `score_from` only warm up the
/// state.
struct Passage {
  Index sequence = 0;
  Range range = {};
  Index score_from = 0;
  bool has_previous = false;  ///< the symbol before `begin` is known and is the first input
  Index number = 0;           ///< set by the caller: index of the sum that collects the scores of this passage
  Index place = 0;            ///< set by the caller: index at which the score of `begin` is stored
};

/// The shards of a batch (groups of its chains) that a process computes. For the chains of other shards, only their
/// lengths are needed; their symbols are not read, and placeholders mark where symbols are present.
struct LocalShards {
  Index shards = 1;
  Range own = {0, 1};
  bool all() const { return own.size() == shards; }
};

/// Reads several streams in parallel.
class StreamReader final : public BatchReader {
 public:
  StreamReader(const Corpus& corpus, Index window, Symbol predict_after = kNoSymbol, const LocalShards& own = {});
  void start(std::vector<std::vector<Passage>> streams);  ///< replaces the streams and goes to the first batch
  bool next(Batch& batch) override;                       ///< allocates only if the shape changes
  /// Advances as if next had been called `batches` times.
  void skip(Index batches) { lanes_.skip(batches * window_); }
  Index batches() const { return lanes_.windows(window_); }  ///< total

 private:
  void fill(Batch& batch, Index chain, const Passage& passage, Range range, bool own);

  const Corpus& corpus_;
  Index window_;
  Symbol predict_after_;
  LocalShards own_;
  std::vector<std::vector<Passage>> streams_;
  Lanes lanes_;
  std::vector<Lanes::Stretch> stretches_;
  std::vector<Index> lengths_, laid_;
  std::vector<Symbol> buffer_;
};

struct BatchOptions {
  Index window = 64;             ///< symbols per stream and step (truncated backpropagation; the state is carried over)
  Index batch = 32;              ///< streams; with whole_sequences: sequences per step
  bool whole_sequences = false;  ///< full backpropagation: every chain is one whole sequence
  Curriculum curriculum = {};    ///< with `each_epoch`, only for whole sequences
  Symbol predict_after = kNoSymbol;  ///< only symbols after this one are predicted
  LocalShards own = {};  ///< the shards of each batch to read; all if a mask or a symbol selects the predictions
};

/// Batches of the training part, epoch after epoch, without end. An epoch reads every symbol exactly once: the
/// sequences are shuffled and concatenated in a circle, which is cut into `batch` equal streams at a random offset, so
/// each epoch is cut differently. The order is a function of (seed, epoch); a position is (epoch, batch). The state is
/// reset at the start of a sequence and of an epoch and, with several streams, after every 128 windows of a longer
/// sequence, at a different time for each stream. Otherwise, a network that has only seen states from long contexts
/// can, after the initial state, enter states that it has not seen and never leave them.
class TextBatches final : public BatchSource {
 public:
  /// Throws UsageError if window or batch is below 1.
  TextBatches(const Corpus& corpus, const Split& part, const BatchOptions& options, std::uint64_t seed);

  const Batch& batch() const override { return batch_; }
  void advance() override;
  void seek(Index epoch, Index batch) override;

  Index epoch() const override { return epoch_; }
  Index position() const override { return position_; }
  Index batches_per_epoch() const { return batches_; }  ///< number of batches in the current epoch
  double epochs_done() const override {
    return static_cast<double>(epoch_) + static_cast<double>(position_) / static_cast<double>(batches_);
  }
  Index streams() const override { return streams_; }
  bool shortened() const override;

 private:
  void start_epoch();
  void read();
  std::vector<Piece> pieces_of_epoch() const;
  Index longest() const;

  const Split& part_;
  BatchOptions options_;
  std::uint64_t seed_;
  Index epoch_ = 0, position_ = 0, batches_ = 0, streams_ = 0;
  StreamReader reader_;
  std::vector<Piece> pieces_;  // whole sequences: in the order of the epoch
  Batch batch_;
};

/// Throws DataError if a mask of the corpus or `predict_after` leaves nothing to predict in a part.
void require_predictions(const Corpus& corpus, const Split& part, Symbol predict_after);

/// Streams for scoring every symbol of a part exactly once. Each piece is cut into segments of equal length, about
/// `streams` in total; each segment is read from the initial state, with a warm-up on up to `warmup` preceding symbols
/// of its piece, which are not scored. If the alphabet has a line ending, the warm-up begins after the first line
/// ending within it, because a network that starts in the middle of a word can enter a state that text never produces
/// and not leave it. With `streams` 1 every sequence is scored exactly, as one chain.
std::vector<std::vector<Passage>> scoring_streams(const Corpus& corpus, const Split& part, Index streams, Index warmup);
/// Streams for exact scoring: whole pieces, the longest first, distributed over at most `streams` streams.
std::vector<std::vector<Passage>> exact_streams(const Split& part, Index streams);

}  // namespace unfold
