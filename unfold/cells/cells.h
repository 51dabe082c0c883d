#pragma once
/// The zoo: every cell is a function that adds one step to a circuit and returns its output signal. A cell contains no
/// derivative, no state and no loop over time. Input x [m] (a vector or symbols), output h [n].
/// `name` prefixes the parameters. Equations and sources stand at each cell.

#include <string>
#include <vector>

#include "unfold/cells/grids.h"
#include "unfold/circuit/circuit.h"
#include "unfold/circuit/parameters.h"

namespace unfold {

/// Of leaky units: how many steps the state of a unit lives.
enum class TimeConstants {
  none,    ///< units do not leak: the state is replaced at every step
  fixed,   ///< spread evenly in their logarithm over 1 .. longest
  learned  ///< the same at the start, then trained
};

/// rnn: h_t = s(x_t W + sum over delays k of h_{t-k} U_k + b), Elman 1990; several delays: El Hihi & Bengio 1996.
/// Leaky: h_t = h_{t-1} + (s(the same) - h_{t-1}) / theta, theta [n]. Jaeger et al. 2007.
struct RnnOptions {
  Map activation = Map::tanh;           ///< tanh, sigmoid, relu or softplus
  Init recurrent = Init::orthogonal();  ///< uniform, identity (IRNN), orthogonal, sparse, normalised (np-RNN)
  Init input = Init::uniform();
  std::vector<Index> delays = {1};
  TimeConstants leak = TimeConstants::none;
  double longest = 100;  ///< time constant of leaky units, in steps
  double zoneout = 0;    ///< share of units that stay as they were, in training; then delays begin with 1
  bool trained_initial = false;
};
Signal rnn(Circuit& c, Signal x, Index n, const RnnOptions& options = {});

/// clockwork: units in groups, one for each period, that move where their period divides the position and read
/// themselves and slower ones. What sleeps costs no products. Koutnik et al. 2014.
struct ClockworkOptions {
  Map activation = Map::tanh;
  std::vector<Index> periods = {1, 2, 4, 8};  ///< ascending
  bool trained_initial = false;
};
Signal clockwork(Circuit& c, Signal x, Index n, const ClockworkOptions& options = {});

/// bag, no memory: h_t = x_t W, or x_t itself where it is a vector [n]. With the mean over positions (pool.h) a
/// sequence is a bag of what was read: words, and runs of them. Iyyer et al. 2015; Joulin et al. 2016.
struct BagOptions {
  bool counts = false;  ///< where a label a sequence is predicted: starts as naive Bayes (models/counts_start.h)
};
Signal bag(Circuit& c, Signal x, Index n, const BagOptions& options = {});

/// lstm: Hochreiter & Schmidhuber 1997 with the forget gate of Gers et al. 2000.
struct LstmOptions {
  double forget_bias = 1;
  double chrono = 0;         ///< > 1: gate biases from time scales up to this many steps (Tallec & Ollivier 2018)
  std::string delays = "1";  ///< as "1+2+4": all gates read h_{t-k} of each
  bool layer_norm = false;   ///< of both products, and of the cell where it goes out. Ba et al. 2016
  double zoneout = 0, zoneout_cell = 0;  ///< shares of h, of the cell that stay as they were, in training
  bool hard_gates = false;               ///< cut off, so that they can be closed (gates.h)
  bool trained_initial = false;
};
Signal lstm(Circuit& c, Signal x, Index n, const LstmOptions& options = {});

/// gru: Cho et al. 2014; `reset_after` applies the reset gate to the product (h U), so that all gates share one
/// product; `gated_state`: what is read gates the state in front of the products, a round of the mogrifier (Melis et
/// al. 2020), so that each symbol has recurrent matrices of its own, which differ by the scales of their rows.
struct GruOptions {
  bool reset_after = false;
  bool two_biases = false;  ///< of reset_after: one more, outside the reset gate, as PyTorch and cuDNN have
  bool layer_norm = false;  ///< of each product; the reset gate then acts after it. Ba et al. 2016
  bool gated_state = false;
  bool hard_gates = false;  ///< cut off, so that they can be closed (gates.h)
  double zoneout = 0;       ///< share of units that stay as they were, in training. Krueger et al. 2017
  bool trained_initial = false;
};
Signal gru(Circuit& c, Signal x, Index n, const GruOptions& options = {});

/// recursive, over trees: h = s(x W + sum over children k of h_k U_k + b). Pollack 1990; Socher et al. 2011. What is
/// absent, a child or an input, adds nothing. `children`: of a node, so many are told apart.
struct RecursiveOptions {
  Map activation = Map::tanh;
  Index children = 2;
};
Signal recursive(Circuit& c, Signal x, Index n, const RecursiveOptions& options = {});
/// recursive-tensor: the same with a quadratic form of all children for each unit (circuit/quadratic.h), divided by
/// their size. Socher et al. 2013.
Signal recursive_tensor(Circuit& c, Signal x, Index n, const RecursiveOptions& options = {});

/// tree-lstm: every child has a forget gate and matrices of its own. Tai, Socher & Manning 2015, section 3.2.
struct TreeLstmOptions {
  Index children = 2;
  double forget_bias = 1;
};
Signal tree_lstm(Circuit& c, Signal x, Index n, const TreeLstmOptions& options = {});
/// child-sum-lstm: any number of children, without order. Ibid., section 3.1.
struct ChildSumLstmOptions {
  double forget_bias = 1;
};
Signal child_sum_lstm(Circuit& c, Signal x, Index n, const ChildSumLstmOptions& options = {});

/// grid-rnn, over grids: h_ij = s(x_ij W + h_{i,j-1} U + h_{i-1,j} V + b). Beyond the edge a neighbour is zero.
struct GridRnnOptions {
  Map activation = Map::tanh;
  GridStackOptions stack = {};
};
Signal grid_rnn(Circuit& c, Signal x, Index n, const GridRnnOptions& options = {});
/// grid-lstm: multi-dimensional LSTM, a forget gate for each neighbour; every gate reads both. Graves, Fernandez &
/// Schmidhuber 2007. Both gates start at a half, not near one: along a diagonal a cell is reached by as many paths as a
/// binomial coefficient counts, which at a half weigh one together and above grow without bound.
struct GridLstmOptions {
  double forget_bias = 0;
  GridStackOptions stack = {};
};
Signal grid_lstm(Circuit& c, Signal x, Index n, const GridLstmOptions& options = {});

/// mrnn, multiplicative: the recurrent matrix W_fh diag(x_t W_fx + b_f) W_hf depends on the input through `factors`
/// factors. Sutskever, Martens & Hinton 2011, who have no b_f: for a symbol it adds nothing (each symbol has a row of
/// W_fx), for a vector it keeps the state alive when x_t = 0. It starts at 1, so that the cell starts near an rnn.
struct MrnnOptions {
  Index factors = 0;  ///< 0: as many as units
  Map activation = Map::tanh;
  bool trained_initial = false;
};
Signal mrnn(Circuit& c, Signal x, Index n, const MrnnOptions& options = {});

/// tensor-rnn: one dense recurrent matrix for each symbol, h_t = s(h_{t-1} U_{x_t} + w_{x_t}): what the factors of
/// mrnn approximate, with alphabet * n^2 weights. Sutskever, Martens & Hinton 2011. `x` are symbols (UsageError
/// otherwise); where there is no symbol yet, h_t = s(h_{t-1}).
struct TensorRnnOptions {
  Map activation = Map::tanh;
  bool trained_initial = false;
};
Signal tensor_rnn(Circuit& c, Signal x, Index n, const TensorRnnOptions& options = {});

/// urnn, unitary: n complex units, z_t = x_t W + D3 R2 F^-1 D2 P R1 F D1 h_{t-1}, h_t = modReLU(z_t)
/// (circuit/vector_map.h). Output h [2 n]: real parts, then imaginary ones. n is a power of two (UsageError).
/// Arjovsky, Shah & Bengio 2016. Phases start uniform, as do the vectors of the reflections, whose length has no
/// meaning; thresholds at 0.
struct UrnnOptions {
  Index permutation = 0;  ///< seed of P, which is not trained
  Init input = Init::glorot();
  bool trained_initial = false;
};
Signal urnn(Circuit& c, Signal x, Index n, const UrnnOptions& options = {});

/// Cells whose gates read the input alone, so that no product remains in the loop: h_t = a_t * h_{t-1} + b_t.
///   mingru   a = 1 - z, b = z * g                                    Feng et al. 2024
///   minlstm  a = f / (f + i), b = i / (f + i) * g                    the same
///   sru      a = f, b = (1 - f) * u, output r * c + (1 - r) * s      Lei et al. 2018
struct MinimalOptions {
  double gate_bias = 0;     ///< of the gate that lets new values in
  double chrono = 0;        ///< > 1: from time scales up to this many steps instead
  bool hard_gates = false;  ///< mingru and sru: cut off, so that they can be closed (gates.h)
  bool trained_initial = false;
};
Signal min_gru(Circuit& c, Signal x, Index n, const MinimalOptions& options = {});
Signal min_lstm(Circuit& c, Signal x, Index n, const MinimalOptions& options = {});
Signal sru(Circuit& c, Signal x, Index n, const MinimalOptions& options = {});

/// qrnn: gates and candidate are convolutions over the last `width` inputs. Bradbury et al. 2017.
struct QrnnOptions {
  Index width = 2;
  double forget_bias = 1;
  bool trained_initial = false;
};
Signal qrnn(Circuit& c, Signal x, Index n, const QrnnOptions& options = {});

/// indrnn: h_t = s(x_t W + w * h_{t-1} + b) with a vector w. Li et al. 2018.
struct IndRnnOptions {
  Map activation = Map::relu;
  double scale = 1;  ///< w starts in +- this
  bool trained_initial = false;
};
Signal ind_rnn(Circuit& c, Signal x, Index n, const IndRnnOptions& options = {});

/// lru: n complex numbers z_t = lambda * z_{t-1} + gamma * x_t B, y_t = Re(z_t C) + x_t D + b (circuit/vector_map.h).
/// Orvieto et al. 2023.
struct LruOptions {
  bool gated = true;  ///< a gated linear unit at every position; else y itself
  double slowest = 0.999, fastest = 0.5, turn = 6.28;
  bool trained_initial = false;
};
Signal lru(Circuit& c, Signal x, Index n, const LruOptions& options = {});

/// slstm: exponential gates, kept in range by the running maximum of their logarithms. Beck et al. 2024.
struct SlstmOptions {
  bool exponential_forget = false;
  double forget_bias = 1;
  bool trained_initial = false;  ///< of h; cell, normaliser and maximum begin as the source says
};
Signal slstm(Circuit& c, Signal x, Index n, const SlstmOptions& options = {});

/// rhn: `depth` highway layers in each step. Zilly et al. 2017.
struct HighwayOptions {
  Index depth = 3;
  double transform_bias = -2;
  bool trained_initial = false;
};
Signal recurrent_highway(Circuit& c, Signal x, Index n, const HighwayOptions& options = {});

/// mogrifier: an LSTM before which input and state gate each other. Melis et al. 2020.
struct MogrifierOptions {
  Index rounds = 5;
  double forget_bias = 1;
  bool trained_initial = false;
};
Signal mogrifier(Circuit& c, Signal x, Index n, const MogrifierOptions& options = {});

/// esn, echo state network: h_t = (1 - a) h_{t-1} + a tanh(x_t W + h_{t-1} U + b), U sparse and random with a given
/// spectral radius. Of a model of it, only the readout is fitted, by ridge regression in one pass (training/ridge.h).
/// Jaeger 2001. Without cells between, `layers` are reservoirs that drive each other; the readout reads the last.
struct EsnOptions {
  double radius = 0.9;
  double leak = 1;  ///< a
  Index degree = 10;
  double input_scale = 0.5, bias_scale = 0.1;
  bool linear = false;      ///< units without tanh
  bool orthogonal = false;  ///< U orthogonal times the radius instead
  Index reservoir = 0;      ///< seed of U
  // How the readout of a model is made (not read by the cell):
  bool trained = false;  ///< by the optimiser, like everything else
  double ridge = 0;      ///< lambda; 0: chosen
  Index blocks = 0;      ///< to choose it by; 0: by generalised cross-validation
  Index washout = 100;
  bool trained_initial = false;
};
Signal esn(Circuit& c, Signal x, Index n, const EsnOptions& options = {});

/// Gated and sparse networks on random graphs (Ollivier, "Riemannian metrics for neural networks II: recurrent networks
/// and learning symbolic data sequences", 2015). Pre-activations V, activities a = s(V), one weight per edge:
///
///   glnn, gated leaky:  V_t = V_{t-1} + rho_{x_t} + sum over edges j -> i of tau_{j i x_t} a_{j, t-1}
///   gnn, gated:         V_t =           rho_{x_t} + sum over edges j -> i of tau_{j i x_t} a_{j, t-1}
///   sparse-rnn:         V_t =           rho_{x_t} + sum over edges j -> i of tau_{j i}     a_{j, t-1}
///
/// rho_{i x} is tau_{0 i x}, the weight from the unit that is always active. V before the first symbol is trained.
/// At the first position, where there is no symbol yet, V is the trained start. Where x is a vector, its components mix
/// the weights (remark 2), with x_0 = 1: tau_{j i x} = sum over k of x_k tau_{j i k}, rho the same.
/// O(edges) per step and per symbol-indexed gradient.
struct SparseOptions {
  Index edges = 3;  ///< leaving each unit, the loop always among them; from the number of units on: the dense limit
  Index graph = 0;  ///< seed of the graph: equal numbers give equal graphs on every machine
  Map activation = Map::tanh;  ///< tanh, sigmoid or relu
};
Signal glnn(Circuit& c, Signal x, Index n, const SparseOptions& options = {});
Signal gnn(Circuit& c, Signal x, Index n, const SparseOptions& options = {});
/// With `always`, tau_{0 i} beside the rho_{i x}, the weight from the unit that is always active: the same functions,
/// but another metric, which lets all symbols move together.
struct SparseRnnOptions : SparseOptions {
  bool always = false;
};
Signal sparse_rnn(Circuit& c, Signal x, Index n, const SparseRnnOptions& options = {});

/// linear-gnn: a gated network of linear units on all edges, normalised at every step: what hidden Markov models are.
struct LinearGnnOptions {};
Signal linear_gnn(Circuit& c, Signal x, Index n, const LinearGnnOptions& options = {});
/// Its output o as logits: log o, and where a trained network says a probability below 0, that of 1e-15.
Signal log_of_probabilities(Signal o);

/// The graph of these cells: every unit has min(degree, units) distinct outgoing edges, its loop among them.
std::shared_ptr<const Edges> random_edges(Index units, Index degree, Index graph);

/// The start of the source: the untrained model is the i.i.d. one, and V_i is a random linear combination of about the
/// last i + 2 symbols with standard deviation 1/2 in the linear regime. With f_x the number of symbols x read:
///   tau_{iix} = -alpha_i (1 - alpha_i without leak), alpha_i = 1 / (i + 2); tau_{jix} = 0 for j != i;
///   rho_{ix} = 0.5 sqrt(2 alpha_i - alpha_i^2) (u_{ix} - mean) / deviation, u uniform;  output weights 0, their bias
///   the logarithm of the share of x among the `predicted` symbols. Other activations than tanh: the same dynamics to
///   first order at V = 0.
template <class T>
void start_from_frequencies(const Circuit& circuit, Signal logits, std::span<const double> read,
                            std::span<const double> predicted, std::uint64_t seed, Parameters<T>& parameters);

}  // namespace unfold
