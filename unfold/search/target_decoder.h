#pragma once
/// The decoder of a network, one position of many targets at a time: what searches, samples and objectives of whole
/// sequences step. Targets belong to sources, to something given once, or to nothing.
///
///   decoder.set_parameters(parameters);
///   decoder.begin(batch, slots);                        // the encoder runs at the first step
///   auto log_p = decoder.step(rows);                    // [rows][symbols], the end among them
///   decoder.keep(rows[2].slot, 0), decoder.advance();   // the target that goes on, in slot 0
///
/// A target ends with the end symbol, or with a stop unit, a head of its own: p(end) = p(stop), p(y) = (1 - p(stop))
/// p(y | no stop), the stop decided before each symbol; or at a length that is known before and of which the network
/// reads the steps left. What is found for a target does not depend on the others, nor on threads.
///
/// Targets of numbers are entered and asked one by one: decoder.enter(rows); decoder.output(k), decoder.log_stop(k).

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "unfold/data/batch.h"
#include "unfold/data/specification.h"
#include "unfold/losses/network.h"

namespace unfold {

/// How targets end.
struct TargetEnds {
  std::string_view symbol = {};                    ///< of the alphabet of what is predicted
  std::string_view stop_field = {}, stop_at = {};  ///< a head of a field of that ending, and its symbol; wins if there
  /// Of lengths that are known before: what is read at the target and ends so, the steps left. Empty: they are not.
  std::string_view left_field = {};
  /// Writes what is read there, with the length and the positions before this one.
  void (*steps_left)(Index length, Index before, double* numbers) = nullptr;
  bool numbers = false;  ///< targets may be of numbers
};

/// A target at its next position.
struct TargetRow {
  Index chain = 0;                      ///< of the batch: whose source it is of
  Index slot = 0;                       ///< of the state
  std::span<const Symbol> before = {};  ///< its symbols
  Index length = 0;                     ///< where it is known before; else 0
  std::span<const float> numbers = {};  ///< of targets of numbers: as data are read, position after position
};

template <class T>
class TargetDecoder {
 public:
  /// Refers to the network and the data. Throws UsageError: a network that has other heads than a target and its stops,
  /// or reads other fields at the target than the one that it predicts and the steps left; a target of numbers where
  /// `ends` allow symbols alone; an end that the alphabet lacks.
  TargetDecoder(const Network<T>& network, const DataSpecification& data, const TargetEnds& ends, Team& team);

  Index symbols() const { return symbols_; }               ///< of the alphabet
  Symbol end() const { return end_; }                      ///< as a symbol: beyond the alphabet, unless one is the end
  bool knows_lengths() const { return left_.valid(); }     ///< before a target begins
  bool has_long_sources() const { return long_sources_; }  ///< of more than one position
  const Head<T>& target_head() const { return *target_; }  ///< of symbols
  const Head<T>* stop_head() const { return stops_; }      ///< null: there is none
  Symbol stop() const { return stop_; }                    ///< REQUIRES a head of stops: what it says at an end
  bool attends() const { return attending_node_ >= 0; }

  /// Refers to the parameters, until they are set again.
  void set_parameters(const Parameters<T>& parameters) { unfolding_.set_parameters(parameters); }
  /// Targets of the sources of a batch, from their beginning, in so many slots. Refers to the batch.
  void begin(const Batch& batch, Index slots);
  /// Positions of the source of a chain. REQUIRES long sources.
  Index source_length(Index chain) const;
  /// Runs the network at the next position of each target.
  void enter(std::span<const TargetRow> targets);
  /// Of target k of the last step: the row of the signal that the loss of targets reads.
  std::span<const T> output(Index k) const;
  /// Of target k of the last step: log p that it goes on, and that it has ended. REQUIRES a head of stops.
  std::array<T, 2> log_stop(Index k) const;
  /// `enter`, and log p of the next symbol of each target: [targets][symbols, and the end where it is beyond the
  /// alphabet]. REQUIRES targets of symbols.
  std::vector<std::vector<T>> step(std::span<const TargetRow> targets);
  /// Of target k of the last step: its weights of attention, one for each position of the source.
  std::vector<double> weights(Index k);
  /// The state after the step in slot `from` goes on in slot `to` once `advance` was called.
  void keep(Index from, Index to) { next_.copy_slot(now_, from, to); }
  void advance() { std::swap(now_, next_); }

 private:
  void find_heads(const TargetEnds& ends);
  void read_input(const NetworkInput& input, const TargetEnds& ends);
  void find_attention();
  void give(const TargetRow& target, Index row);
  void give_previous(const TargetRow& target, Index row);
  Index source_of(Index chain) const;
  std::vector<T> log_softmax_of(const Head<T>& head, Index k) const;

  const Network<T>& network_;
  const DataSpecification& data_;
  Unfolding<T> unfolding_;
  int attending_node_ = -1;  // whose term attends
  std::size_t attending_term_ = 0;
  Signal previous_, left_;
  const FieldSpecification* left_as_ = nullptr;
  void (*steps_left_)(Index, Index, double*) = nullptr;
  bool encodes_ = false, long_sources_ = false, encoded_ = false;
  const Head<T>*target_ = nullptr, *stops_ = nullptr;
  Index symbols_ = 0;
  Symbol end_ = kNoSymbol, stop_ = kNoSymbol;
  const Batch* batch_ = nullptr;
  State<T> now_, next_;
  std::vector<T> scratch_;
};

}  // namespace unfold
