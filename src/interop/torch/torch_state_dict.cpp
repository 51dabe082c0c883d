/// PyTorch state dicts (named_arrays.h). Source: the documentation of torch.nn.RNN, LSTM, GRU, Embedding, Linear.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "interop/stacks/named_arrays.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::string_view kInputWeights = "weight_ih_l", kReverse = "_reverse";

/// The parts of a name such as "rnn.weight_ih_l2_reverse".
struct TorchName {
  std::string module;  ///< "rnn."
  Index layer = 0;
  bool reverse = false;
};

std::optional<TorchName> input_weights(std::string_view name) {
  const std::size_t begin = name.rfind(kInputWeights);
  if (begin == std::string_view::npos || (begin > 0 && name[begin - 1] != '.')) return std::nullopt;
  TorchName parts{.module = std::string(name.substr(0, begin))};
  std::string_view rest = name.substr(begin + kInputWeights.size());
  parts.reverse = rest.ends_with(kReverse);
  if (parts.reverse) rest.remove_suffix(kReverse.size());
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), parts.layer);
  if (error != std::errc() || end != rest.data() + rest.size()) return std::nullopt;
  return parts;
}

std::string layer_suffix(Index layer, bool reverse) {
  return fmt::format("l{}{}", layer, reverse ? kReverse : std::string_view());
}

/// Returns the only module with recurrent layers.
std::string recurrent_module(const NamedArrays& arrays) {
  std::set<std::string> modules;
  for (const NpyArray& array : arrays.all())
    if (const auto parts = input_weights(array.name)) modules.insert(parts->module);
  if (modules.empty()) arrays.fail("it has no weight_ih_l0, the weights of a torch.nn.RNN, LSTM or GRU");
  if (modules.size() > 1)
    arrays.fail(fmt::format("it has several recurrent modules, {}; only one is supported", fmt::join(modules, ", ")));
  return *modules.begin();
}

/// Removes each array that it reads, so that any array that remains at the end is unexpected.
class TorchReader {
 public:
  TorchReader(const NamedArrays& arrays, bool relu) : arrays_(arrays), module_(recurrent_module(arrays)) {
    for (const NpyArray& array : arrays.all()) left_.insert(array.name);
    const StackMatrix first = take(module_ + "weight_ih_l0"), recurrent = take(module_ + "weight_hh_l0");
    stack_.units = recurrent.cols;
    const Index gates = recurrent.cols > 0 ? recurrent.rows / recurrent.cols : 0;
    if (gates * recurrent.cols != recurrent.rows || (gates != 1 && gates != 3 && gates != 4))
      arrays.fail(fmt::format("{}weight_hh_l0 has shape [{}, {}], which does not fit an RNN, LSTM or GRU", module_,
                              recurrent.rows, recurrent.cols));
    stack_.cell = gates == 4   ? StackCell::lstm
                  : gates == 3 ? StackCell::gru
                  : relu       ? StackCell::rnn_relu
                               : StackCell::rnn_tanh;
    if (relu && gates != 1) throw UsageError("--activation applies only to a torch.nn.RNN; leave it out");
    stack_.both_directions = arrays.find(module_ + "weight_ih_l0_reverse") != nullptr;
    read_layers(first.cols);
    read_output();
    read_embedding();
    if (!left_.empty())
      arrays.fail(
          fmt::format("{} does not belong to a supported layer: at most one Embedding, one RNN, LSTM or GRU without "
                      "proj_size, one Linear",
                      *left_.begin()));
  }
  StackWeights result() { return std::move(stack_); }

 private:
  StackMatrix take(const std::string& name) {
    const NpyArray* array = arrays_.find(name);
    if (array == nullptr) arrays_.fail("it has no " + name);
    left_.erase(name);
    return arrays_.matrix(*array);
  }

