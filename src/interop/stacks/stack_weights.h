#pragma once
/// A recurrent network as PyTorch, Keras and RTNeural represent it: stacked layers of one cell type, unidirectional or
/// bidirectional, with an optional embedding below and one linear layer above. Weights have PyTorch's layout and gate
/// order, so every other format needs only one conversion:
///
///   from PyTorch's state dict (named_arrays.h) --+                     +--- a model of this library (stack_model.h)
///   from Keras' weights (named_arrays.h) --------+--- StackWeights ----+
///   to RTNeural (rtneural.h) --------------------+                     +--- evaluation of the equations (reference)
///
/// Source: the documentation of torch.nn.RNN, LSTM and GRU; for gru_before, the documentation of Keras' GRU with
/// reset_after=False.

#include <string>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// A row-major matrix.
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
  gru_before  ///< r, z, n; n = tanh(W x + b + U (r h)): only in Keras
};
Index gates_of(StackCell cell);         ///< 1, 4 or 3
const char* to_string(StackCell cell);  ///< "LSTM", as in PyTorch; "GRU with reset_after=False"

/// One direction of one layer: G gates of n units each, with m inputs.
struct StackLayer {
  StackMatrix input = {};                                    ///< [G n x m]
  StackMatrix recurrent = {};                                ///< [G n x n]
  std::vector<double> input_bias = {}, recurrent_bias = {};  ///< [G n]
};

struct StackWeights {
  StackCell cell = StackCell::lstm;
  Index units = 0;
  bool both_directions = false;
  std::vector<StackLayer> layers = {};  ///< from the input upwards; if bidirectional, forward and then backward of each
                                        ///< layer
  StackMatrix embedding = {};           ///< [symbols x m]; no rows: symbols are read as one-hot vectors
  StackMatrix output = {};              ///< [outputs x n], or [outputs x 2 n] if bidirectional
  std::vector<double> output_bias = {};

  Index directions() const { return both_directions ? 2 : 1; }
  Index depth() const { return static_cast<Index>(layers.size()) / directions(); }
  Index inputs() const { return layers.front().input.cols; }  ///< size of the input of the first layer
  /// Returns the number of distinct input symbols: the rows of the embedding, or the size of the one-hot input.
  Index symbols() const { return embedding.rows > 0 ? embedding.rows : inputs(); }
  std::vector<double> vector_of(Symbol symbol) const;  ///< the first layer's input for a symbol; zeros for kNoSymbol
};

/// Evaluates the equations in double, one number at a time. `x` holds the inputs of the first layer by position; the
/// initial states are zero. Returns the outputs by position.
std::vector<std::vector<double>> reference(const StackWeights& stack, const std::vector<std::vector<double>>& x);

/// Moves the contribution of a symbol into the biases of the first layer, so that reading "no symbol" gives the same
/// outputs as reading that symbol did before. REQUIRES a unidirectional stack.
void fold_symbol(StackWeights& stack, Symbol symbol);

/// The affine map y = scale (x - shift), element by element; empty: y = x.
struct StackScale {
  std::vector<double> shift = {}, scale = {};
  StackScale inverse() const;
  double operator()(double x, Index i) const;
};
/// Folds scales into the weights: the new network maps x to y where the old one maps read(x) to given(y).
void rescale(StackWeights& stack, const StackScale& read, const StackScale& given);

}  // namespace unfold
