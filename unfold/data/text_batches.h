#pragma once
/// Batches of text: how sequences of symbols become batches (batch.h).
///
/// A *stream* is a row of passages read one after another; several streams are read side by side, `window` symbols of
/// each at a time. A passage is a stretch of one sequence that starts from a fresh state; where one ends inside a
/// batch, the batch holds several chains for that stream (a ragged batch). Fields: kPreviousSymbol, the previous
/// symbol, kNoSymbol before the first of a sequence; kSymbol, the symbol itself, kNoSymbol where it is not to be
/// predicted.
///
/// State slots: stream b keeps its state in slot b. Further chains of a stream within one batch use spare slots from
/// `streams` on, which start fresh; afterwards the stream's last chain is moved to slot b.

#include <cstdint>
#include <span>
#include <vector>

#include "unfold/data/batch.h"
#include "unfold/data/corpus.h"
#include "unfold/data/lanes.h"
#include "unfold/data/split.h"

namespace unfold {

/// The field of a text, and what a language model reads: the same field one position earlier.
inline constexpr const char *kSymbol = "symbol", *kPreviousSymbol = "previous symbol";

/// The network of a language model: `symbols` reads kPreviousSymbol, `logits` predict kSymbol by a softmax.
template <class T>
Network<T> text_network(const std::shared_ptr<const Plan>& plan, Signal symbols, Signal logits, bool dropout = false);

/// Symbols [begin, end) of a sequence, read from a fresh state. Those before `score_from` only warm the state up.
struct Passage {
  Index sequence = 0;
  Range range = {};
  Index score_from = 0;
  bool has_previous = false;  ///< the symbol before `begin` is known (and is the first input)
  Index number = 0;           ///< of the caller: which sum this passage's scores belong to
  Index place = 0;            ///< of the caller: where the score of `begin` would go
};

/// Which shards of a batch (shards.h) a process has. Of the chains of others it needs their lengths, and reads no
/// symbols: what stands in their place is that there is one.
struct OwnShards {
  Index shards = 1;
  Range own = {0, 1};
  bool all() const { return own.size() == shards; }
};

/// Reads streams side by side.
class StreamReader final : public BatchReader {
 public:
  StreamReader(const Corpus& corpus, Index window, Symbol predict_after = kNoSymbol, const OwnShards& own = {});
  void start(std::vector<std::vector<Passage>> streams);  ///< at the first batch
  bool next(Batch& batch) override;                       ///< allocates only when the shape changes
  /// As if next had been called so often.
  void skip(Index batches) { lanes_.skip(batches * window_); }
  Index batches() const { return lanes_.windows(window_); }  ///< in all

 private:
  void fill(Batch& batch, Index chain, const Passage& passage, Range range, bool own);

  const Corpus& corpus_;
  Index window_;
  Symbol predict_after_;
  OwnShards own_;
  std::vector<std::vector<Passage>> streams_;
  Lanes lanes_;
  std::vector<Lanes::Stretch> stretches_;
  std::vector<Index> lengths_, laid_;
  std::vector<Symbol> buffer_;
};

struct BatchOptions {
  Index window = 64;             ///< symbols per stream and step (truncated back-propagation; state is carried over)
  Index batch = 32;              ///< streams; with whole_sequences: sequences per step
  bool whole_sequences = false;  ///< full back-propagation: every chain is one whole sequence
  Index curriculum = 0;  ///< > 0: epoch e (from 0) reads only the first (e + 1) * curriculum symbols of each sequence
  Symbol predict_after = kNoSymbol;  ///< only symbols that follow this one are predicted
  OwnShards own = {};  ///< what of each batch is read; all where a mask or a symbol says what is predicted
};

/// The training part, epoch after epoch, without end. An epoch reads every symbol exactly once: the sequences are put
/// in a random order, the row of all of them is cut into `batch` equal streams at a random offset (its two ends
/// joined), so no two epochs are cut alike. The order is a function of (seed, epoch); a position is (epoch, batch). The
/// state is fresh at the start of a sequence and of an epoch, and, where there are several streams, after every 128
/// windows of a longer sequence (each stream at moments of its own): a network that knows only states which long texts
/// have led to may, read from its start state, fall into others and stay there.
class TextBatches final : public BatchSource {
 public:
  /// Throws UsageError: window or batch below 1.
  TextBatches(const Corpus& corpus, const Split& part, const BatchOptions& options, std::uint64_t seed);

  const Batch& batch() const override { return batch_; }
  void advance() override;
  void seek(Index epoch, Index batch) override;

  Index epoch() const override { return epoch_; }
  Index position() const override { return position_; }
  Index batches_per_epoch() const { return batches_; }  ///< of the current epoch
  double epochs_done() const override {
    return static_cast<double>(epoch_) + static_cast<double>(position_) / static_cast<double>(batches_);
  }
  Index streams() const override { return streams_; }
  bool shortened() const override;

 private:
  void start_epoch();
  void read();
  std::vector<Piece> pieces_of_epoch() const;
  Index curriculum_length() const { return options_.curriculum * (epoch_ + 1); }

  const Split& part_;
  BatchOptions options_;
  std::uint64_t seed_;
  Index epoch_ = 0, position_ = 0, batches_ = 0, streams_ = 0;
  StreamReader reader_;
  std::vector<Piece> pieces_;  // whole sequences: in the order of the epoch
  Batch batch_;
};

/// Throws DataError when a mask of the corpus or `predict_after` leaves nothing to predict in a part.
void require_predictions(const Corpus& corpus, const Split& part, Symbol predict_after);

/// Streams for scoring a part, every symbol exactly once. Each piece is cut into segments of equal length, about
/// `streams` in all; each segment is read from a fresh state on the `warmup` symbols before it (as many as its piece
/// has), which are not scored. Where the alphabet has a line end, the warm-up begins after the first one it holds: read
/// from the middle of a word, a network may fall into a state that text never leads to and that it does not leave
/// again. `streams` 1 scores every sequence exactly, as one chain.
std::vector<std::vector<Passage>> scoring_streams(const Corpus& corpus, const Split& part, Index streams, Index warmup);
/// Streams for exact scoring: whole pieces, the longest first, spread over at most `streams` streams.
std::vector<std::vector<Passage>> exact_streams(const Split& part, Index streams);

}  // namespace unfold
