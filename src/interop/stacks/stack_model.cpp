#include "interop/stacks/stack_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "unfold/base/error.h"
#include "unfold/data/examples/example_set.h"

namespace unfold {
namespace {

/// The location of a gate in the parameters of a model: columns [column n, column n + n) of the matrices "<input>" and
/// "<recurrent>". These weights times `sign` are those of gate number `gate` in PyTorch.
struct GatePlace {
  const char* input;
  const char* recurrent;
  Index column, gate;
  double sign;
};

/// Gate order of this library: LSTM i, f, o, g; GRU z, r, g. The GRU's z is 1 minus PyTorch's z, as it weights the new
/// state: sigmoid(-x), hence the sign.
std::vector<GatePlace> gate_places(StackCell cell) {
  switch (cell) {
    case StackCell::lstm: return {{"z", "z", 0, 0, 1}, {"z", "z", 1, 1, 1}, {"z", "z", 2, 3, 1}, {"z", "z", 3, 2, 1}};
    case StackCell::gru: return {{"w", "u", 0, 1, -1}, {"w", "u", 1, 0, 1}, {"w", "u", 2, 2, 1}};
    case StackCell::gru_before: return {{"zr", "zr", 0, 1, -1}, {"zr", "zr", 1, 0, 1}, {"g", "g", 0, 2, 1}};
    default: return {{"z", "z", 0, 0, 1}};
  }
}

StackCell cell_of(const ModelSpec& spec) {
  const Spec words = parse_spec(to_string(spec));
  std::string activation = "tanh", reset = "before";
  // Options that affect only initialization or training are not part of the trained function.
  constexpr std::array kSilent = {"layers", "dropout", "embedding", "forget-bias", "chrono",
                                  "init",   "scale",   "biases",    "pool",        "input-scale"};
  for (const auto& [key, value] : words.values) {
    if (key == "activation")
      activation = value;
    else if (key == "reset")
      reset = value;
    else if (std::ranges::find(kSilent, key) == kSilent.end() || (key == "biases" && value == "false"))
      throw UsageError(fmt::format("{}={} is not supported by the layers of PyTorch, Keras and RTNeural", key, value));
  }
  const std::string& name = spec.cell->name;
  if (name != "rnn" && activation != "tanh")
    throw UsageError(
        fmt::format("activation={} is not supported by the layers of PyTorch, Keras and RTNeural", activation));
  if (name == "lstm") return StackCell::lstm;
  if (name == "gru") return reset == "after" ? StackCell::gru : StackCell::gru_before;
  if (name == "rnn" && activation == "tanh") return StackCell::rnn_tanh;
  if (name == "rnn" && activation == "relu") return StackCell::rnn_relu;
  throw UsageError(fmt::format("other programs have no layer for {}; rnn (tanh, relu), lstm and gru are supported",
                               to_string(spec)));
}

/// z = (x - mean) / deviation
StackScale scale_of(const FieldSpecification& field) {
  StackScale scale{.shift = field.mean, .scale = field.deviation};
  for (double& x : scale.scale) x = 1 / x;
  return scale;
}

template <class T>
StackModel<T> checked(const ModelSpec& spec, const DataSpecification& data, const Circuit& circuit,
                      const Network<T>& network) {
  if (network.inputs.size() != 1) throw UsageError("it reads several fields, but such a layer reads only one");
  if (network.heads.size() != 1) throw UsageError("it predicts several fields, but such a layer predicts only one");
  if (circuit.is_read(network.heads.front().signal))
    throw UsageError("it reads its own outputs, which such a layer does not");
  const FieldSpecification &read = data.field(parse_read(network.inputs.front().field).field),
                           &given = data.field(network.heads.front().field);
  if (given.once) throw UsageError("it predicts " + given.name + " once per sequence, not at every position");
  if (read.source || read.spelt) throw UsageError("it reads " + read.name + " along a separate chain");
  const bool symbols = given.type == FieldSpecification::Type::symbols;
  if (const std::string_view loss = network.heads.front().loss->name(); loss != (symbols ? "softmax" : "gaussian"))
    throw UsageError(fmt::format("its loss is {}; other programs' layers end before a softmax or least squares", loss));
  const Index size = network.heads.front().signal.size();
  if (size != given.size)
    throw UsageError(fmt::format(
        "its loss needs {} outputs for {} values; only softmax and squared error are supported", size, given.size));
  return {spec, circuit, network, symbols, scale_of(read), scale_of(given)};
}

/// Names of the parameters of one direction of one layer.
class LayerNames {
 public:
  LayerNames(const ModelSpec& spec, Index layer, Index direction) : spec_(spec), layer_(layer) {
    prefix_ = fmt::format("layer{}/", layer + 1);
    if (spec.both_directions) prefix_ += direction == 0 ? "forward/" : "backward/";
  }
  std::string of(const char* map, const std::string& parameter) const {
    return fmt::format("{}{}/{}", prefix_, map, parameter);
  }
  /// Returns the input matrices; with a bidirectional layer below, one for each of its directions.
  std::vector<std::string> inputs(const char* map) const { return parts(layer_ > 0, of(map, "W")); }
  std::vector<std::string> outputs() const { return parts(true, "output/V"); }

