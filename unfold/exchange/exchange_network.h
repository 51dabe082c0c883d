#pragma once
/// Recurrent networks from and for PyTorch, Keras and RTNeural (docs/export.md). What is read is checked: the model
/// runs beside the equations that PyTorch documents, in double, and beside a pair of input and output that came with
/// it.

#include <functional>
#include <string>
#include <string_view>

#include "unfold/base/types.h"

namespace unfold {

/// Calls write(bytes): a safetensors file with the names of a PyTorch state dict: embedding.weight, rnn.weight_ih_l0,
/// ..., linear.weight, linear.bias; in its metadata the card, and a pair of input and output. A model that predicts the
/// next symbol has one row of embedding more than symbols, zeros, for what stands before the first. Throws ModelError;
/// UsageError for a model that has no counterpart there, naming what in it.
void export_torch(const std::string& model, const std::function<void(std::string_view)>& write);
/// The same as RTNeural's JSON: LSTM or GRU layers and a dense one. Symbols are read as vectors of one 1, before the
/// first symbol of zeros.
void export_rtneural(const std::string& model, const std::function<void(std::string_view)>& write);

struct ImportNetworkRequest {
  std::string file;             ///< safetensors (PyTorch's or Keras' names) or .npz (Keras' names)
  std::string out;              ///< the model file
  std::string like = {};        ///< run folder or model file whose card and data the new model gets
  std::string alphabet = {};    ///< a JSON file: the symbols of a model that predicts the next one
  std::string begin = {};       ///< the symbol that their program reads before the first one
  std::string activation = {};  ///< "relu": of an RNN; files do not tell
};
struct ImportNetworkOutcome {
  std::string model = {};  ///< SPEC
  Index outputs = 0;       ///< symbols or numbers that are predicted
  bool of_symbols = true;
  double difference = 0;        ///< from the equations, the largest over `positions`
  double pair_difference = -1;  ///< from the pair that came with it; -1: none came
  Index positions = 0;
};
/// Throws ModelError: not such a file, an array missing or too many, a test that failed; UsageError: what does not fit
/// together, an option missing.
ImportNetworkOutcome import_network(const ImportNetworkRequest& request);
/// Whether a file is one for import_network, by its first bytes.
bool holds_arrays(const std::string& file);

}  // namespace unfold
