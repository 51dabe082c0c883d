#include "unfold/model/network/network_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "graph/cells/built_in.h"
#include "loss/symbol_probabilities.h"
#include "model/network/density_model.h"
#include "model/network/head_signals.h"
#include "model/network/linear.h"
#include "model/network/network_layers.h"
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
          read_listing(file, layout.output_name(h), layout.reads, signal_size_of(file.data(), layout.heads[h]));
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
  const bool conditioned = spec.condition != plain.condition;
  if ((conditioned || spec.summary != plain.summary) && std::ranges::none_of(layout.reads, source))
    throw UsageError(fmt::format("model {}: {}= requires a source (--format pairs); leave it out", to_string(spec),
                                 conditioned ? "condition" : "summary"));
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