 private:
  std::vector<std::string> parts(bool joined, const std::string& name) const {
    if (spec_.both_directions && joined) return {name + "1", name + "2"};
    return {name};
  }
  const ModelSpec& spec_;
  Index layer_;
  std::string prefix_;
};

bool has_parameter(const Circuit& circuit, const std::string& name) {
  return std::ranges::any_of(circuit.parameters(), [&](const ParameterInfo& p) { return p.name == name; });
}

/// Calls use(weight of the model, weight of the stack, sign) for every weight that both have. Biases that the stack
/// stores separately and the model stores as a sum are handled by set_biases and read_biases.
template <class T, class Stack, class Use>
class Correspondence {
 public:
  Correspondence(const StackModel<T>& model, Parameters<T>& parameters, Stack& stack, Use use)
      : model_(model), parameters_(parameters), stack_(stack), use_(use) {}

  void run() {
    if (stack_.embedding.rows > 0) {
      const Matrix<T> w = parameters_.at("embedding/W");
      require("embedding", w.rows, w.cols, stack_.embedding.rows, stack_.embedding.cols);
      for (Index r = 0; r < w.rows; ++r)
        for (Index j = 0; j < w.cols; ++j) use_(w(r, j), stack_.embedding(r, j), 1.0);
    }
    for (Index l = 0; l < stack_.depth(); ++l)
      for (Index d = 0; d < stack_.directions(); ++d)
        layer(LayerNames(model_.spec, l, d), stack_.layers[static_cast<std::size_t>(l * stack_.directions() + d)]);
    const LayerNames last(model_.spec, stack_.depth() - 1, 0);
    matrices("the linear layer", last.outputs(), 0, 0, stack_.output.rows, 1, stack_.output);
    const Matrix<T> bias = parameters_.at("output/bias");
    for (Index j = 0; j < bias.cols; ++j) use_(bias(0, j), stack_.output_bias[static_cast<std::size_t>(j)], 1.0);
  }

 private:
  template <class Layer>
  void layer(const LayerNames& names, Layer& theirs) {
    const Index n = stack_.units;
    for (const GatePlace& gate : gate_places(stack_.cell)) {
      matrices("an input matrix", names.inputs(gate.input), gate.column, gate.gate, n, gate.sign, theirs.input);
      matrices("a recurrent matrix", {names.of(gate.recurrent, "U")}, gate.column, gate.gate, n, gate.sign,
               theirs.recurrent);
    }
  }

  /// Columns of the model's matrices, stacked vertically, correspond to rows of the other program's matrix.
  template <class Theirs>
  void matrices(const char* what, const std::vector<std::string>& names, Index column, Index gate, Index n, double sign,
                Theirs& theirs) {
    Index from = 0;
    for (const std::string& name : names) {
      const Matrix<T> ours = parameters_.at(name);
      if (from + ours.rows > theirs.cols || (column + 1) * n > ours.cols || (gate + 1) * n > theirs.rows)
        refuse(what, name, ours, theirs.rows, theirs.cols);
      for (Index r = 0; r < ours.rows; ++r)
        for (Index j = 0; j < n; ++j) use_(ours(r, column * n + j), theirs(gate * n + j, from + r), sign);
      from += ours.rows;
    }
    if (from != theirs.cols) refuse(what, names.front(), parameters_.at(names.front()), theirs.rows, theirs.cols);
  }
  [[noreturn]] static void refuse(const char* what, const std::string& name, Matrix<T> ours, Index rows, Index cols) {
    throw UsageError(
        fmt::format("{} [{}, {}] does not fit the model's {} [{}, {}]", what, rows, cols, name, ours.rows, ours.cols));
  }
  static void require(const char* what, Index rows, Index cols, Index their_rows, Index their_cols) {
    if (rows != their_rows || cols != their_cols)
      throw UsageError(
          fmt::format("{} [{}, {}] does not fit the model's [{}, {}]", what, their_rows, their_cols, rows, cols));
  }

