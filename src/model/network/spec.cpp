#include "unfold/model/network/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/printable.h"
#include "graph/cells/autoregression.h"
#include "graph/cells/kernels.h"
#include "graph/circuit/cell_maps.h"
#include "graph/structure/whole_chains.h"
#include "model/network/density_model.h"
#include "model/network/linear.h"
#include "model/network/stored_spec.h"
#include "model/stored_cell/stored_cell.h"
#include "unfold/base/error.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/graph/cells/grid_pooling.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

constexpr double kMostLayers = 64, kMostDirect = 1024;
/// Standard deviation of the initial embeddings in trees, where most words are rare and untrained embeddings should
/// have little weight.
constexpr double kTreeScale = 0.1;
constexpr std::string_view kBothDirections = "bi";
constexpr const char* kDefaultLoss = "softmax";

/// Returns the options of the cell, followed by the options of all models.
OptionTable table_of(ModelSpec& spec) {
  OptionTable table;
  describe(table, spec.options);
  table("layers", spec.layers, "number of stacked cells", range(1, kMostLayers));
  table("residual", spec.residual,
        "add the input of each layer to its output; norm: also normalize the input of the layer",
        {{Residual::none, "none"}, {Residual::plain, "plain"}, {Residual::norm, "norm"}});
  table("dropout", spec.dropout, "dropout rate of the output of each layer", half_open_range(0, 1));
  table("embedding", spec.embedding, "size of the embedding of symbols; 0: none", range(0, kMostUnits));
  table("trained-initial", spec.trained_initial, "learn the initial state");
  table("pool", spec.pool, "how the states of a sequence are pooled for one prediction per sequence",
        {{Pool::last, "last"}, {Pool::mean, "mean"}, {Pool::max, "max"}, {Pool::all, "all"}});
  table("direct", spec.direct, "number of last inputs that the output reads directly", range(0, kMostDirect));
  table("gaussians", spec.gaussians,
        "with hybrid, above 0: the output also reads products of all pairs of inputs, and is initialized to this "
        "factor times the log densities of Gaussians fitted to each label",
        range(0, 1));
  table("attention", spec.attention,
        "with a source and a target: attention of each step to the positions of the source",
        {{Attend::none, "none"}, {Attend::additive, "additive"}, {Attend::multiplicative, "multiplicative"}});
  table("condition", spec.condition, "with a source and a target: how the summary of the source is used",
        {{Condition::start, "start"}, {Condition::steps, "steps"}, {Condition::both, "both"}});
  table("summary", spec.summary,
        "with a source and a target: activation of the summary and of initial states computed from it",
        {{Map::tanh, "tanh"}, {Map::relu, "relu"}});
  table("variational", spec.variational, "dropout masks are constant over a sequence or a window");
  table("dropouti", spec.dropouti, "dropout rate of the input of the first layer", half_open_range(0, 1));
  table("dropouth", spec.dropouth, "dropout rate between layers; 0: the same as dropout", half_open_range(0, 1));
  table("dropoute", spec.dropoute, "fraction of symbols whose embedding is dropped in a training step",
        half_open_range(0, 1));
  table("wdrop", spec.wdrop, "fraction of recurrent weights that is dropped in a training step", half_open_range(0, 1));
  table("tied", spec.tied, "the output uses the weights of the embedding");
  table.add({.name = "loss",
             .target = &spec.loss,
             .help = "loss of the next symbol of running text; adaptive-softmax for large vocabularies"});
  return table;
}

ModelSpec plain_model(const CellEntry& cell) {
  ModelSpec spec;
  spec.cell = &cell;
  spec.options = cell.options;
  spec.loss = kDefaultLoss;
  return spec;
}

/// Returns the entry of a model that is not a cell of the registry; null for other names.
const CellEntry* separate_model(std::string_view name) {
  for (const CellEntry* entry : {&linear_model(), &kernels_model(), &autoregression_model()})
    if (entry->name == name) return entry;
  return nullptr;
}

std::vector<std::string> spellings() {
  std::vector<std::string> names;
  for (const CellEntry& cell : cells())
    for (const Spelling& spelling : cell.spellings) names.push_back(spelling.name);
  return names;
}

