#pragma once
/// Import and export of recurrent networks for PyTorch, Keras and RTNeural (docs/export.md). Imported weights are
/// verified: the model is compared with the equations documented by PyTorch, evaluated in double, and with a pair of
/// input and output if the file contains one.

#include <functional>
#include <string>
#include <string_view>

#include "unfold/base/types.h"

namespace unfold {

/// Writes a safetensors file by calling write(bytes). Arrays have the names of a PyTorch state dict: embedding.weight,
/// rnn.weight_ih_l0, ..., linear.weight, linear.bias. The metadata contains the card and a pair of input and output.
/// For a model that predicts the next symbol, the embedding has one additional row of zeros, which is read before the
/// first symbol. Throws ModelError, or UsageError that names the unsupported part of the model.
void export_torch(const std::string& model, const std::function<void(std::string_view)>& write);
/// Like export_torch, but writes RTNeural's JSON: LSTM or GRU layers and a dense layer. Symbols are one-hot vectors;
/// before the first symbol the input is a zero vector.
void export_rtneural(const std::string& model, const std::function<void(std::string_view)>& write);

struct ImportNetworkRequest {
  std::string file;             ///< safetensors (with PyTorch or Keras names) or .npz (with Keras names)
  std::string out;              ///< the model file to write
  std::string like = {};        ///< run folder or model file that supplies the card and the data specification
  std::string alphabet = {};    ///< a JSON file with the alphabet of a model that predicts the next symbol
  std::string begin = {};       ///< the symbol that the other program reads before the first one
  std::string activation = {};  ///< "relu" for a ReLU RNN; the files do not record the activation
};
struct ImportNetworkOutcome {
  std::string model = {};  ///< SPEC
  Index outputs = 0;       ///< number of predicted symbols or numbers
  bool of_symbols = true;
  double difference = 0;        ///< largest difference from the equations over `positions` positions
  double pair_difference = -1;  ///< largest difference from the pair in the file; -1: the file has no pair
  Index positions = 0;
};
/// Reads weights, verifies them and writes a model file. Throws ModelError if the file has the wrong format, an array
/// is missing or unexpected, or the verification fails; UsageError if options are missing or do not fit the file.
ImportNetworkOutcome import_network(const ImportNetworkRequest& request);
/// Returns whether import_network can read a file, judged by its first bytes.
bool is_weight_file(const std::string& file);

}  // namespace unfold
