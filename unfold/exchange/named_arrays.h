#pragma once
/// Arrays by name, as files of other programs hold them. Internal to exchange/.

#include <string>
#include <string_view>
#include <vector>

#include "unfold/data/safetensors.h"
#include "unfold/exchange/stack_weights.h"
#include "unfold/readers/npy_arrays.h"

namespace unfold {

class NamedArrays {
 public:
  /// A safetensors file or an .npz archive, by its first bytes. Throws ModelError or DataError; of a pickle, too,
  /// saying how to save it.
  static NamedArrays open(const std::string& path);
  NamedArrays(std::string source, std::vector<NpyArray> arrays)
      : source_(std::move(source)), arrays_(std::move(arrays)) {}

  const std::string& source() const { return source_; }
  const std::vector<NpyArray>& all() const { return arrays_; }
  bool wide() const { return wide_; }  ///< some are doubles
  const NpyArray* find(std::string_view name) const;
  /// A matrix; of a missing bias: zeros. Throws ModelError for another shape.
  StackMatrix matrix(const NpyArray& array) const;
  StackMatrix matrix(const NpyArray& array, Index rows, Index cols) const;
  std::vector<double> vector(std::string_view name, Index size) const;
  const std::string* metadata(const std::string& key) const;
  [[noreturn]] void fail(const std::string& what) const;  ///< ModelError naming the file

 private:
  void require_finite() const;

  std::string source_;
  std::vector<NpyArray> arrays_;
  std::map<std::string, std::string> metadata_ = {};
  bool wide_ = false;
};

/// The layers in a PyTorch state dict: *weight_ih_l0, ... of one RNN, LSTM or GRU, the weight of an Embedding or none,
/// weight and bias of a Linear. `relu`: of an RNN. Throws ModelError naming what is missing, or there besides.
StackWeights stack_from_torch(const NamedArrays& arrays, bool relu);
bool has_torch_names(const NamedArrays& arrays);
/// The other way: embedding.weight, rnn.weight_ih_l0, ..., linear.weight, linear.bias.
std::vector<NpyArray> torch_arrays(const StackWeights& stack);

/// The layers among Keras' weights, by their paths: */embeddings, */recurrent_kernel with kernel and bias, and the
/// kernel and bias of a Dense layer.
StackWeights stack_from_keras(const NamedArrays& arrays, bool relu);
bool has_keras_names(const NamedArrays& arrays);

}  // namespace unfold
