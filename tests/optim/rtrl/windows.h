#pragma once
/// Batches, and both ways to compute their gradient, for the tests of forward-mode gradients.

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "optim/rtrl/forward_gradient.h"
#include "unfold/model/network/language_model.h"
#include "unfold/numerics/random.h"
#include "unfold/train/passes/batch_pass.h"

namespace unfold::test {

/// A language model over `alphabet` letters with random parameters.
template <class T>
LanguageModel<T> small_model(const std::string& spec, Index alphabet = 4, std::uint64_t seed = 5) {
  LanguageModel<T> model(spec, Alphabet::chars_of(std::string("abcdefgh").substr(0, at(alphabet))));
  model.initialize(seed);
  return model;
}

/// Returns random symbols for streams of these lengths, each from position `from` on, at most `most` per stream;
/// streams that have ended are omitted. Every third symbol is not predicted.
inline Batch random_batch(const std::vector<Index>& lengths, Index from, Index most, Index alphabet) {
  std::vector<Index> sizes;
  Batch batch;
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    if (lengths[s] <= from) continue;
    sizes.push_back(std::min(most, lengths[s] - from));
    batch.carry.slots.push_back(static_cast<Index>(s));
    if (from == 0) batch.carry.fresh.push_back(static_cast<Index>(s));
  }
  batch.structure = Structure::chains(sizes);
  batch.carry.slots_needed = static_cast<Index>(lengths.size());
  auto &read = batch.symbol_field(kPreviousSymbol).symbols, &told = batch.symbol_field(kSymbol).symbols;
  read.resize(at(batch.structure.positions()));
  told.resize(read.size());
  for (Index c = 0; c < batch.structure.sequences(); ++c)
    for (Index t = 0; t < batch.structure.size(c); ++t) {
      Random random(9, static_cast<std::uint64_t>(1000 * batch.carry.slots[at(c)] + from + t));
      const auto row = at(batch.structure.row(c, t));
      read[row] = static_cast<Symbol>(random.below(static_cast<std::uint64_t>(alphabet)));
      told[row] =
          random.below(3) == 0 ? kNoSymbol : static_cast<Symbol>(random.below(static_cast<std::uint64_t>(alphabet)));
    }
  return batch;
}

template <class T>
struct Found {
  double nats = 0;
  std::vector<T> gradient, state;
};

/// Backward pass over all of the sequences at once.
template <class T>
Found<T> look_back(const Network<T>& network, const Parameters<T>& parameters, const Batch& batch,
                   const std::optional<std::uint64_t>& dropout_seed = std::nullopt) {
  Team team;
  Found<T> result{.nats = 0, .gradient = std::vector<T>(at(parameters.size())), .state = {}};
  State<T> state(*network.plan, batch.carry.slots_needed);
  BatchPass<T> pass(network, team);
  pass.set_parameters(parameters);
  if (dropout_seed) pass.set_dropout_seed(*dropout_seed);
  enter_batch(batch, *network.plan, state);
  result.nats = pass.gradient(batch, state, 0.5, result.gradient);
  result.state.assign(state.values().begin(), state.values().end());
  return result;
}

struct ForwardRun {
  std::uint64_t seed = 1;
  int threads = 1;
  std::optional<std::uint64_t> dropout_seed = {};
};

/// Forward-mode pass over several batches of the same sequences.
template <class T>
Found<T> go_forward(const Network<T>& network, const Parameters<T>& parameters, const std::vector<Batch>& batches,
                    const std::string& method, const ForwardRun& run = {}) {
  Team team(run.threads);
  ForwardGradient<T> forward(network, GradientMethod::parse(method),
                             {.streams = batches.front().carry.slots_needed, .seed = run.seed}, team);
  Found<T> result{.nats = 0, .gradient = std::vector<T>(at(parameters.size())), .state = {}};
  std::vector<T> part(result.gradient.size());
  State<T> state(*network.plan, batches.front().carry.slots_needed);
  Index step = 0;
  for (const Batch& batch : batches) {
    enter_batch(batch, *network.plan, state);
    result.nats += forward.gradient(batch, state, parameters, step++, 0.5, part, run.dropout_seed);
    for (std::size_t i = 0; i < part.size(); ++i) result.gradient[i] += part[i];
    leave_batch(batch, state);
    forward.leave(batch);
  }
  result.state.assign(state.values().begin(), state.values().end());
  return result;
}

inline std::vector<Batch> cut(const std::vector<Index>& lengths, Index window, Index alphabet) {
  std::vector<Batch> batches;
  for (Index from = 0; from < *std::ranges::max_element(lengths); from += window)
    batches.push_back(random_batch(lengths, from, window, alphabet));
  return batches;
}

/// Returns the largest difference relative to the largest number of the second argument.
template <class T>
double distance(const std::vector<T>& a, const std::vector<T>& b) {
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference = std::max(difference, std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    largest = std::max(largest, std::fabs(static_cast<double>(b[i])));
  }
  return largest > 0 ? difference / largest : difference;
}

}  // namespace unfold::test
