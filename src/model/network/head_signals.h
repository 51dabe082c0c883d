#pragma once
/// The signals that the heads of a network read, and their losses. Internal to model/network.

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "model/network/encoder_decoder.h"
#include "unfold/loss/registry.h"
#include "unfold/model/network/network_body.h"

namespace unfold {

/// The inputs of heads: every position, or the whole sequence.
class HeadSignals {
 public:
  HeadSignals(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout, const Layers& layers,
              const std::vector<NetworkInput>& inputs, Circuit& circuit);

  /// Adds an affine map to `size` numbers.
  Signal add(const std::string& name, Index size, bool once, const std::shared_ptr<const Listing>& listing);

 private:
  /// Adds an output that is linear in the inputs. Listed pairs need no bias, because at every position each label
  /// occurs in at least one pair.
  Signal add_linear(const std::string& name, Index size, bool once, const std::shared_ptr<const Listing>& listing);
  /// Adds a parameter vector: the input is the constant 1. Orderless layers, which read some of the predicted values,
  /// have weights; the components of mixtures are initialized to different values.
  Signal add_density(const std::string& name, Index size);

  const ModelSpec& spec_;
  const Layers& layers_;
  const std::vector<NetworkInput>& inputs_;
  Circuit& circuit_;
  std::deque<std::string> names_;  // names of the direct terms, which refer to them
  std::vector<Term> direct_;
  Signal pooled_;
};

/// `of_symbols`: the loss of symbols if the head does not name a loss; empty: softmax.
ChosenLoss loss_for(const HeadSpecification& head, const FieldSpecification& field, const std::string& of_symbols);

/// Passes the label names, and whether there is one label per sequence, to losses over whole sequences. Returns true if
/// such a loss reads the signal at every position although there is one label per sequence. Throws UsageError if the
/// loss does not support this.
template <class T>
bool set_label_names(Loss<T>& loss, const FieldSpecification& field);

/// Returns the size of the signal that a head of a linear model reads.
Index signal_size_of(const DataSpecification& data, const HeadSpecification& head);

}  // namespace unfold
