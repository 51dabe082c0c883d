#pragma once
/// Many streams of one model side by side, for example the events of 1,000 devices. A network reads the next symbols of
/// all streams in one batch, so its weights are read once for all of them.
///
///   Team team(2);
///   const std::unique_ptr<Streams> streams = model.streams(1000, team);
///   while (next_symbols(symbols)) {              // one per stream; kNoSymbol where none has arrived
///     streams->surprisals(symbols, nats);        // before the symbols are observed
///     streams->observe(symbols);
///   }
///
/// Each stream has the results of a separate predictor (predictor.h), bit for bit, whatever the other streams do. The
/// memory is that of one state and three rows of outputs for each stream. The model and the team must outlive the
/// streams.

#include <span>
#include <vector>

#include "unfold/base/threads/team.h"
#include "unfold/base/views.h"

namespace unfold {

class Streams {
 public:
  virtual ~Streams() = default;

  Index count() const { return count_; }
  Index alphabet() const { return alphabet_; }

  /// Returns the natural logarithms of the probabilities of the next symbol of each stream, [count x alphabet]. Valid
  /// until the next call of another function.
  virtual Matrix<const float> log_probabilities() = 0;
  /// Sets nats[i] to -log of the probability that the next symbol of stream i is symbols[i]; 0 for kNoSymbol. Throws
  /// UsageError for spans of a length other than `count` and for symbols outside the alphabet.
  void surprisals(std::span<const Symbol> symbols, std::span<double> nats);
  /// Advances each stream by its symbol. kNoSymbol leaves a stream as it is. After the symbol that ends a sequence
  /// (SymbolModel::sequence_end), the next sequence of the stream begins. Throws UsageError like `surprisals`.
  void observe(std::span<const Symbol> symbols);
  /// Returns one stream to the state before the first symbol of a sequence. Throws UsageError for an index out of
  /// range.
  void reset(Index stream);
  void reset_all();

 protected:
  Streams(Index count, Index alphabet, Symbol sequence_end);  ///< UsageError if count < 1
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  // Implemented by kinds of streams, with valid arguments. `update` need not treat the end of a sequence.
  virtual void surprisals_of(std::span<const Symbol> symbols, std::span<double> nats) = 0;
  virtual void update(std::span<const Symbol> symbols) = 0;
  virtual void restart(Index stream) = 0;

 private:
  void check(std::span<const Symbol> symbols) const;

  Index count_, alphabet_;
  Symbol sequence_end_;
};

}  // namespace unfold
