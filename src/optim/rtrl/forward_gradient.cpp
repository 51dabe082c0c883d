#include "optim/rtrl/forward_gradient.h"

#include <fmt/format.h>

#include <algorithm>

#include "loss/independent_rows.h"
#include "optim/rtrl/influence.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

bool keeps_blocks(const GradientMethod& method) {
  return method.kind == GradientMethod::Kind::rtrl || method.kind == GradientMethod::Kind::snap;
}

/// Opens a circuit after checking that its losses can be evaluated position by position.
template <class T>
std::unique_ptr<OpenCircuit> opened(const Network<T>& network, const GradientMethod& method) {
  const std::string who = "--gradient " + method.text();
  for (const Head<T>& head : network.heads)
    if (!has_separate_rows(*head.loss))
      throw UsageError(fmt::format(
          "{} requires independent rows, but the loss {} depends on whole sequences; train with --gradient bptt", who,
          head.loss->name()));
  return open_circuit(network, who);
}

/// Processes sequences one at a time. Each thread of a team has a separate worker.
template <class T>
struct ForwardWorker {
  ForwardWorker(const Network<T>& network, const OpenCircuit& open) : pass(network, open), gradient(open.parameters) {}
  StepPass<T> pass;
  InfluenceScratch<T> scratch;
  Buffer<T> gradient;  // gradient of one sequence
};

}  // namespace

template <class T>
void require_forward_gradient(const Network<T>& network, const GradientMethod& method, const ForwardOptions& options) {
  const std::unique_ptr<OpenCircuit> open = opened(network, method);
  if (keeps_blocks(method)) require_affordable<T>(reach_of(*open), method, options.streams, options.limit);
}

template <class T>
struct ForwardGradient<T>::Body {
  Body(const Network<T>& network_given, const GradientMethod& method, const ForwardOptions& options_given,
       Team& team_given)
      : options(options_given), team(team_given) {
    open = opened(network_given, method);
    network = open_network(network_given, *open);
    const Reach reach = reach_of(*open);
    blocks = open->blocks;
    if (keeps_blocks(method))
      influence = sparse_influence<T>(reach, method, options.streams, options.limit);
    else
      influence = rank_one_influence<T>(reach, method, open->parameters);
    for (int i = 0; i < team.size(); ++i) workers.push_back(std::make_unique<ForwardWorker<T>>(network, *open));
    make_room(options.streams);
  }

  /// Allocates rows for the given number of slots; keeps existing data.
  void make_room(Index slots) {
    const Index width = influence->width();
    if (carried.size() >= slots * width) return;
    Buffer<T> larger(slots * width);
    std::copy(carried.begin(), carried.end(), larger.begin());
    carried = std::move(larger);
  }

  T* row(Index slot) { return carried.data() + slot * influence->width(); }

  /// Initializes a new sequence with zeros or with trained initial values.
  void begin(State<T>& state, Index slot, const Parameters<T>& parameters, const SignKey& key) {
    T* values = state.row(slot);
    for (const StateBlock& block : blocks) {
      if (block.initial >= 0)
        std::copy_n(parameters.flat().data() + block.initial, block.size, values + block.offset);
      else
        std::fill_n(values + block.offset, block.size, T{0});
    }
    state.mark_carried(slot);
    influence->begin(key, row(slot));
  }

  /// Processes a sequence of the batch; its gradient is stored in the worker.
  void read(ForwardWorker<T>& worker, const Batch& batch, Index sequence, State<T>& state,
            const Parameters<T>& parameters, Index step, T scale, const std::optional<std::uint64_t>& dropout_seed) {
    const Index slot = batch.carry.slots[at(sequence)];
    SignKey key{
        .seed = options.seed, .step = static_cast<std::uint64_t>(step), .stream = static_cast<std::uint64_t>(slot)};
    if (state.fresh(slot)) begin(state, slot, parameters, key);
    worker.gradient.fill_zero();
    const PredictedRows predicted(batch, network);
    for (Index t = 0; t < batch.structure.size(sequence); ++t) {
      const Index at_row = batch.structure.row(sequence, t);
      if (dropout_seed) worker.pass.set_dropout(*dropout_seed, slot, t);
      worker.pass.forward(batch, at_row, state.row(slot));
      if (predicted[at_row]) {
        nats[at(at_row)] = worker.pass.losses(batch, at_row, scale, worker.gradient.span());
        add(worker.pass.backward(), row(slot), worker.gradient.span());
      }
      ++key.position;
      influence->step(worker.pass, key, worker.scratch, row(slot));
      worker.pass.next_state(state.row(slot));
    }
  }

