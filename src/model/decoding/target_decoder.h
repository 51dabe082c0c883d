#pragma once
/// Steps the decoder of a network, one position of many targets at a time. Used by searches, sampling and objectives
/// for whole sequences. A target belongs to a source or to a field with one value per example, or it is independent of
/// any input.
///
///   decoder.set_parameters(parameters);
///   decoder.begin(batch, slots);                        // the encoder runs at the first step
///   auto log_p = decoder.step(rows);                    // [rows][symbols], including the end
///   decoder.keep(rows[2].slot, 0), decoder.advance();   // the target that continues, in slot 0
///
/// A target ends in one of three ways: with the end symbol; with a stop unit, a separate head that decides before each
/// symbol: p(end) = p(stop), p(y) = (1 - p(stop)) p(y | no stop); or at a length that is known in advance, if the
/// network reads the number of remaining steps. The result for a target does not depend on the other targets or on
/// threads.
///
/// Numeric targets are processed separately: decoder.enter(rows); decoder.output(k), decoder.log_stop(k).

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "unfold/data/examples/specification.h"
#include "unfold/data/text/batch.h"
#include "unfold/loss/network.h"

namespace unfold {

/// How targets end.
struct TargetEnds {
  std::string_view symbol = {};  ///< end symbol in the alphabet of the predicted field
  /// Suffix of the stop field, and its stop symbol. If there is such a head, it takes precedence over the end symbol.
  std::string_view stop_field = {}, stop_at = {};
  /// For lengths that are known in advance: the suffix of the field that contains the number of remaining steps, an
  /// input of the target positions. Empty if lengths are unknown.
  std::string_view left_field = {};
  /// Computes the values of `left_field` from the length and the number of earlier positions.
  void (*steps_left)(Index length, Index before, double* numbers) = nullptr;
  bool numbers = false;  ///< numeric targets are allowed
};

/// A target at its next position.
struct TargetRow {
  Index chain = 0;                      ///< chain of the batch whose source is used
  Index slot = 0;                       ///< slot of the state
  std::span<const Symbol> before = {};  ///< symbols of the target so far
  Index length = 0;                     ///< length of the target if it is known in advance, otherwise 0
  std::span<const float> numbers = {};  ///< for numeric targets: values as in the data, position after position
};

template <class T>
class TargetDecoder {
 public:
  /// Keeps references to the network and the data. Throws UsageError for a network with heads other than a target and
  /// its stops, or fields read at the target other than the predicted field and the remaining steps; for a numeric
  /// target if `ends` allows only symbols; and for an end symbol that is not in the alphabet.
  TargetDecoder(const Network<T>& network, const DataSpecification& data, const TargetEnds& ends, Team& team);

  Index symbols() const { return symbols_; }  ///< number of symbols in the alphabet
  /// Returns the end as a symbol, which is beyond the alphabet unless the alphabet has an end symbol.
  Symbol end() const { return end_; }
  bool has_length_input() const { return left_.valid(); }  ///< whether lengths are known in advance
  bool has_long_sources() const { return long_sources_; }  ///< whether sources have more than one position
  const Head<T>& target_head() const { return *target_; }  ///< REQUIRES targets of symbols
  const Head<T>* stop_head() const { return stops_; }      ///< null if there is none
  Symbol stop() const { return stop_; }                    ///< REQUIRES a stop head: its symbol at the end of a target
  bool attends() const { return attending_node_ >= 0; }

  /// Keeps a reference to the parameters until they are set again.
  void set_parameters(const Parameters<T>& parameters) { unfolding_.set_parameters(parameters); }
  /// Starts targets for the sources of a batch, with the given number of slots. Keeps a reference to the batch.
  void begin(const Batch& batch, Index slots);
  /// Returns the number of positions of the source of a chain. REQUIRES long sources.
  Index source_length(Index chain) const;
  /// Runs the network at the next position of each target.
  void enter(std::span<const TargetRow> targets);
  /// Returns the row of the signal that the loss reads, for target k of the last step.
  std::span<const T> output(Index k) const;
  /// Returns log p of continuing and of ending, for target k of the last step. REQUIRES a stop head.
  std::array<T, 2> log_stop(Index k) const;
  /// Calls `enter` and returns log p of the next symbol of each target: [targets][symbols, and the end if it is beyond
  /// the alphabet]. REQUIRES targets of symbols.
  std::vector<std::vector<T>> step(std::span<const TargetRow> targets);
  /// Returns the attention weights of target k of the last step, one for each position of the source.
  std::vector<double> weights(Index k);
  /// Copies the state in slot `from` after the step to slot `to`, effective after `advance`.
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
  int attending_node_ = -1;  // node whose term attends
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
