#include "unfold/optim/core_pass.h"

#include <algorithm>

namespace unfold {
namespace {

const Node& output_node(Signal output) {
  const Node& node = output.circuit->nodes()[static_cast<std::size_t>(output.id)];
  const auto refuse = [&](const std::string& why) {
    throw UsageError("riemannian training: the output " + node.name + " " + why +
                     "; it needs an affine map of activities, as every cell of this program has");
  };
  if (node.kind != Node::Kind::affine) refuse("is no affine map");
  for (const auto& term : node.terms) {
    const Node& source = output.circuit->nodes()[static_cast<std::size_t>(term.source)];
    const bool seedable = source.kind == Node::Kind::map || source.kind == Node::Kind::affine;
    if (!seedable || !term.dense()) refuse("reads " + source.name + " in a way that takes no seed");
  }
  return node;
}

std::vector<Signal> sources(Signal output) {
  std::vector<Signal> result;
  for (const auto& term : output_node(output).terms) result.push_back({output.circuit, term.source});
  return result;
}

std::shared_ptr<const Plan> core_plan(Signal output) {
  std::vector<int> outputs;
  for (const Signal& s : sources(output))
    if (std::find(outputs.begin(), outputs.end(), s.id) == outputs.end()) outputs.push_back(s.id);
  return std::make_shared<const Plan>(*output.circuit, std::move(outputs));
}

}  // namespace

template <class T>
CorePass<T>::CorePass(const Network<T>& network, Team& team)
    : network_(network),
      team_(team),
      output_(output_node(network.only_head("riemannian training").signal)),
      activities_(sources(head().signal)),
      plan_(core_plan(head().signal)),
      unfolding_(plan_, team) {
  head().loss->template need<Categorical<T>>("riemannian training");
  for (const Signal& s : activities_) units_ += s.size();
  if (plan_->state_width() != network.plan->state_width())
    throw UsageError("riemannian training: the output of the network has a memory of its own");
}

template <class T>
void CorePass<T>::forward(const Batch& batch, const Parameters<T>& parameters, State<T>& state,
                          std::optional<std::uint64_t> dropout_seed) {
  unfolding_.lay(batch.structure, batch.carry.slots);
  give_inputs(batch, 0, batch.structure.positions(), network_, unfolding_);
  unfolding_.set_parameters(parameters);
  if (dropout_seed) unfolding_.set_dropout_seed(*dropout_seed);
  unfolding_.forward(&state);
}

template class CorePass<float>;
template class CorePass<double>;

}  // namespace unfold
