#pragma once
/// Model SPECs: `rnn:100,activation=relu`, `lstm:256,layers=2,dropout=0.2`, `gru:256,reset=after`: a cell of the
/// registry (cells/registry.h) with its own options and those that all models share.
///
///   symbols x -> [embedding] -> cell -> dropout -> cell -> dropout ... -> affine "output" = logits
///
/// `irnn:100` and `np-rnn:100` are other spellings of an rnn: ReLU units that start from the identity (Le et al. 2015)
/// or from a normalised positive definite matrix (Talathi & Vartak 2015).
///
/// Before a cell's name, `bi` makes layers that run in both directions (Schuster & Paliwal 1997): `bilstm:128` has 128
/// units from left to right and as many from right to left; the next layer reads both. Such a model sees the whole
/// sequence at every position, so it tags and classifies and cannot predict the next symbol.
///
/// `direct=K`: the output also reads the last K inputs as they are, past the layers: an autoregression of order K
/// beside the network, or with symbols, K = 1, a table of pairs (Bengio et al. 2003; Mikolov et al. 2011).
///
/// Dropout acts on the output of every layer on its way up, never on the recurrence (Zaremba et al. 2014); `wdrop`
/// drops weights of the recurrence itself, `dropoute` whole symbols of the embedding, and `tied` makes the embedding
/// the weights of the output, by the names of AWD-LSTM (Merity et al. 2018): regularisation.h.

#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/options.h"
#include "unfold/base/registry.h"
#include "unfold/cells/registry.h"

namespace unfold {

struct ModelSpec : StackOptions {
  const CellEntry* cell = nullptr;
  AnyOptions options = {};  ///< of the cell
  /// Of a cell over grids, whatever its SPEC says: positions see what comes before them alone, row by row, so that a
  /// head may predict what is read. From the corners top left and, with more than one direction, top right.
  bool causal = false;
  /// Above 0: heads read products of all pairs of inputs, too, and begin with so many times the log densities of
  /// Gaussians (gaussian_start.h).
  double gaussians = 0;
  std::string density = {};  ///< of models that read nothing (density_model.h): the SPEC of their loss
};

/// Throws UsageError: an unknown model or option (with the nearest name), a value out of range, a model that is known
/// but not built yet. `others`: names of further models that the message about an unknown one lists.
ModelSpec parse_model_spec(std::string_view text, const std::vector<std::string>& others = {});
/// Canonical: only what differs from the defaults, in the order of the table. parse_model_spec reads it back.
std::string to_string(const ModelSpec& spec);

/// A signal after dropout at a rate, as the model wants its masks.
Signal dropped(const ModelSpec& spec, Signal signal, double rate, Circuit& circuit);
/// Whether heads weigh what is read, without layers (linear.h).
bool is_linear(const ModelSpec& spec);
/// Whether a model is made on a random graph (option `graph`), and starts from symbol frequencies.
bool has_random_graph(const ModelSpec& spec);
/// The seed of the graph. REQUIRES has_random_graph.
Index& graph_seed(ModelSpec& spec);
/// The same model with at most so many units of any kind, for checks.
ModelSpec cut_down(ModelSpec spec, Index units);

/// The layers of a model, without an output.
struct Layers {
  Signal top;                  ///< what heads read, after dropout; of both directions: joined (Circuit::join)
  std::vector<Signal> hidden;  ///< what each layer gives, before dropout; of both directions: two signals for each
  std::vector<Signal> last;    ///< those of the last layer
};
/// Of a cell over grids, the sides of the blocks that are one position of each layer, from the input on; of others
/// none.
std::vector<Index> patches_of(const ModelSpec& spec);
/// The part of the circuit where the input of a model lies: of a cell over grids as many as there are blocks; else 0.
int input_part(const ModelSpec& spec);
/// Adds embedding and layers to a circuit that holds their input, symbols or vectors, in the part of the input.
Layers build_layers(const ModelSpec& spec, Signal input, Circuit& circuit);
/// What heads read that predict once a sequence, at its last position (cells/pool.h), after dropout.
Signal pooled(const ModelSpec& spec, const Layers& layers, Circuit& circuit);
/// How the weights of a head that reads `top` start.
Init output_start(const ModelSpec& spec);

/// The map from what heads read to the signal of one: affine, or its logarithm where the cell says probabilities.
Signal add_output(const ModelSpec& spec, std::string_view name, Index size, const std::vector<Term>& terms,
                  Circuit& circuit);

/// The signals of a circuit that others need.
struct ModelSignals {
  Signal symbols, logits;
  std::vector<Signal> hidden;  ///< as Layers::hidden; not outputs of the circuit
};
/// Layers and an affine map "output" of what they give: `outputs` numbers.
ModelSignals build_model(const ModelSpec& spec, Signal input, Index outputs, Circuit& circuit);
/// Adds the model to an empty circuit: `logits` over the symbol that follows. Throws UsageError for a model of both
/// directions, which would read what it predicts.
ModelSignals build_model(const ModelSpec& spec, Index alphabet, Circuit& circuit);

using ModelHelp = EntryHelp;
/// All models there are, for help texts.
std::vector<ModelHelp> models();

}  // namespace unfold
