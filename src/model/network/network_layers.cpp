#include "model/network/network_layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <span>

#include "graph/cells/kernels.h"
#include "graph/circuit/concatenation.h"
#include "model/network/encoder_decoder.h"
#include "model/network/linear.h"
#include "model/network/order_agnostic.h"
#include "unfold/base/error.h"
#include "unfold/data/examples/example_set.h"

namespace unfold {
namespace {

/// Standard deviation of the initial embeddings if there are several fields; small, so that training soon outweighs it.
constexpr double kFieldScale = 0.1;

/// Units of the network over the characters of a word, in each direction, and size of its embedding (Lample et al.
/// 2016).
constexpr Index kSpellingUnits = 25;

/// Adds a bidirectional network over the characters of a word and returns its final states, at the position of the
/// word.
Signal add_spelling(const ModelSpec& spec, const NetworkInput& input, Circuit& circuit) {
  const auto scope = circuit.scope(input.field);
  ModelSpec small = spec;
  small.units = std::min(kSpellingUnits, spec.units);
  small.layers = 1;
  small.embedding = small.units;
  small.both_directions = true;
  Layers layers;
  {
    const auto part = circuit.in_part(kSpellingPart);
    layers = build_layers(small, input.signal, circuit);
  }
  std::vector<Signal> ends;
  for (const auto& [signal, delay] :
       {std::pair{layers.last[0], Delay::source_last()}, std::pair{layers.last[1], Delay::source_first()}}) {
    ends.push_back(circuit.link(signal.size(), delay));
    circuit.feed(ends.back(), signal);
  }
  return circuit.join(std::move(ends));
}

/// Concatenates numeric inputs as channels.
Signal add_channels(const ModelSpec& spec, std::span<const NetworkInput> inputs, Circuit& circuit) {
  std::vector<Signal> channels;
  for (const NetworkInput& input : inputs) {
    if (circuit.is_symbols(input.signal))
      throw UsageError(
          fmt::format("model {} reads numbers, but {} contains symbols; leave the column out with --read, or use "
                      "another model",
                      spec.cell->name, input.field));
    channels.push_back(input.signal);
  }
  return concatenate(circuit, "channels", channels);
}

/// Embeds one input, or several jointly. Appends to `inputs`.
Signal add_inputs(const ModelSpec& spec, const DataSpecification& data, const std::vector<std::string>& reads,
                  Circuit& circuit, FeedbackLoops& loops, std::vector<NetworkInput>& inputs) {
  if (reads.empty()) throw UsageError("a network must read at least one field");
  const auto is_spelt = [&](const std::string& name) { return data.field(parse_read(name).field).spelt; };
  const bool several = reads.size() > 1 || is_spelt(reads.front());
  const std::size_t before = inputs.size();
  for (const std::string& name : reads) {
    const FieldSpecification& field = data.field(parse_read(name).field);
    const bool symbols = field.type == Type::symbols;
    const std::string signal = several ? name : symbols ? "symbols" : "values";
    if (field.spelt && is_linear(spec))
      throw UsageError(fmt::format("model {}: {} is a character-level field, which requires layers; use {}",
                                   to_string(spec), name, "FIELD.prefix3, FIELD.suffix3 and similar fields"));
    std::optional<Circuit::InPart> part;
    if (field.spelt) part.emplace(circuit, kSpellingPart);
    inputs.push_back({name, loops.open(name, field, signal, circuit)});
  }
  if (!several || is_linear(spec)) return inputs.back().signal;
  if (reads_channels(spec)) return add_channels(spec, std::span(inputs).subspan(before), circuit);
  std::vector<Term> terms;
  terms.reserve(reads.size());
  for (const NetworkInput& input : std::span(inputs).subspan(before))
    terms.push_back({.parameter = input.field,
                     .source = is_spelt(input.field) ? add_spelling(spec, input, circuit) : input.signal,
                     .init = Init::normal(kFieldScale)});
  const Index size = spec.embedding > 0 ? spec.embedding : spec.units;
  return dropped(spec, circuit.affine("fields", size, terms, Init::zero(), false),
                 spec.dropouti > 0 ? spec.dropouti : spec.dropout, circuit);
}

/// Throws if a bidirectional network would read the field that it predicts.
void require_causal(const ModelSpec& spec, const NetworkLayout& layout) {
  if (!layout.feedback.empty())
    throw UsageError(
        fmt::format("model {} reads sequences in both directions, but its outputs are read at later positions; leave "
                    "out \"bi\"",
                    to_string(spec)));
  for (const std::string& read : layout.reads)
    for (const HeadSpecification& head : layout.heads)
      if (parse_read(read).field == head.field)
        throw UsageError(
            fmt::format("model {} reads sequences in both directions, so it would see the field {} that it predicts; "
                        "leave out \"bi\"",
                        to_string(spec), head.field));
}

/// Returns the kind of structure that the examples have.
const char* positions_of(bool trees, bool grids) { return trees ? "trees" : grids ? "grids" : "sequences"; }

/// Checks that trees and grids are read by cells for trees and grids, and sequences by other cells.
void require_fitting_cell(const ModelSpec& spec, const DataSpecification& data) {
  const CellEntry& own = *spec.cell;
  if (own.reads_trees() == data.trees && own.reads_grids() == data.grids) return;
  std::vector<std::string> names;
  for (const CellEntry& cell : cells())
    if (cell.reads_trees() == data.trees && cell.reads_grids() == data.grids && names.size() < 4)
      names.push_back(fmt::format("{}:{}", cell.name, spec.units > 0 ? spec.units : 128));
  throw UsageError(fmt::format(
      "model {} reads {}, but the data consists of {}; use one of {}{}", to_string(spec),
      positions_of(own.reads_trees(), own.reads_grids()), positions_of(data.trees, data.grids), fmt::join(names, ", "),
      own.reads_trees()   ? ", or use trees (--format trees)"
      : own.reads_grids() ? ", or use images (--format images) or text as grids (--format grids)"
                          : ""));
}

/// Returns whether a field over grids is both read and predicted, in which case a position must not read itself. Throws
/// UsageError if the model does not support this.
bool predicts_what_it_reads(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout) {
  const auto is_read = [&](const HeadSpecification& head) {
    return std::ranges::find(layout.reads, head.field) != layout.reads.end();
  };
  if (!data.grids || std::ranges::none_of(layout.heads, is_read)) return false;
  if (input_part(spec) > 0 || spec.direct > 0)
    throw UsageError(
        fmt::format("model {}: patch= and direct= are not supported if a predicted field is also an input, because it "
                    "is predicted from the preceding positions; leave them out",
                    to_string(spec)));
  return true;
}

}  // namespace

bool reads_channels(const ModelSpec& spec) {
  return spec.cell == &kernels_model() || spec.cell == &autoregression_model();
}

void require_feedback_possible(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout) {
  if (!layout.feedback.empty() && (data.trees || data.grids))
    throw UsageError(
        fmt::format("model {}: outputs are read at later positions of a sequence, but the data consists of "
                    "{}; leave out feedback",
                    to_string(spec), positions_of(data.trees, data.grids)));
  for (const std::string& read : layout.feedback) {
    const FieldRead what = parse_read(read);
    const auto reads_it = [&](const HeadSpecification& head) { return head.field == what.field; };
    if (what.back == 0 || std::ranges::none_of(layout.heads, reads_it) || data.field(what.field).once)
      throw UsageError(
          fmt::format("feedback: {} is not an earlier output of the network; name \"previous F\" for a field F that is "
                      "predicted at every position",
                      read));
  }
}

Layers add_layers(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout, Circuit& circuit,
                  FeedbackLoops& loops, std::vector<NetworkInput>& inputs) {
  require_fitting_cell(spec, data);
  std::vector<std::string> sources, own;
  for (const std::string& read : layout.reads)
    (data.field(parse_read(read).field).source ? sources : own).push_back(read);
  own.insert(own.end(), layout.feedback.begin(), layout.feedback.end());
  ModelSpec stack = spec;
  if (is_orderless(spec))
    return {.top = add_orderless(spec, data.field(layout.heads.front().field).size, circuit, inputs),
            .hidden = {},
            .last = {}};
  if (sources.empty()) {
    stack.causal = predicts_what_it_reads(spec, data, layout);
    std::optional<Circuit::InPart> part(std::in_place, circuit, input_part(spec));
    const Signal input = add_inputs(spec, data, own, circuit, loops, inputs);
    part.reset();
    if (spec.both_directions) require_causal(spec, layout);
    if (spec.attention != Attend::none)
      throw UsageError(
          fmt::format("model {}: attention= requires a source (--format pairs); leave it out", to_string(spec)));
    if (own.size() > 1 || data.field(parse_read(own.front()).field).spelt)
      stack.embedding = 0, stack.dropouti = 0;  // the fields are already embedded, with dropout
    return build_layers(stack, input, circuit);
  }
  if (spec.direct > 0)
    throw UsageError(
        fmt::format("model {}: direct= is not supported with a source and a target; leave it out", to_string(spec)));
  if (own.empty())
    throw UsageError("a decoder must read its previous output: also read \"previous\" of the predicted field");
  Signal source;
  {
    const auto scope = circuit.scope("source");
    const auto part = circuit.in_part(kSourcePart);
    source = add_inputs(spec, data, sources, circuit, loops, inputs);
  }
  if (sources.size() > 1) stack.embedding = 0;
  const Signal target = add_inputs(spec, data, own, circuit, loops, inputs);
  const bool once =
      std::ranges::all_of(sources, [&](const std::string& read) { return data.field(parse_read(read).field).once; });
  return build_encoder_decoder(stack, source, once, target, circuit);
}

}  // namespace unfold
