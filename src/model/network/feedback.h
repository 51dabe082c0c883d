#pragma once
/// Output feedback: the network reads its own predictions as "previous F" instead of the true values, and gradients
/// flow through them (train/objective/output_feedback.h selects the positions). The input is computed from the true
/// value x and the mean o of the head:
///
///   input = (1 - free) x + free o      free: a separate input, 0 or 1
///
/// The network and its parameters are otherwise unchanged. Internal to model/network/.

#include "unfold/model/network/network_body.h"

namespace unfold {

class FeedbackLoops {
 public:
  FeedbackLoops(const NetworkLayout& layout, bool wanted) : layout_(layout), wanted_(wanted) {}

  /// Returns the signal that layers read in place of a true input, or the input itself if it is not fed back.
  Signal open(const std::string& read, Signal input, Circuit& circuit);
  /// Connects the mean of a head to the inputs that read its field. Throws UsageError if the signal of the loss does
  /// not begin with its mean.
  template <class T>
  void close(const HeadSpecification& head, const Loss<T>& loss, Signal signal, Circuit& circuit);
  /// Returns the inputs of the network, given the inputs that the layers read.
  std::vector<NetworkInput> inputs(std::vector<NetworkInput> read) const;
  /// Throws UsageError if feedback was requested but no field is fed back.
  void require_feedback() const;

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
