#include "unfold/model/network/network_body.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "graph/cells/autoregression.h"
#include "graph/cells/built_in.h"
#include "graph/cells/kernels.h"
#include "graph/circuit/concatenation.h"
#include "loss/crf/label_sequences.h"
#include "loss/crf/sequence_label.h"
#include "loss/symbol_probabilities.h"
#include "model/network/density_model.h"
#include "model/network/encoder_decoder.h"
#include "model/network/feedback.h"
#include "model/network/linear.h"
#include "model/network/order_agnostic.h"
#include "model/network/regularization.h"
#include "model/network/stored_spec.h"
#include "model/stored_cell/stored_cell.h"
#include "unfold/base/error.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/data/text/text_batches.h"
#include "unfold/loss/registry.h"
#include "unfold/loss/tree_merges.h"
#include "unfold/model/parameter_tensors.h"

namespace unfold {
namespace {

using Json = nlohmann::json;
using Type = FieldSpecification::Type;

/// Key of the card with the circuits of a cell that is not built in.
constexpr const char* kCellKey = "cell";
/// Key of the card with the reason why these circuits are missing.
constexpr const char* kNotStored = "not-stored";
/// Key of the card with the inputs that are outputs of the network.
constexpr const char* kFeedbackKey = "feedback";

/// Returns the name of a cell without the prefix "bi", which selects layers in both directions.
std::string cell_name(const std::string& spec) {
  const std::string name(spec_name(spec));
  return name.starts_with("bi") && cells().find(name) == nullptr ? name.substr(2) : name;
}

/// Returns why the circuits of the cell are not in the card; empty if they are.
std::string reason_not_stored(const Json& cell) {
  return cell.is_object() && cell.contains(kNotStored) && cell[kNotStored].is_string()
             ? cell[kNotStored].get<std::string>()
             : std::string();
}

ModelSpec spec_of(const ModelFile& file) {
  const auto text = file.value<std::string>("model");
  const Json cell = file.has(kCellKey) ? file.value<Json>(kCellKey) : Json();
  const std::string reason = reason_not_stored(cell);
  const bool is_stored = !cell.is_null() && reason.empty();
  try {
    return is_stored ? parse_stored_spec(text, StoredCell::from_json(cell)) : parse_model_spec(text);
  } catch (const UsageError& error) {
    if (const std::string name = cell_name(text); !is_stored && cells().find(name) == nullptr)
      file.fail(fmt::format(
          "the model is {}, and \"{}\" is neither a built-in cell nor stored in the file{}: the program that loads the "
          "model must register it, register_cell(\"{}\", ...) of <include/unfold/graph/cells/register_cell.h>, as the "
          "program that trained it did; or use a later version of Unfold",
          text, name, reason.empty() ? "" : fmt::format(" ({})", reason), name));
    file.fail(fmt::format("the model in the card cannot be built: {}", error.what()));
  }
}

/// Returns whether a model reads the numbers of several fields as channels, without an embedding.
bool reads_channels(const ModelSpec& spec) {
  return spec.cell == &kernels_model() || spec.cell == &autoregression_model();
}

/// Returns the SPEC of a new model, with the circuits of its cell if that is not built in.
template <class T>
ModelSpec spec_to_keep(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout) {
  if (is_density(spec) || is_linear(spec) || reads_channels(spec) || is_built_in_cell(spec.cell->name) ||
      stored_cell_of(spec.options) != nullptr)
    return spec;
  ModelSpec result = spec;
  StoredCell::record(*spec.cell, [&](const std::shared_ptr<const StoredCell>& cell) {
    result.cell = &cell->entry();
    result.options = StoredOptions{.own = spec.options, .cell = cell};
    Circuit circuit;
    build_network<T>(result, data, layout, circuit);
  });
  return result;
}

/// Standard deviation of the initial embeddings if there are several fields; small, so that training soon outweighs it.
constexpr double kFieldScale = 0.1;
/// Scale for the parameter vector of a density: the components of a mixture must differ initially.
constexpr double kDensityScale = 0.3;

/// Limit for terms with all products of pairs of inputs.
constexpr Index kMostGaussianNumbers = 128;

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

/// Adds the last `spec.direct` inputs as terms of an output: "D1" the current one, "D2" the previous one, ...; with
/// several fields "FIELD/D1", ... The characters of words are a separate chain and are not read directly.
std::vector<Term> direct_terms(const ModelSpec& spec, const std::vector<NetworkInput>& inputs, Circuit& circuit,
                               std::deque<std::string>& names) {
  std::vector<Term> terms;
  for (const NetworkInput& input : inputs) {
    const Node& read = circuit.nodes()[static_cast<std::size_t>(input.signal.id)];
    if (read.part > 0) continue;
    if (read.kind() == Node::Kind::symbols && spec.direct > 1)
      throw UsageError(fmt::format("model {}: direct={} is supported only for numbers; use direct=1 for symbols",
                                   to_string(spec), spec.direct));
    for (Index back = 1; back <= spec.direct; ++back) {
      Signal source = input.signal;
      if (back > 1) circuit.feed(source = circuit.link(input.signal.size(), Delay::previous(back - 1)), input.signal);
      names.push_back(fmt::format("{}D{}", inputs.size() > 1 ? input.field + "/" : "", back));
      terms.push_back({.parameter = names.back(), .source = source, .init = Init::zero()});
    }
  }
  return terms;
}

/// Adds the terms of log densities of Gaussians: "G" for the numbers, "G0" for their squares, "G1" for the products of
/// each number with the next, ...
void add_gaussian_terms(const ModelSpec& spec, const NetworkLayout& layout, const DataSpecification& data,
                        const std::vector<NetworkInput>& inputs, Circuit& circuit, std::deque<std::string>& names,
                        std::vector<Term>& terms) {
  if (spec.gaussians == 0) return;
  const HeadSpecification& head = layout.heads.front();
  if (layout.heads.size() > 1 || !data.field(head.field).once || spec_name(head.loss) != "hybrid")
    throw UsageError(
        fmt::format("model {}: gaussians= requires one label per sequence, predicted by hybrid (--predict F=hybrid:3); "
                    "leave it out",
                    to_string(spec)));
  const Signal x = inputs.front().signal;
  if (inputs.size() > 1 || circuit.is_symbols(x) || x.size() > kMostGaussianNumbers)
    throw UsageError(fmt::format("model {}: gaussians= requires one field of at most {} numbers; leave it out",
                                 to_string(spec), kMostGaussianNumbers));
  const auto add = [&](std::string name, Signal source) {
    names.push_back(std::move(name));
    terms.push_back({.parameter = names.back(), .source = source, .init = Init::zero()});
  };
  add("G", x);
  for (Index apart = 0; apart < x.size(); ++apart) {
    const Index size = x.size() - apart;
    add(fmt::format("G{}", apart), circuit.slice(x, 0, size) * circuit.slice(x, apart, size));
  }
}

/// Returns the terms of a head of a linear model: the listed pairs (without a listing, all symbols with all labels) and
/// the numbers.
std::vector<Term> linear_terms(const std::vector<NetworkInput>& inputs, const std::shared_ptr<const Listing>& listing,
                               const Circuit& circuit) {
  std::vector<Term> terms;
  std::vector<Signal> symbols;
  for (const NetworkInput& input : inputs)
    if (circuit.is_symbols(input.signal) && listing != nullptr)
      symbols.push_back(input.signal);
    else
      terms.push_back({.parameter = input.field, .source = input.signal, .init = Init::zero()});
  if (!symbols.empty())
    terms.push_back({.parameter = "features",
                     .source = symbols.front(),
                     .init = Init::zero(),
                     .op = listed_operator(listing),
                     .symbols = symbols});
  return terms;
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

/// Half the size of the vector that determines which neighbors of a tree are merged.
constexpr Index kMergeSize = 16;

/// Adds the representation of a node as a child, in a network that builds trees. It is computed from the last layer,
/// before dropout.
Signal add_merges(const ModelSpec& spec, const Layers& layers, Circuit& circuit) {
  if (spec.cell->children(spec.options) < 2)
    throw UsageError(fmt::format("model {}: found trees have two unordered children per node; use tree-lstm:{}",
                                 to_string(spec), spec.units));
  return circuit.affine("merges", 2 * kMergeSize, {{"M", layers.last.front()}});
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

/// Throws UsageError for an input that cannot be the network's own output.
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

/// Adds everything below the heads. If some field is a source, this is an encoder-decoder network.
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

/// The inputs of heads: every position, or the whole sequence.
class HeadSignals {
 public:
  HeadSignals(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout, const Layers& layers,
              const std::vector<NetworkInput>& inputs, Circuit& circuit)
      : spec_(spec),
        layers_(layers),
        inputs_(inputs),
        circuit_(circuit),
        direct_(direct_terms(spec, inputs, circuit, names_)) {
    add_gaussian_terms(spec, layout, data, inputs, circuit, names_, direct_);
  }

  /// Adds an affine map to `size` numbers.
  Signal add(const std::string& name, Index size, bool once, const std::shared_ptr<const Listing>& listing) {
    if (is_linear(spec_)) return add_linear(name, size, once, listing);
    if (is_density(spec_)) return add_density(name, size);
    if (!once && spec_.cell == &kernels_model())
      throw UsageError(
          fmt::format("model {} predicts once per series, not at every position; use a different model, such as "
                      "gru:128",
                      to_string(spec_)));
    if (once && spec_.cell == &autoregression_model())
      throw UsageError(
          fmt::format("model {} predicts at every position, not once per sequence; use a different model, such as "
                      "gru:128",
                      to_string(spec_)));
    if (once && !pooled_.valid()) pooled_ = pooled(spec_, layers_, circuit_);
    std::vector<Term> terms = {{"V", once ? pooled_ : layers_.top, output_init(spec_)}};
    if (!once) terms.insert(terms.end(), direct_.begin(), direct_.end());
    return add_output(spec_, name, size, terms, circuit_);
  }

 private:
  /// Adds an output that is linear in the inputs. Listed pairs need no bias, because at every position each label
  /// occurs in at least one pair.
  Signal add_linear(const std::string& name, Index size, bool once, const std::shared_ptr<const Listing>& listing) {
    if (once)
      throw UsageError(
          fmt::format("model {} predicts at every position, not once per sequence; use a different model, such as "
                      "gru:128",
                      to_string(spec_)));
    const std::vector<Term> terms = linear_terms(inputs_, listing, circuit_);
    const bool listed = terms.size() == 1 && terms.front().op != nullptr;
    const Signal output = circuit_.affine(name, size, terms, Init::zero(), !listed);
    circuit_.output(output);
    return output;
  }

  /// Adds a parameter vector: the input is the constant 1. Orderless layers, which read some of the predicted values,
  /// have weights; the components of mixtures are initialized to different values.
  Signal add_density(const std::string& name, Index size) {
    const bool known = is_orderless(spec_);
    const Signal read = inputs_.front().signal;
    std::vector<Term> terms = {known ? Term{"V", layers_.top} : Term{"signal", read, Init::normal(kDensityScale)}};
    if (known && orderless_options(spec_).direct) terms.push_back({"D", read, Init::zero()});
    const bool mixtures = known && losses().get(spec_name(spec_.density)).density == Density::orderless_numbers;
    const Signal output =
        circuit_.affine(name, size, terms, mixtures ? Init::normal(kDensityScale) : Init::zero(), known);
    circuit_.output(output);
    return output;
  }

  const ModelSpec& spec_;
  const Layers& layers_;
  const std::vector<NetworkInput>& inputs_;
  Circuit& circuit_;
  std::deque<std::string> names_;  // names of the direct terms, which refer to them
  std::vector<Term> direct_;
  Signal pooled_;
};

/// `of_symbols`: the loss of symbols if the head does not name a loss; empty: softmax.
ChosenLoss loss_for(const HeadSpecification& head, const FieldSpecification& field, const std::string& of_symbols) {
  const bool symbols = field.type == Type::symbols;
  const std::string fallback = !symbols ? "gaussian" : of_symbols.empty() ? "softmax" : of_symbols;
  ChosenLoss loss = choose_loss(head.loss.empty() ? fallback : head.loss);
  if (loss.entry.of_symbols != symbols)
    throw UsageError(fmt::format("the loss {} requires {}, but the field {} contains {}", loss.entry.name,
                                 loss.entry.of_symbols ? "symbols" : "numbers", field.name,
                                 symbols ? "symbols" : "numbers"));
  return loss;
}

/// Passes the label names, and whether there is one label per sequence, to losses over whole sequences. Returns true if
/// such a loss reads the signal at every position although there is one label per sequence. Throws UsageError if the
/// loss does not support this.
template <class T>
bool set_label_names(Loss<T>& loss, const FieldSpecification& field) {
  const bool one = field.once && loss.template as<LabelSequences<T>>() != nullptr;
  if (one) {
    auto* whole = dynamic_cast<SequenceLabel<T>*>(&loss);
    if (whole == nullptr)
      throw UsageError(fmt::format(
          "the loss {} requires labels at every position, but {} is predicted once per sequence; use softmax or hybrid",
          loss.name(), field.name));
    whole->one_label();
  }
  auto* named = dynamic_cast<NamedLabels<T>*>(&loss);
  if (named == nullptr || !field.alphabet) return one;
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(field.size));
  for (Symbol x = 0; x < field.size; ++x) names.emplace_back(field.alphabet->text(x));
  named->name_labels(names);
  return one;
}

/// Returns the size of the signal that a head of a linear model reads.
Index outputs_of(const DataSpecification& data, const HeadSpecification& head) {
  const FieldSpecification& field = data.field(head.field);
  return loss_for(head, field, {}).signal_size(field.size);
}

}  // namespace

Json NetworkLayout::heads_to_json() const {
  Json list = Json::array();
  for (const HeadSpecification& head : heads) {
    Json json = {{"field", head.field}};
    if (!head.loss.empty()) json["loss"] = head.loss;
    if (head.weight != 1) json["weight"] = head.weight;
    list.push_back(std::move(json));
  }
  return list;
}

NetworkLayout NetworkLayout::from_file(const ModelFile& file) {
  NetworkLayout layout;
  try {
    layout.reads = file.value<Json>("reads").get<std::vector<std::string>>();
    if (file.has(kFeedbackKey)) layout.feedback = file.value<Json>(kFeedbackKey).get<std::vector<std::string>>();
    for (const Json& head : file.value<Json>("heads"))
      layout.heads.push_back({.field = head.at("field").get<std::string>(),
                              .loss = head.value("loss", std::string()),
                              .weight = head.value("weight", 1.0)});
    for (std::size_t h = 0; h < layout.heads.size(); ++h)
      layout.heads[h].listing =
          read_listing(file, layout.output_name(h), layout.reads, outputs_of(file.data(), layout.heads[h]));
  } catch (const Json::exception&) {
    file.fail("\"reads\", \"heads\" or \"feedback\" in the card is invalid");
  } catch (const UsageError& error) {
    file.fail(fmt::format("\"heads\" in the card: {}", error.what()));
  }
  return layout;
}

NetworkLayout NetworkLayout::language_model() { return {.reads = {kPreviousSymbol}, .heads = {{.field = kSymbol}}}; }

std::string NetworkLayout::output_name(std::size_t head) const {
  return heads.size() > 1 ? "output/" + heads[head].field : "output";
}

std::vector<std::string> NetworkLayout::listing_tensors() const {
  std::vector<std::string> names;
  for (std::size_t h = 0; h < heads.size(); ++h)
    if (heads[h].listing != nullptr)
      for (std::string& name : unfold::listing_tensors(output_name(h))) names.push_back(std::move(name));
  return names;
}

void NetworkLayout::add_listings(SafetensorsWriter& writer) const {
  for (std::size_t h = 0; h < heads.size(); ++h)
    if (heads[h].listing != nullptr) add_listing(writer, output_name(h), *heads[h].listing);
}

template <class T>
Network<T> build_network(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout,
                         Circuit& circuit, const NetworkVariant& variant) {
  if (layout.heads.empty()) throw UsageError("a network must predict at least one field");
  if (is_density(spec) && !names_density(layout.heads.front().loss))
    throw UsageError(
        fmt::format("model {} is a distribution of vectors: rows of a table or an array (--format table, npy); it "
                    "supports no other predictions",
                    to_string(spec)));
  require_feedback_possible(spec, data, layout);
  Network<T> network;
  FeedbackLoops loops(layout, variant.feedback);
  std::vector<NetworkInput> read;
  const Layers layers = add_layers(spec, data, layout, circuit, loops, read);
  network.inputs = loops.inputs(read);
  loops.require_feedback();
  HeadSignals signals(spec, data, layout, layers, read, circuit);
  for (std::size_t h = 0; h < layout.heads.size(); ++h) {
    const HeadSpecification& head = layout.heads[h];
    const FieldSpecification& field = data.field(head.field);
    const ChosenLoss chosen = loss_for(head, field, spec.loss);
    if (is_density(spec) && static_cast<Index>(density_columns(spec, field.size).size()) != field.size)
      throw UsageError(fmt::format("model {} has {} columns, but a row of the data has {} numbers", to_string(spec),
                                   density_columns(spec, field.size).size(), field.size));
    if (is_orderless(chosen.entry.density) && !is_orderless(spec))
      throw UsageError(
          fmt::format("{} is a model (--model {}) and cannot be used as the loss of other models; nade can", head.loss,
                      chosen.entry.name));
    if (field.once && layers.last.empty() && !is_linear(spec) && !is_density(spec))
      throw UsageError(
          fmt::format("{} has one entry per example; with a source and a target, the predicted field must have one "
                      "entry per position of the target",
                      head.field));
    if (spec.cell->outputs_probabilities && (field.type != Type::symbols || variant.candidates > 0))
      throw UsageError(fmt::format("model {} outputs probabilities of all symbols and {}", to_string(spec),
                                   field.type != Type::symbols
                                       ? "cannot predict numbers; use a different model, such as gru:128"
                                       : "does not support a sampled softmax; leave --sampled-softmax out"));
    if (data.grids && !field.once && input_part(spec) > 0)
      throw UsageError(
          fmt::format("model {}: {} is predicted at every position, but with patch a position of the last layer is a "
                      "block; leave out patch=",
                      to_string(spec), head.field));
    const Index size = chosen.signal_size(variant.candidates > 0 ? variant.candidates : field.size);
    const std::shared_ptr<Loss<T>> loss = chosen.make<T>();
    if (auto* counted = dynamic_cast<SymbolCount<T>*>(loss.get()); counted != nullptr) {
      if (spec.cell->outputs_probabilities || has_random_graph(spec))
        throw UsageError(
            fmt::format("model {}: its output is initialized from frequencies of symbols or consists of their "
                        "probabilities, which the loss {} does not support; use a different model, such as gru:128",
                        to_string(spec), loss->name()));
      counted->set_symbols(field.size);
    }
    const bool everywhere = set_label_names(*loss, field);
    const Signal signal = signals.add(layout.output_name(h), size, field.once && !everywhere, head.listing);
    loss->declare(circuit, signal);
    network.heads.push_back({head.field, signal, loss, head.weight});
  }
  for (const Head<T>& head : network.heads) loops.close(head, circuit);
  if (data.found) network.merges = add_merges(spec, layers, circuit);
  if (variant.merges) {
    circuit.output(network.merges);
    network.heads.push_back({kMergeField, network.merges, merge_loss<T>(), 1});
  }
  if (variant.output_hidden) {
    for (const Signal hidden : layers.hidden) circuit.output(hidden);
    network.hidden = layers.hidden;
  }
  network.plan = std::make_shared<const Plan>(circuit);
  network.dropout =
      std::ranges::any_of(circuit.nodes(), [](const Node& node) { return node.kind() == Node::Kind::mask; });
  // With feedback, the input weights are also part of a loop.
  if (!variant.feedback) network.drops = weight_drops(spec, *network.plan);
  // With sampled candidates, matrices are not tied here: the whole matrices would have to be tied, not the columns of
  // the sample.
  if (spec.tied && variant.candidates == 0) network.ties = {tied_weights(spec, layout, circuit)};
  network.validate();
  return network;
}

void require_options_used(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout) {
  const ModelSpec plain;
  const auto once = [&](const HeadSpecification& head) { return data.field(head.field).once; };
  const auto source = [&](const std::string& read) { return data.field(parse_read(read).field).source; };
  if (spec.pool != plain.pool && std::ranges::none_of(layout.heads, once))
    throw UsageError(fmt::format(
        "model {}: pool= applies to one prediction per sequence, but every position is predicted; leave it out",
        to_string(spec)));
  if (spec.direct > 0 && std::ranges::all_of(layout.heads, once))
    throw UsageError(
        fmt::format("model {}: direct= applies to predictions at every position, but there is one prediction per "
                    "sequence; leave it out",
                    to_string(spec)));
  if (spec.variational && spec.dropout + spec.dropouti + spec.dropouth == 0)
    throw UsageError(
        fmt::format("model {}: variational applies to dropout, but there is none; leave it out", to_string(spec)));
  if (spec.dropouth > 0 && spec.layers == 1)
    throw UsageError(
        fmt::format("model {}: dropouth applies between layers, but there is only one; use dropout or more layers",
                    to_string(spec)));
  if (spec.residual != Residual::none && spec.layers == 1 && (spec.embedding != spec.units || spec.both_directions))
    throw UsageError(
        fmt::format("model {}: residual= requires a layer whose input and output have the same size; use more layers, "
                    "or embedding={}",
                    to_string(spec), spec.units));
  if (spec.condition != plain.condition && std::ranges::none_of(layout.reads, source))
    throw UsageError(
        fmt::format("model {}: condition= requires a source (--format pairs); leave it out", to_string(spec)));
}

template <class T>
NetworkBody<T>::NetworkBody(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout)
    : spec_(spec_to_keep<T>(spec, data, layout)),
      circuit_(std::make_unique<Circuit>()),
      network_(build_network<T>(spec_, data, layout, *circuit_)),
      parameters_(*circuit_) {}

template <class T>
NetworkBody<T>::NetworkBody(const ModelFile& file, const DataSpecification& data, const NetworkLayout& layout)
    : spec_(spec_of(file)), circuit_(std::make_unique<Circuit>()) {
  try {
    network_ = build_network<T>(spec_, data, layout, *circuit_);
  } catch (const UsageError& error) {
    file.fail(fmt::format("the model in the card cannot be built: {}", error.what()));
  }
  check_tensors<T>(*circuit_, file.tensors(), layout.listing_tensors());
  parameters_ = Parameters<T>(*circuit_);
  read_tensors(file.tensors(), parameters_);
}

void add_cell_to_card(const ModelSpec& spec, Json& card) {
  const auto cell = stored_cell_of(spec.options);
  if (cell == nullptr) return;
  std::vector<std::string> given;
  for (const auto& [name, value] : non_default_values(help_of(spec.options), help_of(spec.cell->options)))
    given.push_back(name);
  try {
    card[kCellKey] = cell->to_json(given);
  } catch (const UsageError& error) {
    card[kCellKey] = {{kNotStored, error.what()}};
  }
}

template Network<float> build_network(const ModelSpec&, const DataSpecification&, const NetworkLayout&, Circuit&,
                                      const NetworkVariant&);
template Network<double> build_network(const ModelSpec&, const DataSpecification&, const NetworkLayout&, Circuit&,
                                       const NetworkVariant&);
template class NetworkBody<float>;
template class NetworkBody<double>;

}  // namespace unfold
