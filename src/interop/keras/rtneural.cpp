#include "interop/keras/rtneural.h"

#include <nlohmann/json.hpp>

#include "unfold/base/error.h"

namespace unfold {
namespace {

using Json = nlohmann::json;

/// Returns the input weights of the first layer for one-hot input: multiplied by the embedding if there is one.
StackMatrix without_embedding(const StackWeights& stack) {
  const StackMatrix &w = stack.layers.front().input, &e = stack.embedding;
  if (e.rows == 0) return w;
  StackMatrix result(w.rows, e.rows);
  for (Index i = 0; i < w.rows; ++i)
    for (Index s = 0; s < e.rows; ++s)
      for (Index j = 0; j < e.cols; ++j) result(i, s) += w(i, j) * e(s, j);
  return result;
}

/// Transposes a weight matrix: row r of the result holds the weights of input r, with gates in the given order.
Json kernel(const StackMatrix& w, const std::vector<Index>& order, Index n) {
  Json rows = Json::array();
  for (Index r = 0; r < w.cols; ++r) {
    Json row = Json::array();
    for (const Index gate : order)
      for (Index i = 0; i < n; ++i) row.push_back(static_cast<float>(w(gate * n + i, r)));
    rows.push_back(std::move(row));
  }
  return rows;
}

Json reordered(const std::vector<double>& bias, const std::vector<Index>& order, Index n) {
  Json row = Json::array();
  for (const Index gate : order)
    for (Index i = 0; i < n; ++i) row.push_back(static_cast<float>(bias[static_cast<std::size_t>(gate * n + i)]));
  return row;
}

}  // namespace

std::string rtneural_json(const StackWeights& stack) {
  const Index n = stack.units;
  const bool lstm = stack.cell == StackCell::lstm;
  if (stack.both_directions) throw UsageError("RTNeural does not support bidirectional layers");
  if (!lstm && stack.cell != StackCell::gru)
    throw UsageError(std::string("RTNeural has no ") + to_string(stack.cell) +
                     "; lstm, and gru with reset=after, can be written");
  const std::vector<Index> order = lstm ? std::vector<Index>{0, 1, 2, 3} : std::vector<Index>{1, 0, 2};
  Json layers = Json::array();
  for (std::size_t l = 0; l < stack.layers.size(); ++l) {
    const StackLayer& layer = stack.layers[l];
    Json weights = {kernel(l == 0 ? without_embedding(stack) : layer.input, order, n),
                    kernel(layer.recurrent, order, n)};
    if (lstm) {
      std::vector<double> bias = layer.input_bias;
      for (std::size_t i = 0; i < bias.size(); ++i) bias[i] += layer.recurrent_bias[i];
      weights.push_back(reordered(bias, order, n));
    } else {
      weights.push_back({reordered(layer.input_bias, order, n), reordered(layer.recurrent_bias, order, n)});
    }
    layers.push_back({{"type", lstm ? "lstm" : "gru"},
                      {"activation", "tanh"},
                      {"shape", {nullptr, nullptr, n}},
                      {"weights", std::move(weights)}});
  }
  layers.push_back(
      {{"type", "dense"},
       {"activation", ""},
       {"shape", {nullptr, nullptr, stack.output.rows}},
       {"weights",
        {kernel(stack.output, {0}, stack.output.rows), reordered(stack.output_bias, {0}, stack.output.rows)}}});
  return Json{{"in_shape", {nullptr, nullptr, stack.symbols()}}, {"layers", std::move(layers)}}.dump() + "\n";
}

}  // namespace unfold