  /// Adds the gradient of the loss at a position: the direct part, and the part through the previous state.
  void add(std::span<const T> found, const T* influences, std::span<T> gradient) const {
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += found[i];
    influence->pull(found.data() + open->parameters, influences, gradient.data());
  }

  ForwardOptions options;
  Team& team;
  std::unique_ptr<OpenCircuit> open;
  Network<T> network;
  std::vector<StateBlock> blocks;
  std::unique_ptr<Influence<T>> influence;
  std::vector<std::unique_ptr<ForwardWorker<T>>> workers;
  Buffer<T> carried, kept;  // data with one row per slot
  std::vector<T> nats;
};

template <class T>
ForwardGradient<T>::ForwardGradient(const Network<T>& network, const GradientMethod& method,
                                    const ForwardOptions& options, Team& team)
    : body_(std::make_unique<Body>(network, method, options, team)) {}
template <class T>
ForwardGradient<T>::~ForwardGradient() = default;

template <class T>
double ForwardGradient<T>::gradient(const Batch& batch, State<T>& state, const Parameters<T>& parameters, Index step,
                                    double scale, std::span<T> gradient, std::optional<std::uint64_t> dropout_seed) {
  Body& b = *body_;
  b.make_room(state.slots());
  b.nats.assign(at(batch.structure.positions()), T{0});
  std::ranges::fill(gradient, T{0});
  const Index sequences = batch.structure.sequences();
  b.team.run([&](Member& me) {
    const Index workers = me.size();
    ForwardWorker<T>& mine = *b.workers[at(me.id())];
    mine.pass.set_parameters(parameters);
    for (Index first = 0; first < sequences; first += workers) {
      if (first + me.id() < sequences)
        b.read(mine, batch, first + me.id(), state, parameters, step, static_cast<T>(scale), dropout_seed);
      me.sync();
      const Range part = me.share(static_cast<Index>(gradient.size()), 64);
      for (Index w = 0; w < std::min(workers, sequences - first); ++w)
        for (Index i = part.begin; i < part.end; ++i) gradient[at(i)] += b.workers[at(w)]->gradient[i];
      me.sync();
    }
  });
  double total = 0;
  for (const T x : b.nats) total += static_cast<double>(x);
  return total;
}

template <class T>
void ForwardGradient<T>::leave(const Batch& batch) {
  for (const auto& [from, to] : batch.carry.moves) std::copy_n(body_->row(from), width(), body_->row(to));
}

template <class T>
Index ForwardGradient<T>::width() const {
  return body_->influence->width();
}

template <class T>
std::span<T> ForwardGradient<T>::carried() {
  return body_->carried.span().first(at(body_->options.streams * width()));
}

template <class T>
void ForwardGradient<T>::keep() {
  Body& b = *body_;
  if (b.kept.size() != b.carried.size()) b.kept.resize(b.carried.size());
  std::copy(b.carried.begin(), b.carried.end(), b.kept.begin());
}

template <class T>
void ForwardGradient<T>::put_back() {
  Body& b = *body_;
  std::copy(b.kept.begin(), b.kept.end(), b.carried.begin());
}

template <class T>
void ForwardGradient<T>::swap_kept() {
  body_->carried.swap(body_->kept);
}

template void require_forward_gradient(const Network<float>&, const GradientMethod&, const ForwardOptions&);
template void require_forward_gradient(const Network<double>&, const GradientMethod&, const ForwardOptions&);
template class ForwardGradient<float>;
template class ForwardGradient<double>;

}  // namespace unfold
