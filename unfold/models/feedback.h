#pragma once
/// Output recurrence: a network whose numbers read as "previous F" may be those that it gave there, with the gradient
/// through them (training/free_positions.h says where). With x what is true and o the mean that the head gave,
///
///   what is read = (1 - free) x + free o      free: an input of its own, 0 or 1
///
/// It is the network that is kept but for this, with the same parameters. Internal to models/.

#include "unfold/models/network_body.h"

namespace unfold {

class FeedbackLoops {
 public:
  FeedbackLoops(const NetworkLayout& layout, bool wanted) : layout_(layout), wanted_(wanted) {}

  /// What layers read in place of a true input: itself, where nothing is fed back.
  Signal open(const std::string& read, Signal input, Circuit& circuit);
  /// Feeds the mean of a head to what reads its field. Throws UsageError: the signal of the loss does not begin with
  /// its mean.
  template <class T>
  void close(const HeadSpecification& head, const Loss<T>& loss, Signal signal, Circuit& circuit);
  /// The inputs of the network, of those that layers read.
  std::vector<NetworkInput> inputs(std::vector<NetworkInput> read) const;
  /// Throws UsageError: feedback was wanted, and nothing is fed back.
  void require_some() const;

 private:
  struct Loop {
    std::string read, field;
    Signal input, free, own;
  };
  const NetworkLayout& layout_;
  bool wanted_;
  std::vector<Loop> loops_;
};

}  // namespace unfold
