#pragma once
/// Models of ours as stacks of layers that other programs know (stack_weights.h), and such stacks as models of ours.
/// Internal to exchange/.

#include "unfold/exchange/stack_weights.h"
#include "unfold/models/language_model.h"
#include "unfold/models/network_model.h"

namespace unfold {

/// A model with one input and one head at every position, whatever its kind.
template <class T>
struct StackHolder {
  const ModelSpec& spec;
  const Circuit& circuit;
  const Network<T>& network;
  bool gives_symbols;                ///< by softmax; otherwise values
  StackScale read = {}, given = {};  ///< how values of the fields become the numbers of the network
  bool reads_symbols() const { return circuit.holds_symbols(network.inputs.front().signal); }
  Signal input() const { return network.inputs.front().signal; }
  Signal output() const { return network.heads.front().signal; }
};

/// Throws UsageError naming what other programs have no word for: another cell or option, several inputs or heads, one
/// prediction for a whole sequence.
template <class T>
StackHolder<T> stack_holder(const LanguageModel<T>& model);
template <class T>
StackHolder<T> stack_holder(const NetworkModel<T>& model);

/// The weights of a model, which then reads and gives values as they are in the data. A GRU of ours that has no second
/// bias has zeros there, but for what comes of the scale of values.
template <class T>
StackWeights stack_of(const StackHolder<T>& model, const Parameters<T>& parameters);

/// The SPEC of a model that a stack fits: "lstm:64,layers=2,embedding=32".
std::string spec_of(const StackWeights& stack);
/// Files do not tell an RNN of ReLU from one of tanh: takes what the model says.
void adopt_activation(const ModelSpec& spec, StackWeights& stack);
/// Throws UsageError unless the layers of a model are those of the stack. To be called before memory is taken for one.
void require_layers(const ModelSpec& spec, const StackWeights& stack);
/// Sets the parameters of such a model. Throws UsageError naming what does not fit.
template <class T>
void set_weights(const StackHolder<T>& model, const StackWeights& stack, Parameters<T>& parameters);

}  // namespace unfold
