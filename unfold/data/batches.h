#pragma once
/// Batches of text: how sequences of symbols become windows (window.h).
///
/// A *lane* is a row of runs read one after another; several lanes are read side by side, `window` symbols of each at a
/// time. A run is a stretch of one sequence that starts from a fresh state; where a run ends inside a window, the
/// window holds several chains for that lane (a ragged batch). Input is the previous symbol, kNoSymbol before the first
/// of a sequence; target is the symbol itself, kNoSymbol where it is not to be predicted.
///
/// State slots: lane b keeps its state in slot b. Further chains of a lane within one window use spare slots from
/// `lanes` on, which start fresh; afterwards the lane's last chain is moved to slot b.

#include <cstdint>
#include <span>
#include <vector>

#include "unfold/data/corpus.h"
#include "unfold/data/split.h"
#include "unfold/data/window.h"

namespace unfold {

/// Symbols [begin, end) of a sequence, read from a fresh state. Those before `score_from` only warm the state up.
struct Run {
  Index sequence = 0;
  Range range = {};
  Index score_from = 0;
  bool has_previous = false;  ///< the symbol before `begin` is known (and is the first input)
  Index number = 0;           ///< of the caller: which sum this run's scores belong to
  Index place = 0;            ///< of the caller: where the score of `begin` would go
};

/// Reads lanes side by side.
class LaneReader final : public WindowStream {
 public:
  LaneReader(const Corpus& corpus, Index window, Symbol predict_after = kNoSymbol);
  void start(std::vector<std::vector<Run>> lanes);  ///< at the first window
  bool next(Window& window) override;               ///< allocates only when the shape changes
  void skip(Index windows);                         ///< as if next had been called so often
  Index windows() const;                            ///< in all

 private:
  struct Cursor {
    std::size_t run = 0;
    Index offset = 0;  ///< symbols of the run already read
  };
  void fill(Window& window, Index chain, const Run& run, Range range);

  const Corpus& corpus_;
  Index window_;
  Symbol predict_after_;
  std::vector<std::vector<Run>> lanes_;
  std::vector<Cursor> cursors_;
  std::vector<Index> lengths_, laid_;
  struct Chain {
    std::size_t lane, run;
    Range range;
  };
  std::vector<Chain> chains_;
  std::vector<Symbol> buffer_;
};

struct BatchOptions {
  Index window = 64;             ///< symbols per lane and step (truncated back-propagation; state is carried over)
  Index batch = 32;              ///< lanes; with whole_sequences: sequences per step
  bool whole_sequences = false;  ///< full back-propagation: every chain is one whole sequence
  Index curriculum = 0;  ///< > 0: epoch e (from 0) reads only the first (e + 1) * curriculum symbols of each sequence
  Symbol predict_after = kNoSymbol;  ///< only symbols that follow this one are predicted
};

/// The training part, epoch after epoch, without end. An epoch reads every symbol exactly once: the sequences are put
/// in a random order, the row of all of them is cut into `batch` equal lanes at a random offset (its two ends joined),
/// so no two epochs are cut alike. The order is a function of (seed, epoch); a position is (epoch, window).
/// The state is fresh at the start of a sequence and of an epoch, and, where there are several lanes, after every 128
/// windows of a longer sequence (each lane at moments of its own): a network that knows only states which long texts
/// have led to may, read from its start state, fall into others and stay there.
class Batches final : public WindowSource {
 public:
  /// Throws UsageError: window or batch below 1.
  Batches(const Corpus& corpus, const Part& part, const BatchOptions& options, std::uint64_t seed);

  const Window& window() const override { return window_; }
  void advance() override;
  void seek(Index epoch, Index window) override;

  Index epoch() const override { return epoch_; }
  Index position() const override { return position_; }
  Index windows_per_epoch() const { return windows_; }  ///< of the current epoch
  double epochs_done() const override {
    return static_cast<double>(epoch_) + static_cast<double>(position_) / static_cast<double>(windows_);
  }
  Index lanes() const override { return lanes_; }
  bool shortened() const override;

 private:
  void start_epoch();
  void read();
  std::vector<Piece> pieces_of_epoch() const;
  Index curriculum_length() const { return options_.curriculum * (epoch_ + 1); }

  const Part& part_;
  BatchOptions options_;
  std::uint64_t seed_;
  Index epoch_ = 0, position_ = 0, windows_ = 0, lanes_ = 0;
  LaneReader reader_;
  std::vector<Piece> pieces_;  // whole sequences: in the order of the epoch
  Window window_;
};

/// Throws DataError when a mask of the corpus or `predict_after` leaves nothing to predict in a part.
void require_predictions(const Corpus& corpus, const Part& part, Symbol predict_after);

/// Lanes for scoring a part, every symbol exactly once. Each piece is cut into segments of equal length, about `lanes`
/// in all; each segment is read from a fresh state on the `warmup` symbols before it (as many as its piece has), which
/// are not scored. Where the alphabet has a line end, the warm-up begins after the first one it holds: read from the
/// middle of a word, a network may fall into a state that text never leads to and that it does not leave again.
/// `lanes` 1 scores every sequence exactly, as one chain.
std::vector<std::vector<Run>> scoring_lanes(const Corpus& corpus, const Part& part, Index lanes, Index warmup);
/// Lanes for exact scoring: whole pieces, the longest first, spread over at most `lanes` lanes.
std::vector<std::vector<Run>> exact_lanes(const Part& part, Index lanes);

}  // namespace unfold
