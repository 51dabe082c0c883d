#pragma once
/// What PyTorch, Keras and RTNeural hold of a recurrent network: stacked layers of one kind of cell, in one direction
/// or both, below them perhaps an embedding, above them one linear layer. In PyTorch's layout and order of gates, so
/// that the names and orders of others are one conversion each:
///
///   from PyTorch's state dict (torch_names.h) ---+                     +--- a model of ours (stack_model.h)
///   from Keras' weights (keras_names.h) ---------+--- StackWeights ----+
///   to RTNeural (rtneural.h) --------------------+                     +--- what the equations give (reference)
///
/// Source: the documentation of torch.nn.RNN, LSTM, GRU; Keras' GRU with reset_after=False for gru_before.

#include <string>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Row-major.
struct StackMatrix {
  Index rows = 0, cols = 0;
  std::vector<double> numbers = {};

  StackMatrix() = default;
  StackMatrix(Index r, Index c) : rows(r), cols(c), numbers(static_cast<std::size_t>(r * c)) {}
  double& operator()(Index r, Index c) { return numbers[static_cast<std::size_t>(r * cols + c)]; }
  double operator()(Index r, Index c) const { return numbers[static_cast<std::size_t>(r * cols + c)]; }
};

enum class StackCell {
  rnn_tanh,
  rnn_relu,
  lstm,       ///< gates i, f, g, o
  gru,        ///< r, z, n; n = tanh(W x + b + r (U h + b'))
  gru_before  ///< r, z, n; n = tanh(W x + b + U (r h)): Keras alone
};
Index gates_of(StackCell cell);         ///< 1, 4 or 3
const char* to_string(StackCell cell);  ///< "LSTM", as PyTorch says; "GRU with reset_after=False"

/// One layer in one direction; G gates of n units each, that read m numbers.
struct StackLayer {
  StackMatrix input = {};                                    ///< [G n x m]
  StackMatrix recurrent = {};                                ///< [G n x n]
  std::vector<double> input_bias = {}, recurrent_bias = {};  ///< [G n]
};

struct StackWeights {
  StackCell cell = StackCell::lstm;
  Index units = 0;
  bool both_directions = false;
  std::vector<StackLayer> layers = {};  ///< from below; of both directions forward, then backward of each
  StackMatrix embedding = {};           ///< [symbols x m]; no rows: none, and symbols are read as vectors of one 1
  StackMatrix output = {};              ///< [outputs x n], of both directions [outputs x 2 n]
  std::vector<double> output_bias = {};

  Index directions() const { return both_directions ? 2 : 1; }
  Index depth() const { return static_cast<Index>(layers.size()) / directions(); }
  Index inputs() const { return layers.front().input.cols; }  ///< numbers that the first layer reads
  /// Symbols, or numbers, that it can be given: rows of the embedding, or else inputs.
  Index symbols() const { return embedding.rows > 0 ? embedding.rows : inputs(); }
  std::vector<double> vector_of(Symbol symbol) const;  ///< what the first layer reads for it; kNoSymbol: zeros
};

/// What the network gives at each position for what the first layer reads there: the equations, one number at a time,
/// in double. States start from zero.
std::vector<std::vector<double>> reference(const StackWeights& stack, const std::vector<std::vector<double>>& x);

/// Moves what a symbol adds into the biases of the first layer, so that nothing stands for it: the network that reads
/// "no symbol" then gives what this one gives for that symbol. REQUIRES one direction.
void fold_symbol(StackWeights& stack, Symbol symbol);

/// y = scale (x - shift), number by number; empty: y = x.
struct StackScale {
  std::vector<double> shift = {}, scale = {};
  StackScale inverse() const;
  double operator()(double x, Index i) const;
};
/// The network that reads x where this one reads read(x), and gives y where this one gives given(y).
void rescale(StackWeights& stack, const StackScale& read, const StackScale& given);

}  // namespace unfold
