#pragma once
/// Named arrays, the form in which other programs store weights. Internal to interop/.

#include <string>
#include <string_view>
#include <vector>

#include "data/files/npy_arrays.h"
#include "interop/stacks/stack_weights.h"
#include "unfold/data/files/safetensors.h"

namespace unfold {

class NamedArrays {
 public:
  /// Opens a safetensors file or an .npz archive, recognized by its first bytes. Throws ModelError or DataError. For a
  /// pickle, the message says how to save the weights in a supported format.
  static NamedArrays open(const std::string& path);
  NamedArrays(std::string source, std::vector<NpyArray> arrays)
      : source_(std::move(source)), arrays_(std::move(arrays)) {}

  const std::string& source() const { return source_; }
  const std::vector<NpyArray>& all() const { return arrays_; }
  bool wide() const { return wide_; }  ///< at least one array has type double
  const NpyArray* find(std::string_view name) const;
  /// Returns an array as a matrix; a missing bias yields zeros. Throws ModelError if the shape differs.
  StackMatrix matrix(const NpyArray& array) const;
  StackMatrix matrix(const NpyArray& array, Index rows, Index cols) const;
  std::vector<double> vector(std::string_view name, Index size) const;
  const std::string* metadata(const std::string& key) const;
  [[noreturn]] void fail(const std::string& what) const;  ///< throws a ModelError that names the file

 private:
  void require_finite() const;

  std::string source_;
  std::vector<NpyArray> arrays_;
  std::map<std::string, std::string> metadata_ = {};
  bool wide_ = false;
};

/// Reads the layers of a PyTorch state dict: *weight_ih_l0, ... of one RNN, LSTM or GRU, the weight of an optional
/// Embedding, and weight and bias of a Linear. `relu` is the activation of an RNN. Throws a ModelError that names
/// missing or unexpected arrays.
StackWeights stack_from_torch(const NamedArrays& arrays, bool relu);
bool has_torch_names(const NamedArrays& arrays);
/// Converts a stack to the arrays embedding.weight, rnn.weight_ih_l0, ..., linear.weight, linear.bias.
std::vector<NpyArray> torch_arrays(const StackWeights& stack);

/// Reads the layers from Keras weights, identified by their paths: */embeddings, */recurrent_kernel with kernel and
/// bias, and the kernel and bias of a Dense layer.
StackWeights stack_from_keras(const NamedArrays& arrays, bool relu);
bool has_keras_names(const NamedArrays& arrays);

}  // namespace unfold