/// Replaces an alias with the name of its cell. Explicit options override the options of the alias.
Spec plain_spelling(const Spec& spec) {
  for (const CellEntry& cell : cells())
    for (const Spelling& spelling : cell.spellings) {
      if (spec.name != spelling.name) continue;
      Spec plain = parse_spec(fmt::format("{}:{}", cell.name, spelling.options));
      plain.size = spec.size;
      for (const auto& given : spec.values) {
        std::erase_if(plain.values, [&](const auto& preset) { return preset.first == given.first; });
        plain.values.push_back(given);
      }
      return plain;
    }
  return spec;
}

/// Removes the prefix "bi" from the name, and returns whether it was present.
bool take_both_directions(Spec& spec) {
  if (!spec.name.starts_with(kBothDirections)) return false;
  Spec one = spec;
  one.name.erase(0, kBothDirections.size());
  one = plain_spelling(one);
  if (cells().find(one.name) == nullptr) return false;
  spec = std::move(one);
  return true;
}

Index parse_units(const Spec& spec) {
  if (spec.name == linear_model().name) {
    if (!spec.size.empty())
      throw UsageError(fmt::format("model {}: it has no units; leave out {}", spec.name, spec.size));
    return 0;
  }
  Index units = 0;
  OptionTable table;
  table("units", units, "", range(1, kMostUnits));
  if (spec.size.empty())
    throw UsageError(
        fmt::format("model {}: the number of units is missing; use for example {}:128", spec.name, spec.name));
  table.set(spec.name, "units", spec.size);
  return units;
}

/// Returns the dropout rate of the output of layer `layer`, counted from 1.
double rate_above(const ModelSpec& spec, Index layer) {
  return layer < spec.layers && spec.dropouth > 0 ? spec.dropouth : spec.dropout;
}

/// Returns the input of the first layer, after dropout.
Signal dropped_input(const ModelSpec& spec, Signal input, Circuit& circuit) {
  if (spec.dropouti == 0) return input;
  if (input.id < 0 || circuit.is_symbols(input))
    throw UsageError(
        fmt::format("model {}: dropouti applies to numbers, but the first layer reads symbols; add embedding={}",
                    to_string(spec), spec.units));
  return dropped(spec, input, spec.dropouti, circuit);
}

Signal joined(const std::vector<Signal>& signals, Circuit& circuit) {
  return signals.size() == 1 ? signals.front() : circuit.join(signals);
}

/// Adds links that read the signals at a neighboring position.
std::vector<Signal> beside(const std::vector<Signal>& signals, Delay where, Circuit& circuit) {
  std::vector<Signal> links;
  for (const Signal& signal : signals) {
    links.push_back(circuit.link(signal.size(), where));
    circuit.feed(links.back(), signal);
  }
  return links;
}

/// Returns the inputs from below of a layer that runs from a corner. If only preceding positions may be read, the first
/// layer reads the positions to the left and above, and the direction from the right reads the position above instead
/// of the current one, because its recurrence would otherwise carry later positions of the same row.
Signal read_from(std::size_t corner, const std::vector<Signal>& below, bool first, bool causal, Circuit& circuit) {
  if (!causal) return joined(below, circuit);
  std::vector<Signal> read = corner > 0 || first ? beside(below, Delay::up(), circuit) : below;
  if (corner == 0 && first)
    for (const Signal& left : beside(below, Delay::left(), circuit)) read.push_back(left);
  return joined(read, circuit);
}

/// Adds a layer over grids, from one corner or several, and returns its output before dropout.
std::vector<Signal> add_grid_layer(const ModelSpec& spec, const std::vector<Signal>& below, bool first,
                                   Circuit& circuit) {
  constexpr std::array<const char*, 4> kCorners = {"top-left", "top-right", "bottom-left", "bottom-right"};
  constexpr Index kUpper = 2;
  const Index directions = spec.cell->grid(spec.options).directions;
  std::vector<Signal> result;
  for (std::size_t corner = 0; corner < at(spec.causal ? std::min(directions, kUpper) : directions); ++corner) {
    const auto scope = circuit.scope(kCorners.at(corner));
    const Signal x = read_from(corner, below, first, spec.causal, circuit);
    const auto mirror = circuit.mirrored((corner & 1U) != 0, (corner & 2U) != 0);
    result.push_back(spec.cell->add(circuit, x, spec.units, spec.options, false));
  }
  return result;
}

