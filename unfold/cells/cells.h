#pragma once
/// The zoo: every cell is a function that adds one step to a circuit and returns its output signal. A cell contains no
/// derivative, no state and no loop over time. Input x [m] (a vector or symbols), output h [n].
/// `name` prefixes the parameters. Equations and sources stand at each cell.

#include <string>
#include <vector>

#include "unfold/circuit/circuit.h"

namespace unfold {

/// rnn: h_t = s(x_t W + h_{t-1} U + b). Elman 1990.
struct RnnOptions {
  Map activation = Map::tanh;           ///< tanh, sigmoid, relu or softplus
  Init recurrent = Init::orthogonal();  ///< uniform, identity (IRNN), orthogonal, sparse, normalised (np-RNN)
  Init input = Init::uniform();
  bool trained_initial = false;
};
Signal rnn(Circuit& c, Signal x, Index n, const RnnOptions& options = {});

/// lstm: Hochreiter & Schmidhuber 1997 with the forget gate of Gers et al. 2000.
struct LstmOptions {
  double forget_bias = 1;
  double chrono = 0;  ///< > 1: gate biases from time scales up to this many steps (Tallec & Ollivier 2018)
  bool trained_initial = false;
};
Signal lstm(Circuit& c, Signal x, Index n, const LstmOptions& options = {});

/// gru: Cho et al. 2014; `reset_after` applies the reset gate to the product (h U), so that all gates share one
/// product.
struct GruOptions {
  bool reset_after = false;
  bool trained_initial = false;
};
Signal gru(Circuit& c, Signal x, Index n, const GruOptions& options = {});

/// mrnn, multiplicative: the recurrent matrix W_fh diag(x_t W_fx + b_f) W_hf depends on the input through `factors`
/// factors. Sutskever, Martens & Hinton 2011, who have no b_f: for a symbol it adds nothing (each symbol has a row of
/// W_fx), for a vector it keeps the state alive when x_t = 0. It starts at 1, so that the cell starts near an rnn.
struct MrnnOptions {
  Index factors = 0;  ///< 0: as many as units
  Map activation = Map::tanh;
  bool trained_initial = false;
};
Signal mrnn(Circuit& c, Signal x, Index n, const MrnnOptions& options = {});

}  // namespace unfold
