#pragma once
/// Model SPECs such as `rnn:100,activation=relu`, `lstm:256,layers=2,dropout=0.2`, `gru:256,reset=after`: a cell of the
/// registry (graph/cells/registry.h) with the options of the cell and the options that all models share.
///
///   symbols x -> [embedding] -> cell -> dropout -> cell -> dropout ... -> affine "output" = logits
///
/// `irnn:100` and `np-rnn:100` are aliases for an rnn with ReLU units whose recurrent matrix is initialized to the
/// identity (Le et al. 2015) or to a normalized positive definite matrix (Talathi & Vartak 2015).
///
/// The prefix `bi` before the name of a cell selects bidirectional layers (Schuster & Paliwal 1997): `bilstm:128` has
/// 128 units from left to right and 128 from right to left; the next layer reads both. Such a model sees the whole
/// sequence at every position, so it can tag and classify but cannot predict the next symbol.
///
/// `direct=K`: the output also reads the last K inputs directly, bypassing the layers. This adds an autoregression of
/// order K to the network or, with symbols and K = 1, a table of bigrams (Bengio et al. 2003; Mikolov et al. 2011).
///
/// Dropout is applied to the output of every layer toward the next one, never to the recurrence (Zaremba et al. 2014);
/// `wdrop` drops weights of the recurrence itself, `dropoute` drops whole symbols of the embedding, and `tied` uses the
/// embedding as the weights of the output. The names are those of AWD-LSTM (Merity et al. 2018).
///
/// `loss=SPEC`: the loss of the next symbol of running text, such as `loss=adaptive-softmax` for large vocabularies.

#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/options/options.h"
#include "unfold/base/options/registry.h"
#include "unfold/graph/cells/registry.h"

namespace unfold {

struct ModelSpec : StackOptions {
  const CellEntry* cell = nullptr;
  AnyOptions options = {};  ///< options of the cell
  /// For a cell over grids, regardless of its SPEC: each position sees only the positions that precede it in row-major
  /// order, so a head can predict a field that is also an input. The directions start from the top left corner and, if
  /// there are several, the top right corner.
  bool causal = false;
  /// Above 0: heads also read products of all pairs of inputs, and their initial output is this factor times the log
  /// densities of Gaussians.
  double gaussians = 0;
  std::string density = {};  ///< for models without inputs: the SPEC of their loss
  /// Activation of the summary of a source and of the initial states computed from it: tanh or relu.
  Map summary = Map::tanh;
  std::string loss = {};  ///< SPEC of the loss of the next symbol of running text; empty: softmax
};

/// Throws UsageError for an unknown model or option (suggesting the nearest name), for a value out of range, and for a
/// model that exists but is not part of this version. `others`: further names to list in the message for an unknown
/// model.
ModelSpec parse_model_spec(std::string_view text, const std::vector<std::string>& others = {});
/// Returns the canonical form, which parse_model_spec can read: it contains only options that differ from the defaults,
/// in the order of the table.
std::string to_string(const ModelSpec& spec);

/// Applies dropout to a signal, with the kind of mask that the model uses.
Signal dropped(const ModelSpec& spec, Signal signal, double rate, Circuit& circuit);
/// Returns whether the model is linear, without layers.
bool is_linear(const ModelSpec& spec);
/// Returns whether a model uses a random graph (option `graph`) and is initialized from symbol frequencies.
bool has_random_graph(const ModelSpec& spec);
/// Returns the seed of the graph. REQUIRES has_random_graph.
Index& graph_seed(ModelSpec& spec);
/// Returns the model with at most `units` units of each kind, for checks.
ModelSpec with_max_units(ModelSpec spec, Index units);

/// The layers of a model, without an output.
struct Layers {
  Signal top;                  ///< input of the heads, after dropout; with both directions: joined (Circuit::join)
  std::vector<Signal> hidden;  ///< output of each layer, before dropout; with both directions: two signals per layer
  std::vector<Signal> last;    ///< the signals of the last layer in `hidden`
};
/// Returns, for a cell over grids, the side lengths of the blocks that form one position of each layer, starting at the
/// input; empty for other cells.
std::vector<Index> patches_of(const ModelSpec& spec);
/// Returns the part of the circuit that contains the input of a model: for a cell over grids, the number of coarsening
/// steps; otherwise 0.
int input_part(const ModelSpec& spec);
/// Adds the embedding and the layers to a circuit that contains their input (symbols or vectors), in the part of the
/// input.
Layers build_layers(const ModelSpec& spec, Signal input, Circuit& circuit);
/// Returns the input of heads that predict once per sequence, at its last position (graph/cells/pool.h), after dropout.
Signal pooled(const ModelSpec& spec, const Layers& layers, Circuit& circuit);
/// Returns the initialization of the weights of a head that reads `top`.
Init output_init(const ModelSpec& spec);

/// Adds the map from the input of a head to its signal: an affine map, or its logarithm if the cell outputs
/// probabilities.
Signal add_output(const ModelSpec& spec, std::string_view name, Index size, const std::vector<Term>& terms,
                  Circuit& circuit);

/// The signals of a circuit that callers need.
struct ModelSignals {
  Signal symbols, logits;
  std::vector<Signal> hidden;  ///< like Layers::hidden; they are not outputs of the circuit
};
/// Adds the layers and an affine map "output" from them to `outputs` numbers.
ModelSignals build_model(const ModelSpec& spec, Signal input, Index outputs, Circuit& circuit);
/// Adds the model to an empty circuit, with `logits` over the next symbol. Throws UsageError for a bidirectional model,
/// which would read the symbols that it predicts.
ModelSignals build_model(const ModelSpec& spec, Index alphabet, Circuit& circuit);

using ModelHelp = EntryHelp;
/// Returns all models, for help texts.
std::vector<ModelHelp> models();

}  // namespace unfold