/// Adds links that collect the signals of a finer grid (joined or separate) block by block.
std::vector<Signal> add_blocks(const std::vector<Signal>& fine, Index side, Circuit& circuit) {
  std::vector<Signal> blocks;
  for (const Signal& signal : fine) {
    blocks.push_back(circuit.link(side * side * signal.size(), Delay::block(side)));
    circuit.feed(blocks.back(), signal);
  }
  return blocks;
}

/// Builds layers over grids; between two of them, positions can be merged into blocks.
Layers build_grid_layers(const ModelSpec& spec, Signal input, Circuit& circuit) {
  const std::vector<Index> sides = patches_of(spec);
  int part = input_part(spec);
  Layers result{.top = input, .hidden = {}, .last = {}};
  std::vector<Signal> given = {input};
  for (std::size_t layer = 0; layer < at(spec.layers); ++layer) {
    const auto scope = circuit.scope(fmt::format("layer{}", layer + 1));
    const bool patched = layer < sides.size() && sides[layer] > 1;
    part -= patched ? 1 : 0;
    const auto in_part = circuit.in_part(part);
    if (patched) given = add_blocks(given, sides[layer], circuit);
    given = add_grid_layer(spec, given, layer == 0, circuit);
    result.hidden.insert(result.hidden.end(), given.begin(), given.end());
    result.last = given;
    const double rate = rate_above(spec, static_cast<Index>(layer) + 1);
    for (Signal& signal : given) signal = dropped(spec, signal, rate, circuit);
  }
  result.top = joined(given, circuit);
  return result;
}

/// Adds a layer in one direction or both, and returns its output before dropout.
std::vector<Signal> add_layer(const ModelSpec& spec, Signal x, Circuit& circuit) {
  const auto add = [&] { return spec.cell->add(circuit, x, spec.units, spec.options, spec.trained_initial); };
  if (!spec.both_directions) return {add()};
  std::vector<Signal> result;
  {
    const auto scope = circuit.scope("forward");
    result.push_back(add());
  }
  const auto scope = circuit.scope("backward");
  const auto from_the_end = circuit.reversed();
  result.push_back(add());
  return result;
}

/// Normalizes each signal: y_i = g_i (x_i - mean) / deviation + b_i.
Signal normalized(const std::vector<Signal>& signals, Circuit& circuit) {
  std::vector<Signal> result;
  for (const Signal& x : signals) {
    const auto scope = circuit.scope(signals.size() == 1 ? "read" : result.empty() ? "read-forward" : "read-backward");
    result.push_back(circuit.affine(
        "norm", x.size(), {{.parameter = "gain", .source = x, .init = Init::constant(1), .op = layer_norm(x.size())}}));
  }
  return joined(result, circuit);
}

/// Returns whether the output of a layer has the size of its input; the input can then be added to it.
bool is_residual_layer(const ModelSpec& spec, Index layer, const std::vector<Signal>& below, const Circuit& circuit) {
  if (spec.residual == Residual::none) return false;
  if (layer > 1) return true;
  const Signal x = below.front();
  return !spec.both_directions && x.id >= 0 && !circuit.is_symbols(x) && x.size() == spec.units;
}

/// A layer of a stack: its output before dropout and after dropout. The output after dropout is the input of the next
/// layer.
struct StackedLayer {
  std::vector<Signal> given, up;
};

StackedLayer add_stacked_layer(const ModelSpec& spec, Index layer, const std::vector<Signal>& below, Circuit& circuit) {
  const auto scope = circuit.scope(fmt::format("layer{}", layer));
  const bool adds = is_residual_layer(spec, layer, below, circuit);
  Signal x = adds && spec.residual == Residual::norm ? normalized(below, circuit) : joined(below, circuit);
  // A joined signal has a negative id and several parts, but this cell requires a single signal.
  if (x.id < 0 && !spec.cell->accepts_joined_input)
    x = circuit.affine("gather", spec.units, {{"J", x}}, Init::zero(), false);
  StackedLayer result = {.given = add_layer(spec, x, circuit), .up = {}};
  for (Signal& signal : result.given) result.up.push_back(dropped(spec, signal, rate_above(spec, layer), circuit));
  if (!adds) return result;
  if (result.up.front().size() != below.front().size())
    throw UsageError(
        fmt::format("model {}: residual= adds the input of a layer to its output, but their sizes are {} and {}; leave "
                    "out embedding={}",
                    to_string(spec), below.front().size(), result.up.front().size(), spec.embedding));
  for (std::size_t i = 0; i < below.size(); ++i) result.up[i] = below[i] + result.up[i];
  result.given = result.up;
  return result;
}

