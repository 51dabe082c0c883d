#pragma once
/// Recurrent cells. Every cell is a function that adds one step to a circuit and returns its output signal. A cell
/// contains no derivative, no state and no loop over time. Its input is x [m] (a vector or symbols), its output h [n].
/// `name` is the prefix of the parameters. The equations and the reference are stated with each cell.

#include <string>
#include <vector>

#include "unfold/graph/cells/grid_pooling.h"
#include "unfold/graph/circuit/circuit.h"
#include "unfold/graph/circuit/parameters.h"

namespace unfold {

/// Time constants of leaky units: how many steps the state of a unit persists.
enum class TimeConstants {
  none,    ///< units do not leak: the state is replaced at every step
  fixed,   ///< logarithms evenly spaced over 1 .. longest
  learned  ///< same initial values, then trained
};

/// rnn: h_t = s(x_t W + sum over delays k of h_{t-k} U_k + b), Elman 1990; several delays: El Hihi & Bengio 1996.
/// Leaky: h_t = h_{t-1} + (s(same argument) - h_{t-1}) / theta, theta [n]. Jaeger et al. 2007.
struct RnnOptions {
  Map activation = Map::tanh;           ///< tanh, sigmoid, relu, softplus, hard_sigmoid (ramp) or copy (linear)
  Init recurrent = Init::orthogonal();  ///< uniform, identity (IRNN), orthogonal, sparse, `normalised` (np-RNN)
  Init input = Init::uniform();
  std::vector<Index> delays = {1};
  TimeConstants leak = TimeConstants::none;
  double longest = 100;  ///< longest time constant of leaky units, in steps
  /// Probability that a unit keeps its value at a position, in training. If it is not 0, delays must begin with 1.
  double zoneout = 0;
  bool biases = true;
  bool trained_initial = false;
};
Signal rnn(Circuit& c, Signal x, Index n, const RnnOptions& options = {});

/// clockwork: groups of units, one per period. A group is updated if its period divides the position; it reads itself
/// and slower groups. Inactive groups compute no products. Koutnik et al. 2014.
struct ClockworkOptions {
  Map activation = Map::tanh;
  std::vector<Index> periods = {1, 2, 4, 8};  ///< ascending
  bool trained_initial = false;
};
Signal clockwork(Circuit& c, Signal x, Index n, const ClockworkOptions& options = {});

/// bag, without a recurrence: h_t = x_t W, or x_t itself if it is a vector [n]. With the mean over positions (pool.h)
/// this is a bag-of-words or bag-of-n-grams model. Iyyer et al. 2015; Joulin et al. 2016.
struct BagOptions {
  bool logistic = false;  ///< if one label per sequence is predicted, initialize by logistic regression
};
Signal bag(Circuit& c, Signal x, Index n, const BagOptions& options = {});

/// lstm: Hochreiter & Schmidhuber 1997 with the forget gate of Gers et al. 2000.
struct LstmOptions {
  double forget_bias = 1;
  double chrono = 0;  ///< > 1: initial gate biases for time scales up to this many steps (Tallec & Ollivier 2018)
  std::string delays = "1";  ///< list such as "1+2+4": all gates read h_{t-k} for each k
  bool layer_norm = false;   ///< normalizes both products and the cell state before the output gate; Ba et al. 2016
  double zoneout = 0, zoneout_cell = 0;  ///< probabilities that a unit keeps its h or its cell state, in training
  bool hard_gates = false;               ///< gates min(max(x / 4 + 1/2, 0), 1), which can close completely
  Map activation = Map::tanh;            ///< activation of the candidate and of the cell state before the output gate
  double input_scale = 0;                ///< input weights are initialized in [-scale, scale]; 0: Glorot
  bool biases = true;                    ///< gates and candidate have biases; without biases, the forget gate is
                                         ///< initially 1/2
  bool trained_initial = false;
};
Signal lstm(Circuit& c, Signal x, Index n, const LstmOptions& options = {});

/// gru: Cho et al. 2014. `reset_after` applies the reset gate to the product (h U), so all gates share one product.
/// `gated_state`: the input gates the state before the products, as in one round of the mogrifier (Melis et al. 2020).
/// The effective recurrent matrices then depend on the symbol: their rows are scaled differently for each symbol.
struct GruOptions {
  bool reset_after = false;
  bool two_biases = false;  ///< with reset_after: a second bias outside the reset gate, as in PyTorch and cuDNN
  bool layer_norm = false;  ///< normalizes each product; the reset gate is then applied after the product; Ba et al.
                            ///< 2016
  bool gated_state = false;
  bool hard_gates = false;     ///< gates min(max(x / 4 + 1/2, 0), 1), which can close completely
  double zoneout = 0;          ///< probability that a unit keeps its value, in training. Krueger et al. 2017
  Map activation = Map::tanh;  ///< activation of the candidate
  double input_scale = 0;      ///< input weights are initialized in [-scale, scale]; 0: Glorot
  bool trained_initial = false;
};
Signal gru(Circuit& c, Signal x, Index n, const GruOptions& options = {});

/// recursive, over trees: h = s(x W + sum over children k of h_k U_k + b). Pollack 1990; Socher et al. 2011. Missing
/// children or inputs contribute nothing. `children` is the number of children of a node that have separate weights.
struct RecursiveOptions {
  Map activation = Map::tanh;
  Index children = 2;
};
Signal recursive(Circuit& c, Signal x, Index n, const RecursiveOptions& options = {});
/// recursive-tensor: recursive with a quadratic form x' V_k x of all children for each unit k, divided by their size.
/// Socher et al. 2013.
Signal recursive_tensor(Circuit& c, Signal x, Index n, const RecursiveOptions& options = {});

/// tree-lstm: every child has a forget gate and separate matrices. Tai, Socher & Manning 2015, section 3.2.
struct TreeLstmOptions {
  Index children = 2;
  double forget_bias = 1;
};
Signal tree_lstm(Circuit& c, Signal x, Index n, const TreeLstmOptions& options = {});
/// child-sum-lstm: any number of unordered children. Ibid., section 3.1.
struct ChildSumLstmOptions {
  double forget_bias = 1;
};
Signal child_sum_lstm(Circuit& c, Signal x, Index n, const ChildSumLstmOptions& options = {});

/// grid-rnn, over grids: h_ij = s(x_ij W + h_{i,j-1} U + h_{i-1,j} V + b). Neighbors beyond the edge are zero.
struct GridRnnOptions {
  Map activation = Map::tanh;
  GridStackOptions stack = {};
};
Signal grid_rnn(Circuit& c, Signal x, Index n, const GridRnnOptions& options = {});
/// grid-lstm: multi-dimensional LSTM with a forget gate for each neighbor; every gate reads both neighbors. Graves,
/// Fernandez & Schmidhuber 2007. Both forget gates are initialized to 1/2 instead of near 1, because the number of
/// paths to a cell along a diagonal is a binomial coefficient. With 1/2, the weights of all paths add up to one; with
/// larger values, the sum of the weights grows without bound.
struct GridLstmOptions {
  double forget_bias = 0;
  GridStackOptions stack = {};
};
Signal grid_lstm(Circuit& c, Signal x, Index n, const GridLstmOptions& options = {});

/// mrnn, multiplicative: the recurrent matrix W_fh diag(x_t W_fx + b_f) W_hf depends on the input through `factors`
/// factors. Sutskever, Martens & Hinton 2011, without b_f: it is redundant for symbols (each symbol has a row of W_fx);
/// for vectors it keeps the state alive when x_t = 0. The initial value of b_f is 1, so the cell is initially close to
/// an rnn.
struct MrnnOptions {
  Index factors = 0;  ///< 0: same as units
  Map activation = Map::tanh;
  std::string delays = "1";  ///< list such as "1+2+4": the factors read h_{t-k} for each k
  TimeConstants leak = TimeConstants::none;
  double longest = 100;    ///< longest time constant of leaky units, in steps
  double input_scale = 0;  ///< input weights are initialized in [-scale, scale]; 0: 1/sqrt(inputs)
  bool trained_initial = false;
};
Signal mrnn(Circuit& c, Signal x, Index n, const MrnnOptions& options = {});

/// tensor-rnn: one dense recurrent matrix per symbol, h_t = s(h_{t-1} U_{x_t} + w_{x_t}), with alphabet * n^2 weights;
/// the factors of mrnn approximate it. Sutskever, Martens & Hinton 2011. `x` must be symbols (UsageError otherwise); at
/// positions without a symbol, h_t = s(h_{t-1}).
struct TensorRnnOptions {
  Map activation = Map::tanh;
  bool trained_initial = false;
};
Signal tensor_rnn(Circuit& c, Signal x, Index n, const TensorRnnOptions& options = {});

/// urnn, unitary: n complex units, z_t = x_t W + D3 R2 F^-1 D2 P R1 F D1 h_{t-1}, h_t = modReLU(z_t)
/// (graph/circuit/vector_map.h). Output h [2 n]: real parts, then imaginary parts. n must be a power of two
/// (UsageError). Arjovsky, Shah & Bengio 2016. The phases and the vectors of the reflections (whose length has no
/// effect) are initialized uniformly, and the thresholds with 0.
struct UrnnOptions {
  Index permutation = 0;  ///< seed of P, which is not trained
  Init input = Init::glorot();
  bool trained_initial = false;
};
Signal urnn(Circuit& c, Signal x, Index n, const UrnnOptions& options = {});

/// Cells whose gates read only the input, so no product remains in the loop: h_t = a_t * h_{t-1} + b_t.
///   mingru   a = 1 - z, b = z * g                                    Feng et al. 2024
///   minlstm  a = f / (f + i), b = i / (f + i) * g                    Feng et al. 2024
///   sru      a = f, b = (1 - f) * u, output r * c + (1 - r) * s      Lei et al. 2018
struct MinimalOptions {
  double gate_bias = 0;     ///< initial bias of the update or input gate
  double chrono = 0;        ///< > 1: initial biases for time scales up to this many steps instead
  bool hard_gates = false;  ///< mingru and sru: gates min(max(x / 4 + 1/2, 0), 1), which can close completely
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
  double scale = 1;  ///< w is initialized in [-scale, scale]
  bool trained_initial = false;
};
Signal ind_rnn(Circuit& c, Signal x, Index n, const IndRnnOptions& options = {});

/// lru: n complex numbers z_t = lambda * z_{t-1} + gamma * x_t B, y_t = Re(z_t C) + x_t D + b
/// (graph/circuit/vector_map.h). Orvieto et al. 2023.
struct LruOptions {
  bool gated = true;  ///< gated linear unit at every position; otherwise the output is y
  double slowest = 0.999, fastest = 0.5, turn = 6.28;
  bool trained_initial = false;
};
Signal lru(Circuit& c, Signal x, Index n, const LruOptions& options = {});

/// slstm: exponential gates, stabilized by the running maximum of their logarithms. Beck et al. 2024.
struct SlstmOptions {
  bool exponential_forget = false;
  double forget_bias = 1;
  bool trained_initial = false;  ///< whether the initial state of h is trained; the cell state, normalizer and maximum
                                 ///< are initialized as in the paper
};
Signal slstm(Circuit& c, Signal x, Index n, const SlstmOptions& options = {});

/// rhn: `depth` highway layers in each step. Zilly et al. 2017.
struct HighwayOptions {
  Index depth = 3;
  double transform_bias = -2;
  bool trained_initial = false;
};
Signal recurrent_highway(Circuit& c, Signal x, Index n, const HighwayOptions& options = {});

/// mogrifier: an LSTM whose input and state gate each other before each step. Melis et al. 2020.
struct MogrifierOptions {
  Index rounds = 5;
  double forget_bias = 1;
  bool trained_initial = false;
};
Signal mogrifier(Circuit& c, Signal x, Index n, const MogrifierOptions& options = {});

/// esn, echo state network: h_t = (1 - a) h_{t-1} + a tanh(x_t W + h_{t-1} U + b), U sparse and random with a given
/// spectral radius. Only the readout of the model is fitted, by ridge regression in one pass. Jaeger 2001. With several
/// layers, each reservoir drives the next; the readout reads the last one.
struct EsnOptions {
  double radius = 0.9;
  double leak = 1;  ///< a
  Index degree = 10;
  double input_scale = 0.5, bias_scale = 0.1;
  bool linear = false;      ///< no tanh
  bool orthogonal = false;  ///< U is orthogonal times the radius instead of sparse
  Index reservoir = 0;      ///< seed of U
  // Fitting of the readout (not read by the cell):
  bool trained = false;  ///< trained by the optimizer, like all other parameters
  double ridge = 0;      ///< lambda; 0: selected automatically
  Index blocks = 0;      ///< cross-validation blocks to select lambda; 0: generalized cross-validation
  Index washout = -1;    ///< positions at the beginning of a sequence that the fit ignores; -1: by their lengths
  bool trained_initial = false;
};
Signal esn(Circuit& c, Signal x, Index n, const EsnOptions& options = {});

/// Gated and sparse networks on random graphs (Ollivier, "Riemannian metrics for neural networks II: recurrent networks
/// and learning symbolic data sequences", 2015). Pre-activations V, activations a = s(V), one weight per edge:
///
///   glnn, gated leaky:  V_t = V_{t-1} + rho_{x_t} + sum over edges j -> i of tau_{j i x_t} a_{j, t-1}
///   gnn, gated:         V_t =           rho_{x_t} + sum over edges j -> i of tau_{j i x_t} a_{j, t-1}
///   sparse-rnn:         V_t =           rho_{x_t} + sum over edges j -> i of tau_{j i}     a_{j, t-1}
///
/// rho_{i x} is tau_{0 i x}, the weight from the always-active unit. The initial V is trained; it is the value at the
/// first position, where there is no symbol yet. If x is a vector, its components mix the weights (remark 2), with x_0
/// = 1: tau_{j i x} = sum over k of x_k tau_{j i k}, and likewise rho. A forward step and a backward step each take
/// O(edges) time.
struct SparseOptions {
  Index edges = 3;             ///< number of edges per unit, always including the self-loop; dense if this is at least
                               ///< the number of units
  Index graph = 0;             ///< seed of the graph: the same seed gives the same graph on every machine
  Map activation = Map::tanh;  ///< tanh, sigmoid or relu
  double alpha = 0;            ///< initial rate at which every unit forgets; 0: according to `longest`
  double longest = 0;          ///< initial time constants 1 / alpha_i are spread over 2 .. longest steps; 0: i + 2
};
Signal glnn(Circuit& c, Signal x, Index n, const SparseOptions& options = {});
Signal gnn(Circuit& c, Signal x, Index n, const SparseOptions& options = {});
/// With `leak`, V_{t-1} is added as in glnn: a leak without gates (remark 1). With `always`, there is a weight tau_{0
/// i} from the always-active unit in addition to the rho_{i x}. The set of functions is the same, but the metric
/// differs: the weights of all symbols can change together.
struct SparseRnnOptions : SparseOptions {
  bool always = false;
  bool leak = false;
};
Signal sparse_rnn(Circuit& c, Signal x, Index n, const SparseRnnOptions& options = {});

/// linear-gnn: a gated network of linear units with all edges, normalized at every step; equivalent to a hidden Markov
/// model.
struct LinearGnnOptions {};
Signal linear_gnn(Circuit& c, Signal x, Index n, const LinearGnnOptions& options = {});
/// Returns the output o as logits: log o. Probabilities below 0, which a trained network may produce, are replaced by
/// 1e-15.
Signal probabilities_to_logits(Signal o);

/// Returns the graph of these cells: every unit has min(degree, units) distinct outgoing edges, including its
/// self-loop.
std::shared_ptr<const Edges> random_edges(Index units, Index degree, Index graph);

/// Initialization from the paper: the untrained model predicts i.i.d. symbols, and V_i is a random linear combination
/// of about the last i + 2 symbols with standard deviation 1/2 in the linear regime. f_x is the number of times that
/// symbol x is read:
///   tau_{iix} = -alpha_i (1 - alpha_i without leak), alpha_i = 1 / (i + 2) or as in SparseOptions; tau_{jix} = 0 for
///   j != i;
///   rho_{ix} = 0.5 sqrt(2 alpha_i - alpha_i^2) (u_{ix} - mean) / deviation, u uniform; output weights 0, their bias
///   the logarithm of the fraction of x among the `predicted` symbols.
/// Activations other than tanh have the same dynamics to first order at V = 0.
template <class T>
void initialize_from_frequencies(const Circuit& circuit, Signal logits, std::span<const double> read,
                                 std::span<const double> predicted, std::uint64_t seed, Parameters<T>& parameters);

}  // namespace unfold