  void read_layers(Index inputs) {
    const Index rows = gates_of(stack_.cell) * stack_.units;
    for (Index l = 0; arrays_.find(module_ + "weight_ih_" + layer_suffix(l, false)) != nullptr; ++l)
      for (Index d = 0; d < stack_.directions(); ++d) {
        const std::string suffix = layer_suffix(l, d == 1);
        const Index below = l == 0 ? inputs : stack_.directions() * stack_.units;
        const auto matrix = [&](const char* what, Index cols) {
          const std::string name = module_ + what + suffix;
          take(name);
          return arrays_.matrix(*arrays_.find(name), rows, cols);
        };
        const auto bias = [&](const char* what) {
          left_.erase(module_ + what + suffix);
          return arrays_.vector(module_ + what + suffix, rows);
        };
        StackLayer layer{.input = matrix("weight_ih_", below), .recurrent = matrix("weight_hh_", stack_.units)};
        layer.input_bias = bias("bias_ih_");
        layer.recurrent_bias = bias("bias_hh_");
        stack_.layers.push_back(std::move(layer));
      }
  }

  /// Names of the remaining arrays that end in "weight", which are identified by their bias or their position.
  std::vector<std::string> weights_left() const {
    std::vector<std::string> names;
    for (const std::string& name : left_)
      if (name == "weight" || name.ends_with(".weight")) names.push_back(name);
    return names;
  }
  static std::string bias_of(const std::string& weight) { return weight.substr(0, weight.size() - 6) + "bias"; }

  void read_output() {
    std::vector<std::string> names = weights_left();
    std::erase_if(names, [&](const std::string& name) { return arrays_.find(bias_of(name)) == nullptr; });
    if (names.empty() && arrays_.find("linear.weight") != nullptr) names = {"linear.weight"};
    if (names.size() != 1)
      arrays_.fail(
          fmt::format("Linear layers with a bias: {}; exactly one is required (a Linear without a bias must be "
                      "called \"linear\")",
                      names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
    stack_.output = take(names.front());
    if (stack_.output.cols != stack_.directions() * stack_.units)
      arrays_.fail(fmt::format("{} reads {} numbers, but the last layer has {} outputs", names.front(),
                               stack_.output.cols, stack_.directions() * stack_.units));
    left_.erase(bias_of(names.front()));
    stack_.output_bias = arrays_.vector(bias_of(names.front()), stack_.output.rows);
  }

  void read_embedding() {
    const std::vector<std::string> names = weights_left();
    if (names.empty()) return;
    stack_.embedding = take(names.front());
    if (stack_.embedding.cols != stack_.inputs())
      arrays_.fail(fmt::format("{} has {} outputs, but the first layer reads {}", names.front(), stack_.embedding.cols,
                               stack_.inputs()));
  }

  const NamedArrays& arrays_;
  std::string module_;
  std::set<std::string> left_;
  StackWeights stack_;
};

NpyArray array_of(std::string name, const StackMatrix& matrix) {
  return {std::move(name), {matrix.rows, matrix.cols}, matrix.numbers};
}

NpyArray array_of(std::string name, const std::vector<double>& numbers) {
  return {std::move(name), {static_cast<Index>(numbers.size())}, numbers};
}

}  // namespace

bool has_torch_names(const NamedArrays& arrays) {
  return std::ranges::any_of(arrays.all(), [](const NpyArray& array) { return input_weights(array.name).has_value(); });
}

StackWeights stack_from_torch(const NamedArrays& arrays, bool relu) { return TorchReader(arrays, relu).result(); }

std::vector<NpyArray> torch_arrays(const StackWeights& stack) {
  if (stack.cell == StackCell::gru_before)
    throw UsageError(
        "PyTorch's GRU applies the reset gate after the recurrent product (reset=after); this one does so before");
  std::vector<NpyArray> arrays;
  if (stack.embedding.rows > 0) arrays.push_back(array_of("embedding.weight", stack.embedding));
  for (std::size_t i = 0; i < stack.layers.size(); ++i) {
    const auto number = static_cast<Index>(i);
    const std::string suffix = layer_suffix(number / stack.directions(), number % stack.directions() == 1);
    const StackLayer& layer = stack.layers[i];
    arrays.push_back(array_of("rnn.weight_ih_" + suffix, layer.input));
    arrays.push_back(array_of("rnn.weight_hh_" + suffix, layer.recurrent));
    arrays.push_back(array_of("rnn.bias_ih_" + suffix, layer.input_bias));
    arrays.push_back(array_of("rnn.bias_hh_" + suffix, layer.recurrent_bias));
  }
  arrays.push_back(array_of("linear.weight", stack.output));
  arrays.push_back(array_of("linear.bias", stack.output_bias));
  return arrays;
}

}  // namespace unfold
