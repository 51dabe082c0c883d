#pragma once
/// Model SPECs: `rnn:100,activation=relu`, `lstm:256,layers=2,dropout=0.2`, `gru:256,reset=after`. The registry is an
/// explicit list: each cell with its options, described once (training/options.h).
///
///   symbols x -> [embedding] -> cell -> dropout -> cell -> dropout ... -> affine "output" = logits
///
/// `irnn:100` and `np-rnn:100` are other spellings of an rnn: ReLU units that start from the identity (Le et al. 2015)
/// or from a normalised positive definite matrix (Talathi & Vartak 2015).
///
/// Dropout acts on the output of every layer on its way up, never on the recurrence (Zaremba et al. 2014).

#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/options.h"
#include "unfold/cells/cells.h"

namespace unfold {

enum class CellKind { rnn, lstm, gru, mrnn, tensor_rnn, urnn, gnn, glnn, sparse_rnn };
enum class RecurrentInit { orthogonal, uniform, identity, sparse, normalised };
enum class ResetGate { before, after };

struct ModelSpec {
  CellKind cell = CellKind::lstm;
  Index units = 0;
  Index layers = 1;
  double dropout = 0;
  Index embedding = 0;  ///< size of a learned vector per symbol; 0: the cell reads the symbol itself
  bool trained_initial = false;

  Map activation = Map::tanh;                      // rnn, mrnn, tensor-rnn
  RecurrentInit init = RecurrentInit::orthogonal;  // rnn
  double scale = 0, input_scale = 0;               // rnn
  Index factors = 0;                               // mrnn
  double forget_bias = 1, chrono = 0;              // lstm
  ResetGate reset = ResetGate::before;             // gru
  Index permutation = 0;                           // urnn
  Index edges = 3, graph = 0;                      // gnn, glnn, sparse-rnn
};

/// Throws UsageError: an unknown model or option (with the nearest name), a value out of range, a model that is known
/// but not built yet. `others`: names of further models that the message about an unknown one lists.
ModelSpec parse_model_spec(std::string_view text, const std::vector<std::string>& others = {});
/// Canonical: only what differs from the defaults, in the order of the table. parse_model_spec reads it back.
std::string to_string(const ModelSpec& spec);

/// Whether a model is made on a random graph (option `graph`), and starts from symbol frequencies.
bool has_random_graph(const ModelSpec& spec);

/// The signals of a circuit that others need.
struct ModelSignals {
  Signal symbols, logits;
  std::vector<Signal> hidden;  ///< what each layer gives, before dropout; not outputs of the circuit
};
/// Adds the model to a circuit that holds its input, symbols or vectors: what comes out, `outputs` numbers.
ModelSignals build_model(const ModelSpec& spec, Signal input, Index outputs, Circuit& circuit);
/// Adds the model to an empty circuit: `logits` over the symbol that follows.
ModelSignals build_model(const ModelSpec& spec, Index alphabet, Circuit& circuit);

struct ModelHelp {
  std::string name, help;
  std::vector<OptionHelp> options;
};
/// All models there are, for help texts.
std::vector<ModelHelp> models();

}  // namespace unfold
