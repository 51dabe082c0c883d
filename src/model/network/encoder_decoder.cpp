#include "model/network/encoder_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "graph/circuit/attention.h"
#include "unfold/base/error.h"
#include "unfold/data/text/batch.h"

namespace unfold {
namespace {

Signal crossing(Circuit& circuit, Signal source, Delay delay) {
  const Signal link = circuit.link(source.size(), delay);
  circuit.feed(link, source);
  return link;
}

/// Adds the encoder and returns its output at every position, after dropout: one signal, or one per direction.
std::vector<Signal> encode(const ModelSpec& spec, Signal source, Circuit& circuit) {
  const auto scope = circuit.scope("encoder");
  const auto part = circuit.in_part(kSourcePart);
  Layers layers = build_layers(spec, source, circuit);
  for (Signal& signal : layers.last) signal = dropped(spec, signal, spec.dropout, circuit);
  return layers.last;
}

/// Returns the last state of the forward direction and the first state of the backward direction.
Signal summarize(const ModelSpec& spec, const std::vector<Signal>& encoded, Circuit& circuit) {
  const auto part = circuit.in_part(kSummaryPart);
  std::vector<Signal> ends = {crossing(circuit, encoded[0], Delay::source_last())};
  if (encoded.size() > 1) ends.push_back(crossing(circuit, encoded[1], Delay::source_first()));
  return circuit.map(spec.summary, circuit.affine("summary", spec.units, {{"R", circuit.join(std::move(ends))}}));
}

/// Returns the summary of a source with one value per example.
Signal summarize_condition(const ModelSpec& spec, Signal source, Circuit& circuit) {
  if (spec.attention != Attend::none)
    throw UsageError(
        fmt::format("model {}: attention= requires a source with several positions; leave it out", to_string(spec)));
  if (spec.both_directions)
    throw UsageError(
        fmt::format("model {}: a source with one position has no directions, and a predicted sequence has only one; "
                    "leave out \"bi\"",
                    to_string(spec)));
  Signal given;
  {
    const auto part = circuit.in_part(kSourcePart);
    given = circuit.affine("given", spec.units, {{"G", source}});
  }
  const auto part = circuit.in_part(kSummaryPart);
  return circuit.map(spec.summary, crossing(circuit, given, Delay::source_last()));
}

/// Attention over the source; the query is the state before each step.
class SourceMemory {
 public:
  SourceMemory(const ModelSpec& spec, const std::vector<Signal>& encoded, Circuit& circuit)
      : spec_(spec), circuit_(circuit), looks_(std::max<Index>(1, spec.units / 2)) {
    const Signal all = circuit.join(encoded);
    keys_ = circuit.affine("keys", looks_, {{"B", all}}, Init::zero(), false);
    values_ = circuit.affine("values", spec.units, {{"V", all}}, Init::zero(), false);
  }

  Signal find(Signal before) const {
    const Signal query = circuit_.affine("query", looks_, {{"A", before}});
    const auto score = spec_.attention == Attend::additive ? AttentionScore::additive : AttentionScore::multiplicative;
    return attend(circuit_, "context", query, keys_, values_, score);
  }

 private:
  const ModelSpec& spec_;
  Circuit& circuit_;
  Index looks_;
  Signal keys_, values_;
};

}  // namespace

Layers build_encoder_decoder(const ModelSpec& spec, Signal source, bool once, Signal target, Circuit& circuit) {
  if (spec.dropouti > 0 || spec.dropoute > 0 || spec.tied)
    throw UsageError(
        fmt::format("model {}: with a source and a target, dropout also applies to the embedding, and input and output "
                    "weights are separate; leave out dropouti=, dropoute= and tied=",
                    to_string(spec)));
  std::vector<Signal> encoded;
  if (!once) encoded = encode(spec, source, circuit);
  const Signal summary = once ? summarize_condition(spec, source, circuit) : summarize(spec, encoded, circuit);
  const auto scope = circuit.scope("decoder");
  std::optional<SourceMemory> memory;
  if (spec.attention != Attend::none) memory.emplace(spec, encoded, circuit);
  const Signal none;
  const auto start = circuit.with_initial_state(spec.condition == Condition::steps ? none : summary);
  const Index embedding = spec.embedding > 0 ? spec.embedding : spec.units;
  // If the source has one value per example, the network is the unconditional network plus the terms of the source.
  const double drop = once ? 0 : spec.dropout;
  std::vector<Signal> read = {
      dropped(spec, circuit.affine("embedding", embedding, {{"E", target, Init::normal(1)}}, Init::zero(), false), drop,
              circuit)};
  if (spec.condition != Condition::start) read.push_back(crossing(circuit, summary, Delay::source_last()));
  Signal before, context;
  if (memory) {
    before = circuit.link(spec.units);
    context = memory->find(before);
    read.push_back(context);
  }
  ModelSpec own = spec;
  own.both_directions = false;
  own.embedding = 0;
  Layers layers = build_layers(own, read.size() == 1 ? read.front() : circuit.join(read), circuit);
  if (memory) {
    if (layers.last.front().size() != spec.units)
      throw UsageError("model " + to_string(spec) +
                       ": attention uses the output of the cell as the query, which is larger than the number of "
                       "units; use a different cell, or attention=none");
    circuit.feed(before, layers.last.front());
    layers.top = circuit.join({layers.top, dropped(spec, context, spec.dropout, circuit)});
  }
  layers.last.clear();
  return layers;
}

}  // namespace unfold
