#pragma once
/// Output feedback: the network reads its own expected outputs as "previous F", and gradients flow through them. The
/// expected output o of a head is the mean of numbers, or the probabilities of symbols, which take the place of the
/// one-hot vector of a symbol. The weights are those of a network that reads the true entries.
///
///   - In training (train/objective/output_feedback.h selects the positions), some positions read the true entry x:
///
///       numbers: input = (1 - free) x + free o     free: a separate input, 0 or 1
///       symbols: input = shown + free o            shown: the one-hot vector of x, or 0 where free is 1
///
///   - With NetworkLayout::feedback, every position reads o, in training and in use. It is 0 before the first position.
///
/// Internal to model/network/.

#include "unfold/model/network/network_body.h"

namespace unfold {

class FeedbackLoops {
 public:
  FeedbackLoops(const NetworkLayout& layout, bool wanted) : layout_(layout), wanted_(wanted) {}

  /// Adds the signal that layers read as a field, under the given name.
  Signal open(const std::string& read, const FieldSpecification& field, const std::string& name, Circuit& circuit);
  /// Connects the expected output of a head to the inputs that read its field. Throws UsageError if the loss has none,
  /// or if its size differs from the size of these inputs.
  template <class T>
  void close(const Head<T>& head, Circuit& circuit);
  /// Returns the inputs of the network, given the inputs that the layers read.
  std::vector<NetworkInput> inputs(const std::vector<NetworkInput>& read) const;
  /// Throws UsageError if feedback was requested but no field is fed back.
  void require_feedback() const;

 private:
  struct Loop {
    std::string read, field;
    Signal own;                    ///< the link along which the expected output returns
    Signal input = {}, free = {};  ///< inputs of the network; none if every position reads its own output
    bool symbols = false;
  };
  bool is_predicted(const std::string& field) const;

  const NetworkLayout& layout_;
  bool wanted_;
  std::vector<Loop> loops_;
};

/// Builds the variant of a network that can read its own outputs in training; `plain` is the circuit of the network
/// itself. Throws UsageError if the weights of the two differ: some cells have a matrix for each symbol.
template <class T>
Network<T> build_feedback_network(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout,
                                  const Circuit& plain, Circuit& circuit, bool output_hidden = false);

}  // namespace unfold
