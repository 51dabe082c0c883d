#pragma once
/// Conversion between models of this library and stacks of layers as other programs define them (stack_weights.h).
/// Internal to interop/.

#include "interop/stacks/stack_weights.h"
#include "unfold/model/network/language_model.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

/// A model with one input and one head that predicts at every position, independent of its concrete type.
template <class T>
struct StackModel {
  const ModelSpec& spec;
  const Circuit& circuit;
  const Network<T>& network;
  bool gives_symbols;                ///< whether it predicts symbols, with a softmax; false: it predicts values
  StackScale read = {}, given = {};  ///< transformation from data values to network inputs and outputs
  bool reads_symbols() const { return circuit.is_symbols(network.inputs.front().signal); }
  Signal input() const { return network.inputs.front().signal; }
  Signal output() const { return network.heads.front().signal; }
};

/// Throws a UsageError that names what other programs do not support: a different cell or option, several inputs or
/// heads, one prediction for a whole sequence.
template <class T>
StackModel<T> stack_holder(const LanguageModel<T>& model);
template <class T>
StackModel<T> stack_holder(const NetworkModel<T>& model);

/// Returns the weights of a model, with standardization folded in, so that the stack reads and predicts values in units
/// of the data. For a GRU without a second bias, the second bias is zero, except for the contribution of the
/// standardization.
template <class T>
StackWeights stack_of(const StackModel<T>& model, const Parameters<T>& parameters);

/// Returns the SPEC of a model that fits a stack: "lstm:64,layers=2,embedding=32".
std::string spec_of(const StackWeights& stack);
/// Sets the activation of an RNN from the SPEC, since weight files do not record it.
void adopt_activation(const ModelSpec& spec, StackWeights& stack);
/// Throws UsageError unless the layers of a model match those of the stack. Call it before allocating a model.
void require_layers(const ModelSpec& spec, const StackWeights& stack);
/// Sets the parameters of a model from a stack. Throws a UsageError that names what does not match.
template <class T>
void set_weights(const StackModel<T>& model, const StackWeights& stack, Parameters<T>& parameters);

}  // namespace unfold