  const StackModel<T>& model_;
  Parameters<T>& parameters_;
  Stack& stack_;
  Use use_;
};

/// Sets the model's biases from a stack, which has two biases per gate.
template <class T>
void set_biases(const ModelSpec& spec, const StackWeights& stack, const LayerNames& names, const StackLayer& theirs,
                const Circuit& circuit, Parameters<T>& parameters) {
  const Index n = stack.units;
  const bool two = stack.cell == StackCell::gru && has_parameter(circuit, names.of("w", "bias"));
  for (const GatePlace& gate : gate_places(stack.cell)) {
    const Matrix<T> ours = parameters.at(names.of(gate.recurrent, "bias"));
    for (Index j = 0; j < n; ++j) {
      const auto k = static_cast<std::size_t>(gate.gate * n + j);
      const double input = theirs.input_bias[k], recurrent = theirs.recurrent_bias[k];
      T& bias = ours(0, gate.column * n + j);
      if (two) {
        parameters.at(names.of("w", "bias"))(0, gate.column * n + j) = static_cast<T>(gate.sign * input);
        bias = static_cast<T>(gate.sign * recurrent);
      } else if (stack.cell == StackCell::gru && gate.gate == 2) {
        if (input != 0)
          throw UsageError(
              fmt::format("its GRU has a bias outside the reset gate, which {} does not have; use {},biases=2",
                          to_string(spec), to_string(spec)));
        bias = static_cast<T>(recurrent);
      } else {
        bias = static_cast<T>(gate.sign * (input + recurrent));
      }
    }
  }
}

/// The inverse of set_biases. A single bias becomes the input bias, or for a GRU the recurrent bias, inside the reset
/// gate.
template <class T>
void read_biases(StackCell cell, Index n, const LayerNames& names, const Circuit& circuit, Parameters<T>& parameters,
                 StackLayer& theirs) {
  const bool inner = cell == StackCell::gru, two = inner && has_parameter(circuit, names.of("w", "bias"));
  for (const GatePlace& gate : gate_places(cell))
    for (Index j = 0; j < n; ++j) {
      const auto k = static_cast<std::size_t>(gate.gate * n + j);
      const Index column = gate.column * n + j;
      const double bias = gate.sign * static_cast<double>(parameters.at(names.of(gate.recurrent, "bias"))(0, column));
      (inner ? theirs.recurrent_bias : theirs.input_bias)[k] = bias;
      if (two) theirs.input_bias[k] = gate.sign * static_cast<double>(parameters.at(names.of("w", "bias"))(0, column));
    }
}

}  // namespace

template <class T>
StackModel<T> stack_holder(const LanguageModel<T>& model) {
  return checked(model.spec(), model.data(), model.circuit(), model.network());
}

template <class T>
StackModel<T> stack_holder(const NetworkModel<T>& model) {
  return checked(model.spec(), model.data(), model.circuit(), model.network());
}

template <class T>
StackWeights stack_of(const StackModel<T>& model, const Parameters<T>& parameters) {
  const ModelSpec& spec = model.spec;
  StackWeights stack;
  stack.cell = cell_of(spec);
  stack.units = spec.units;
  stack.both_directions = spec.both_directions;
  const Index gates = gates_of(stack.cell) * spec.units, read = model.input().size();
  const bool embedded = spec.embedding > 0;
  if (embedded && !model.reads_symbols()) throw UsageError("it has an embedding of numbers, which is not supported");
  if (embedded) stack.embedding = StackMatrix(read, spec.embedding);
  for (Index l = 0; l < spec.layers; ++l)
    for (Index d = 0; d < stack.directions(); ++d) {
      const Index below = l > 0 ? stack.directions() * spec.units : embedded ? spec.embedding : read;
      const std::vector<double> zeros(static_cast<std::size_t>(gates));
      stack.layers.push_back({StackMatrix(gates, below), StackMatrix(gates, spec.units), zeros, zeros});
    }
  stack.output = StackMatrix(model.output().size(), stack.directions() * spec.units);
  stack.output_bias.resize(static_cast<std::size_t>(stack.output.rows));
  Parameters<T> copy = parameters;  // Correspondence takes a mutable reference
  const auto use = [](T& ours, double& theirs, double sign) { theirs = sign * static_cast<double>(ours); };
  Correspondence<T, StackWeights, decltype(use)>(model, copy, stack, use).run();
  for (Index l = 0; l < spec.layers; ++l)
    for (Index d = 0; d < stack.directions(); ++d)
      read_biases(stack.cell, stack.units, LayerNames(spec, l, d), model.circuit, copy,
                  stack.layers[static_cast<std::size_t>(l * stack.directions() + d)]);
  rescale(stack, model.read, model.given);
  return stack;
}

std::string spec_of(const StackWeights& stack) {
  std::string text = stack.both_directions ? "bi" : "";
  switch (stack.cell) {
    case StackCell::rnn_tanh: text += fmt::format("rnn:{}", stack.units); break;
    case StackCell::rnn_relu: text += fmt::format("rnn:{},activation=relu", stack.units); break;
    case StackCell::lstm: text += fmt::format("lstm:{}", stack.units); break;
    case StackCell::gru: text += fmt::format("gru:{},reset=after,biases=2", stack.units); break;
    case StackCell::gru_before: text += fmt::format("gru:{}", stack.units); break;
  }
  if (stack.depth() > 1) text += fmt::format(",layers={}", stack.depth());
  if (stack.embedding.rows > 0) text += fmt::format(",embedding={}", stack.embedding.cols);
  return text;
}

void adopt_activation(const ModelSpec& spec, StackWeights& stack) {
  if (stack.cell == StackCell::rnn_tanh && spec.cell->name == "rnn") stack.cell = cell_of(spec);
}

void require_layers(const ModelSpec& spec, const StackWeights& stack) {
  if (cell_of(spec) != stack.cell || spec.units != stack.units || spec.layers != stack.depth() ||
      spec.both_directions != stack.both_directions || spec.embedding != stack.embedding.cols)
    throw UsageError(fmt::format("the file contains {}, but the model is {}", spec_of(stack), to_string(spec)));
}

template <class T>
void set_weights(const StackModel<T>& model, const StackWeights& theirs, Parameters<T>& parameters) {
  const ModelSpec& spec = model.spec;
  StackWeights stack = theirs;
  require_layers(spec, stack);
  if (stack.output.rows != model.output().size())
    throw UsageError(
        fmt::format("the file has {} outputs, but the model has {}", stack.output.rows, model.output().size()));
  if (stack.symbols() != model.input().size())
    throw UsageError(fmt::format("the file reads {} {}, but the model reads {}", stack.symbols(),
                                 model.reads_symbols() ? "symbols" : "numbers", model.input().size()));
  rescale(stack, model.read.inverse(), model.given.inverse());
  const auto use = [](T& ours, const double& number, double sign) { ours = static_cast<T>(sign * number); };
  Correspondence<T, const StackWeights, decltype(use)>(model, parameters, stack, use).run();
  for (Index l = 0; l < spec.layers; ++l)
    for (Index d = 0; d < stack.directions(); ++d)
      set_biases(spec, stack, LayerNames(spec, l, d),
                 stack.layers[static_cast<std::size_t>(l * stack.directions() + d)], model.circuit, parameters);
}

#define UNFOLD_INSTANTIATE(T)                                                 \
  template StackModel<T> stack_holder(const LanguageModel<T>&);               \
  template StackModel<T> stack_holder(const NetworkModel<T>&);                \
  template StackWeights stack_of(const StackModel<T>&, const Parameters<T>&); \
  template void set_weights(const StackModel<T>&, const StackWeights&, Parameters<T>&);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
