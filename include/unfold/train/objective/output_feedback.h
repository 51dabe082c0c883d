#pragma once
/// Output feedback during training: the input "previous F" is the true entry at some positions and the network's own
/// earlier output at others, for example true for n steps, then free for k: the mean of numbers, or the probabilities
/// of symbols. The gradient flows back through this output (the output recurrence of Williams & Zipser 1989). The
/// network has an additional input "free previous F", which is 1 where its own output is read, and for symbols the
/// input "shown previous F", the one-hot vector of the true symbol at the other positions.
/// This module selects these positions.

#include <cstdint>
#include <string_view>

#include "unfold/data/text/batch.h"

namespace unfold {

/// Every sequence is divided into blocks of given + free positions; the first `given` positions of a block read the
/// true value.
struct Feedback {
  Index given = 0, free = 0;
  /// Whether every position reads the output, in training and in use; this is a property of the network
  /// (NetworkLayout::feedback), not of training.
  bool always = false;
  bool on() const { return free > 0; }
  /// Parses "20+10" or "always". Throws UsageError unless both are integers from 1 to 1,000,000; the first may also be
  /// 0.
  static Feedback parse(std::string_view text);
};

/// Returns the name of the field that marks where the network's outputs replace the field `read`.
std::string free_field(std::string_view read);
/// Returns the name of the field that contains the one-hot vectors of true symbols of the field `read`.
std::string shown_field(std::string_view read);

template <class T>
class OutputFeedback {
 public:
  /// Throws UsageError for a network without such inputs.
  OutputFeedback(const Network<T>& network, const Feedback& feedback, std::uint64_t seed);

  /// Returns the batch with these fields. A fraction `forcing` of the free positions still reads the true value; the
  /// selection is a function of the seed and `step`. Positions without a predecessor in the sequence and positions with
  /// a missing true value are never free.
  const Batch& mark(const Batch& batch, double forcing, Index step);

 private:
  struct Use {
    std::string read;
    Index back, size;
  };
  void mark(const Use& use, double forcing, Random& random);

  Feedback feedback_;
  std::uint64_t seed_;
  std::vector<Use> uses_;
  Batch marked_;
};

}  // namespace unfold
