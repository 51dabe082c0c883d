#include "optim/riemannian/core_pass.h"

#include <algorithm>

namespace unfold {
namespace {

constexpr const char* kWho = "Riemannian training";

/// Returns whether the value of a node has a separate row at every position; its adjoint can then be set.
bool takes_seed(const Node& node) {
  return node.kind() == Node::Kind::pointwise || node.kind() == Node::Kind::affine || node.kind() == Node::Kind::mask ||
         (node.kind() == Node::Kind::link && node.link().delay.to_end());
}

const Node& node_of(Signal signal) { return signal.circuit->nodes()[static_cast<std::size_t>(signal.id)]; }

/// Returns whether the signal is an affine map with matrices, of signals that can be seeded.
bool reads_activations(Signal output) {
  const Node& node = node_of(output);
  return node.kind() == Node::Kind::affine && std::ranges::all_of(node.terms(), [&](const Node::AffineTerm& term) {
           return takes_seed(output.circuit->nodes()[static_cast<std::size_t>(term.source)]) && term.dense();
         });
}

/// The softmax of logarithms equals their arguments divided by their sum (probabilities_to_logits), which is a linear
/// output. If an argument is negative, it is not a probability and the loss is NaN.
template <class T>
Head<T> without_logarithm(const Head<T>& head) {
  const auto node = [&](int i) -> const Node& { return head.signal.circuit->nodes()[static_cast<std::size_t>(i)]; };
  int linear = head.signal.id;
  for (const Map map : {Map::log, Map::shift, Map::relu}) {
    if (node(linear).kind() != Node::Kind::pointwise || node(linear).pointwise().map != map) return head;
    linear = node(linear).pointwise().operands[0];
  }
  if (head.loss->template as<Categorical<T>>() == nullptr) return head;
  Head<T> result = head;
  result.signal = {head.signal.circuit, linear};
  result.loss = normalized_loss<T>();
  return result;
}

template <class T>
bool has_row_metric(const Loss<T>& loss) {
  return loss.template as<RowLoss<T>>() != nullptr && loss.template as<LossFisher<T>>() != nullptr;
}

/// Returns the number of components that an affine map reads; for other signals, the number of components.
Index inputs_of(Signal signal) {
  Index inputs = 0;
  for (const auto& term : node_of(signal).terms()) inputs += Signal{signal.circuit, term.source}.size();
  return std::max<Index>(1, inputs > 0 ? inputs : signal.size());
}

template <class T>
CoreHead<T> core_head(const Head<T>& given) {
  const Head<T> head = without_logarithm(given);
  if (!reads_activations(head.signal) || given.signal.circuit->is_read(given.signal) || !has_row_metric(*head.loss))
    return {
        .head = given, .split = false, .output = {}, .activities = {given.signal}, .units = inputs_of(given.signal)};
  CoreHead<T> result{.head = head, .output = node_of(head.signal), .activities = {}};
  for (const auto& term : result.output.terms()) {
    result.activities.push_back({head.signal.circuit, term.source});
    result.units += result.activities.back().size();
  }
  return result;
}

template <class T>
std::vector<CoreHead<T>> core_heads(const Network<T>& network) {
  std::vector<CoreHead<T>> heads;
  heads.reserve(network.heads.size());
  for (const Head<T>& head : network.heads) heads.push_back(core_head(head));
  return heads;
}

template <class T>
std::shared_ptr<const Plan> core_plan(const std::vector<CoreHead<T>>& heads) {
  std::vector<int> outputs;
  for (const CoreHead<T>& head : heads)
    for (const Signal& s : head.activities)
      if (std::find(outputs.begin(), outputs.end(), s.id) == outputs.end()) outputs.push_back(s.id);
  return std::make_shared<const Plan>(*heads.front().head.signal.circuit, std::move(outputs));
}

}  // namespace

template <class T>
CorePass<T>::CorePass(const Network<T>& network, Team& team)
    : network_(network), team_(team), heads_(core_heads(network)), plan_(core_plan(heads_)), unfolding_(plan_, team) {
  if (plan_->state_width() != network.plan->state_width())
    throw UsageError(std::string(kWho) + ": the output part of the network has a recurrent state");
}

template <class T>
Index CorePass<T>::units() const {
  Index most = 0;
  for (const CoreHead<T>& head : heads_) most = std::max(most, head.units);
  return most;
}

template <class T>
void CorePass<T>::forward(const Batch& batch, const Parameters<T>& parameters, State<T>& state,
                          std::optional<std::uint64_t> dropout_seed) {
  unfolding_.lay(batch.structure, batch.carry.slots);
  upload_inputs(batch, 0, batch.structure.positions(), network_, unfolding_);
  unfolding_.set_parameters(parameters);
  parameters_ = &parameters;
  if (dropout_seed) unfolding_.set_dropout_seed(*dropout_seed);
  unfolding_.forward(&state);
}

template class CorePass<float>;
template class CorePass<double>;

}  // namespace unfold
