#pragma once
/// The recurrent layers of torch.nn on memory of the caller: RNN, LSTM and GRU with PyTorch's equations, gate order and
/// weight layout. The engine reads and writes the tensors directly (unfolding.h, "Memory of the caller"); only biases
/// and the states at both ends are copied.
///
/// A stack is a circuit that the engine runs over the structure of a batch, so the time for a packed batch is
/// proportional to the number of its positions. A forward pass keeps its values in a block that the caller owns; any
/// number of forward passes may precede their backward passes.
///
/// Weights are packed once per change of their contents, which a checksum detects: it requires one read of the weights
/// per pass, and detects changes that PyTorch does not count, such as changes to `p.data`.
///
/// Threads: one team for the process, used by one pass at a time. After a fork, the child starts a new team.
///
/// Source of the equations: torch.nn.RNN, LSTM, GRU (PyTorch 2).

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "unfold/graph/engine/unfolding.h"

namespace unfold::python {

enum class RecurrentKind : unsigned char { rnn_tanh, rnn_relu, lstm, gru };

struct RecurrentStack {
  RecurrentKind kind = RecurrentKind::lstm;
  Index input = 1, hidden = 1, layers = 1;
  bool bidirectional = false, bias = true;
  double dropout = 0;          ///< dropout rate between layers; 0: none
  bool input_gradient = true;  ///< whether `backward` computes the gradient of the input
};

/// A batch of sequences. `batch_sizes`: the number of sequences that have a t-th step, as in a PackedSequence; empty:
/// all have `steps`.
struct RecurrentBatch {
  Index steps = 0, sequences = 0;
  std::span<const std::int64_t> batch_sizes = {};
};

/// Addresses of contiguous tensors of one type; null if a tensor is absent (a zero state, a gradient that is not
/// requested). `weights` are in the order of torch.nn.RNNBase._flat_weights. Shapes: x [positions x input], y
/// [positions x directions * hidden], h and c [layers * directions x sequences x hidden].
template <class T>
struct RecurrentTensors {
  std::vector<T*> weights = {};
  T *x = nullptr, *y = nullptr;
  T *h_0 = nullptr, *c_0 = nullptr, *h_n = nullptr, *c_n = nullptr;
};

template <class T>
class Recurrent {
 public:
  explicit Recurrent(const RecurrentStack& stack);
  ~Recurrent();

  /// Size of the block that keeps the values of a forward pass: numbers per position, per sequence, and a fixed number.
  struct BlockSize {
    Index position, sequence, constant;
  };
  BlockSize block_size() const;

  /// Sets y, h_n and c_n. `block`: keeps the values for `backward` and `tangent`; empty: they are discarded. `seed`:
  /// the seed of dropout; without it, there is no dropout.
  void forward(const RecurrentBatch& batch, const RecurrentTensors<T>& tensors, std::span<T> block,
               std::optional<std::uint64_t> seed, int threads);
  /// Sets the gradients of all inputs. `values`: the tensors of the forward pass. `gradients`: y, h_n, c_n are read (y
  /// must be present), the others are set.
  void backward(const RecurrentBatch& batch, const RecurrentTensors<T>& values, std::span<T> block,
                const RecurrentTensors<T>& gradients, int threads);
  /// Directional derivative: reads the tangents of x, h_0, c_0 and the weights, and sets the tangents of y, h_n and
  /// c_n.
  void tangent(const RecurrentBatch& batch, const RecurrentTensors<T>& values, std::span<T> block,
               const RecurrentTensors<T>& tangents, int threads);

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

/// Adds the class Recurrent, for unfold.torch.
void add_recurrent(nanobind::module_& module);

}  // namespace unfold::python