/// Throws UsageError for a loss that does not exist or does not predict symbols.
void require_symbol_loss(const std::string& loss, std::string_view text) {
  if (!choose_loss(loss).entry.of_symbols)
    throw UsageError(fmt::format(
        "model {}: the loss {} predicts numbers, but loss= sets the loss of the next symbol; use loss=softmax or "
        "loss=adaptive-softmax",
        in_quotes(text), loss));
}

/// Sets the options and units that a SPEC names.
ModelSpec with_options(ModelSpec result, const Spec& spec, std::string_view text) {
  OptionTable table = table_of(result);
  for (const auto& [key, value] : spec.values) table.set(spec.name, key, value);
  result.units = parse_units(spec);
  require_symbol_loss(result.loss, text);
  if (const std::string fault = result.cell->fault(result, result.options); !fault.empty())
    throw UsageError(fmt::format("model {}: {}", in_quotes(text), fault));
  if (result.residual != Residual::none && (result.cell->reads_grids() || result.cell->outputs_probabilities))
    throw UsageError(fmt::format("model {}: {}; leave out residual=", in_quotes(text),
                                 result.cell->reads_grids()
                                     ? "input and output of layers over grids have different sizes"
                                     : "a sum of probabilities is not a probability"));
  return result;
}

}  // namespace

ModelSpec parse_model_spec(std::string_view text, const std::vector<std::string>& others) {
  if (names_density(text)) return parse_density(text);
  Spec spec = plain_spelling(parse_spec(text));
  const bool both_directions = take_both_directions(spec);
  std::vector<std::string> further = spellings();
  for (const CellEntry* entry : {&linear_model(), &kernels_model(), &autoregression_model()})
    further.push_back(entry->name);
  for (std::string& name : density_names()) further.push_back(std::move(name));
  further.insert(further.end(), others.begin(), others.end());
  const CellEntry* separate = separate_model(spec.name);
  ModelSpec result = plain_model(separate != nullptr ? *separate : cells().get(spec.name, further));
  result.both_directions = both_directions;
  return with_options(std::move(result), spec, text);
}

ModelSpec parse_stored_spec(std::string_view text, std::shared_ptr<const StoredCell> cell) {
  const Spec spec = parse_spec(text);
  const std::string& name = cell->entry().name;
  if (spec.name != name && spec.name != std::string(kBothDirections) + name)
    throw UsageError(fmt::format("model {}: the stored cell is {}", in_quotes(text), name));
  ModelSpec result = plain_model(cell->entry());
  result.both_directions = spec.name != name;
  result.options.as<StoredOptions>().cell = std::move(cell);
  return with_options(std::move(result), spec, text);
}

std::string to_string(const ModelSpec& spec) {
  if (is_density(spec)) return spec.density;
  ModelSpec given = spec, plain = plain_model(*spec.cell);
  Spec result;
  if (spec.both_directions) result.name = kBothDirections;
  result.name += spec.cell->name;
  if (!is_linear(spec)) result.size = std::to_string(spec.units);
  result.values = non_default_values(table_of(given).help(), table_of(plain).help());
  return to_string(result);
}

Signal dropped(const ModelSpec& spec, Signal signal, double rate, Circuit& circuit) {
  return circuit.dropout(signal, rate, spec.variational ? Lasts::sequence : Lasts::position);
}

bool is_linear(const ModelSpec& spec) { return spec.cell == &linear_model(); }

bool has_random_graph(const ModelSpec& spec) { return spec.cell->graph != nullptr; }

Index& graph_seed(ModelSpec& spec) { return spec.cell->graph(spec.options); }

ModelSpec with_max_units(ModelSpec spec, Index units) {
  spec.cell->with_max_units(spec, spec.options, units);
  spec.embedding = std::min(spec.embedding, units);
  return spec;
}

