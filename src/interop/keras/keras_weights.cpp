/// Keras weights (named_arrays.h), identified by the paths that Keras 3 assigns to them. Source: the documentation of
/// keras.layers.SimpleRNN, LSTM, GRU, Embedding and Dense, and the order of gates in their cells.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "interop/stacks/named_arrays.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::string_view kRecurrent = "/recurrent_kernel", kKernel = "/kernel", kEmbeddings = "/embeddings";

/// Transposes a kernel [rows x gates n] and reorders its blocks of n columns into PyTorch's gate order.
StackMatrix turned(const StackMatrix& kernel, const std::vector<Index>& order, Index n) {
  StackMatrix result(kernel.cols, kernel.rows);
  for (std::size_t gate = 0; gate < order.size(); ++gate)
    for (Index i = 0; i < n; ++i)
      for (Index r = 0; r < kernel.rows; ++r)
        result(static_cast<Index>(gate) * n + i, r) = kernel(r, order[gate] * n + i);
  return result;
}

std::vector<double> reordered(const std::vector<double>& bias, std::size_t from, const std::vector<Index>& order,
                              Index n) {
  std::vector<double> result;
  result.reserve(order.size() * static_cast<std::size_t>(n));
  for (const Index gate : order)
    for (Index i = 0; i < n; ++i) result.push_back(bias[from + static_cast<std::size_t>(gate * n + i)]);
  return result;
}

class KerasReader {
 public:
  KerasReader(const NamedArrays& arrays, bool relu) : arrays_(arrays), relu_(relu) {
    for (const NpyArray& array : arrays.all()) left_.insert(array.name);
    for (const NpyArray& array : arrays.all())
      if (array.name.ends_with(kRecurrent))
        read_layer(array.name.substr(0, array.name.size() - kRecurrent.size()), arrays.matrix(array));
    if (relu && stack_.cell != StackCell::rnn_relu)
      throw UsageError("--activation applies only to a SimpleRNN; leave it out");
    if (stack_.both_directions && stack_.layers.size() % 2 != 0) arrays.fail("a direction of a layer is missing");
    read_rest();
    if (!left_.empty())
      arrays.fail(
          fmt::format("{} does not belong to a supported layer: at most one Embedding, SimpleRNN, LSTM or GRU layers "
                      "of equal size, one Dense",
                      *left_.begin()));
  }
  StackWeights result() { return std::move(stack_); }

 private:
  StackMatrix take(const std::string& name, Index rows, Index cols) {
    const NpyArray* array = arrays_.find(name);
    if (array == nullptr) arrays_.fail("it has no " + name);
    left_.erase(name);
    return arrays_.matrix(*array, rows, cols);
  }

  /// Reads one layer. Layers are read from the input upwards; `stack_.layers` holds the layers below.
  void read_layer(const std::string& path, const StackMatrix& recurrent) {
    const Index n = recurrent.rows, gates = n > 0 ? recurrent.cols / n : 0;
    if (gates * n != recurrent.cols || (gates != 1 && gates != 3 && gates != 4))
      arrays_.fail(fmt::format("{}{} has shape [{}, {}], which does not fit a SimpleRNN, LSTM or GRU", path, kRecurrent,
                               recurrent.rows, recurrent.cols));
    const NpyArray* bias = arrays_.find(path + "/bias");
    const bool two = bias != nullptr && bias->shape == std::vector<Index>{2, gates * n};
    const StackCell cell = gates == 4   ? StackCell::lstm
                           : gates == 1 ? (relu_ ? StackCell::rnn_relu : StackCell::rnn_tanh)
                           : two        ? StackCell::gru
                                        : StackCell::gru_before;
    const bool backward = path.find("/backward_") != std::string::npos || path.starts_with("backward_");
    if (stack_.layers.empty()) {
      stack_.cell = cell;
      stack_.units = n;
    } else if (cell != stack_.cell || n != stack_.units) {
      arrays_.fail(fmt::format("its layers differ: {} of {} units and {} of {}", to_string(stack_.cell), stack_.units,
                               to_string(cell), n));
    }
    if (backward && stack_.layers.size() == 1) stack_.both_directions = true;
    if (backward != (stack_.both_directions && stack_.layers.size() % 2 == 1))
      arrays_.fail("its layers must be either all unidirectional or all bidirectional");
    left_.erase(path + std::string(kRecurrent));
    left_.erase(path + "/bias");
    const std::vector<Index> order = gates == 3   ? std::vector<Index>{1, 0, 2}
                                     : gates == 4 ? std::vector<Index>{0, 1, 2, 3}
                                                  : std::vector<Index>{0};
    const NpyArray* kernel = arrays_.find(path + std::string(kKernel));
    if (kernel == nullptr || kernel->shape.empty()) arrays_.fail("it has no " + path + std::string(kKernel));
    const StackMatrix w = take(kernel->name, kernel->shape.front(), gates * n);
    const auto size = static_cast<std::size_t>(gates * n);
    std::vector<double> numbers = bias != nullptr ? bias->values : std::vector<double>(size);
    if (numbers.size() != (two ? 2 : 1) * size) arrays_.fail(path + "/bias has a different size from its layer");
    StackLayer layer{.input = turned(w, order, n), .recurrent = turned(recurrent, order, n)};
    layer.input_bias = reordered(numbers, 0, order, n);
    layer.recurrent_bias = two ? reordered(numbers, size, order, n) : std::vector<double>(size);
    stack_.layers.push_back(std::move(layer));
  }

  void read_rest() {
    const std::set<std::string> rest = left_;
    std::vector<std::string> dense;
    for (const std::string& name : rest) {
      if (name.ends_with(kEmbeddings)) {
        left_.erase(name);
        stack_.embedding = arrays_.matrix(*arrays_.find(name));
      } else if (name.ends_with(kKernel)) {
        dense.push_back(name);
      }
    }
    if (dense.size() != 1)
      arrays_.fail(fmt::format("it has {} Dense layers, but exactly one is supported: {}", dense.size(),
                               fmt::join(dense, ", ")));
    if (stack_.embedding.rows > 0 && stack_.embedding.cols != stack_.inputs())
      arrays_.fail(fmt::format("the embedding has {} outputs, but the first layer reads {}", stack_.embedding.cols,
                               stack_.inputs()));
    const std::string path = dense.front().substr(0, dense.front().size() - kKernel.size());
    const NpyArray& kernel = *arrays_.find(dense.front());
    if (kernel.shape.size() != 2) arrays_.fail(dense.front() + " is not a matrix");
    const StackMatrix v = take(dense.front(), stack_.directions() * stack_.units, kernel.shape[1]);
    stack_.output = turned(v, {0}, v.cols);
    left_.erase(path + "/bias");
    stack_.output_bias = arrays_.vector(path + "/bias", v.cols);
  }

  const NamedArrays& arrays_;
  bool relu_;
  std::set<std::string> left_;
  StackWeights stack_;
};

}  // namespace

bool has_keras_names(const NamedArrays& arrays) {
  return std::ranges::any_of(arrays.all(), [](const NpyArray& array) { return array.name.ends_with(kRecurrent); });
}

StackWeights stack_from_keras(const NamedArrays& arrays, bool relu) { return KerasReader(arrays, relu).result(); }

}  // namespace unfold