Layers build_layers(const ModelSpec& spec, Signal input, Circuit& circuit) {
  Layers result{.top = input, .hidden = {}, .last = {}};
  if (is_linear(spec) || is_density(spec)) return result;
  // Symbols are not numbers and cannot be passed through links, so they are embedded first.
  const bool linked = spec.cell->reads_grids() && (spec.causal || patches_of(spec).front() > 1);
  const bool embeds = linked && circuit.is_symbols(input);
  if (const Index size = spec.embedding > 0 ? spec.embedding : embeds ? spec.units : 0; size > 0)
    result.top =
        circuit.affine("embedding", size, {{"W", input, Init::normal(spec.cell->reads_trees() ? kTreeScale : 1)}},
                       Init::zero(), false);
  result.top = dropped_input(spec, result.top, circuit);
  if (spec.cell->reads_grids()) return build_grid_layers(spec, result.top, circuit);
  std::vector<Signal> below = {result.top};
  for (Index layer = 1; layer <= spec.layers; ++layer) {
    auto [given, up] = add_stacked_layer(spec, layer, below, circuit);
    result.hidden.insert(result.hidden.end(), given.begin(), given.end());
    result.last = std::move(given);
    below = std::move(up);
  }
  result.top = joined(below, circuit);
  return result;
}

Signal pooled(const ModelSpec& spec, const Layers& layers, Circuit& circuit) {
  if (spec.cell->reads_trees()) return layers.top;       // read at the root
  if (spec.cell == &kernels_model()) return layers.top;  // read at the only position
  const auto scope = circuit.scope("pool");
  std::vector<Signal> parts =
      spec.cell->reads_grids() ? grid_pool(circuit, layers.last, spec.pool) : pool(circuit, layers.last, spec.pool);
  for (Signal& part : parts) part = dropped(spec, part, spec.dropout, circuit);
  return parts.size() == 1 ? parts.front() : circuit.join(std::move(parts));
}

std::vector<Index> patches_of(const ModelSpec& spec) {
  if (spec.cell == &kernels_model()) return {kWholeChains};
  return spec.cell->reads_grids() ? spec.cell->grid(spec.options).patches : std::vector<Index>();
}

int input_part(const ModelSpec& spec) {
  const std::vector<Index> sides = patches_of(spec);
  return static_cast<int>(std::ranges::count_if(sides, [](Index side) { return side != 1; }));
}

Init output_init(const ModelSpec& spec) { return spec.cell->output_init(spec.options); }

Signal add_output(const ModelSpec& spec, std::string_view name, Index size, const std::vector<Term>& terms,
                  Circuit& circuit) {
  const Signal linear = circuit.affine(name, size, terms);
  const Signal output = spec.cell->outputs_probabilities ? probabilities_to_logits(linear) : linear;
  circuit.output(output);
  return output;
}

ModelSignals build_model(const ModelSpec& spec, Index alphabet, Circuit& circuit) {
  if (spec.both_directions)
    throw UsageError(fmt::format(
        "model {} reads sequences in both directions, so it would see the symbol that it predicts; leave out \"{}\"",
        to_string(spec), kBothDirections));
  return build_model(spec, circuit.symbols("symbols", alphabet), alphabet, circuit);
}

ModelSignals build_model(const ModelSpec& spec, Signal input, Index outputs, Circuit& circuit) {
  if (is_linear(spec))
    throw UsageError(
        fmt::format("model {} labels the positions of data with fields (--format columns, --predict FIELD); it does "
                    "not support running text",
                    to_string(spec)));
  if (is_density(spec))
    throw UsageError(
        fmt::format("model {} is a distribution of vectors: rows of a table or an array (--format table, npy); it does "
                    "not support running text",
                    to_string(spec)));
  if (spec.gaussians > 0)
    throw UsageError(
        fmt::format("model {}: gaussians= requires vectors of numbers; leave it out for symbols", to_string(spec)));
  Layers layers = build_layers(spec, input, circuit);
  const Signal output = add_output(spec, "output", outputs, {{"V", layers.top, output_init(spec)}}, circuit);
  return {input, output, std::move(layers.hidden)};
}

std::vector<ModelHelp> models() {
  std::vector<ModelHelp> result;
  for (const CellEntry& cell : cells()) {
    ModelSpec plain = plain_model(cell);
    result.push_back({cell.name, cell.help, table_of(plain).help()});
  }
  for (const CellEntry* entry : {&linear_model(), &kernels_model(), &autoregression_model()})
    result.push_back({entry->name, entry->help, help_of(entry->options)});
  for (ModelHelp& help : density_help()) result.push_back(std::move(help));
  return result;
}

}  // namespace unfold
