#include "graph/cells/activations.h"
#include "graph/circuit/concatenation.h"
#include "unfold/graph/cells/cell.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/graph/cells/grid_pooling.h"

namespace unfold {
namespace {

/// Adds two networks, one along rows and one along columns, with half of the units each. `add` adds a network of some
/// units that reads one neighbor.
template <class Add>
Signal add_lines(Circuit& c, Index n, const Add& add) {
  const auto line = [&](const char* name, Index units, const Delay& delay) {
    const auto scope = c.scope(name);
    return add(units, delay);
  };
  const Signal rows = line("rows", n - n / 2, Delay::left()), columns = line("columns", n / 2, Delay::up());
  return concatenate(c, "h", {rows, columns});
}

/// h_ij = s(x_ij W + h_{i,j-1} U + b) along rows; with h_{i-1,j} along columns.
Signal line_rnn(Circuit& c, Signal x, Index n, const Delay& delay, Map activation) {
  auto before = c.link(n, delay);
  auto h = activated(c, activation, c.affine("z", n, {{"W", x, Init::glorot()}, {"U", before, Init::identity(1, 1)}}));
  c.feed(before, h);
  return h;
}

/// The LSTM along rows or columns (columns of the product i|o|f|g).
Signal line_lstm(Circuit& c, Signal x, Index n, const Delay& delay, double forget_bias) {
  auto before = c.link(n, delay), cell_before = c.link(n, delay);
  constexpr Index kGates = 4;
  auto z = c.affine("z", kGates * n, {{"W", x, Init::glorot(kGates)}, {"U", before, Init::orthogonal(kGates)}},
                    Init::block_values({0, 0, forget_bias, 0}));
  auto [i, o, f, g] = c.split<kGates>(z);
  auto next = sigmoid(f) * cell_before + sigmoid(i) * tanh(g);
  auto y = sigmoid(o) * tanh(next);
  c.feed(cell_before, next);
  c.feed(before, y);
  return y;
}

}  // namespace

/// h_ij = s(x_ij W + h_{i,j-1} U + h_{i-1,j} V + b)                                                  Graves et al. 2007
Signal grid_rnn(Circuit& c, Signal x, Index n, const GridRnnOptions& options) {
  if (options.stack.lines)
    return add_lines(c, n,
                     [&](Index units, const Delay& delay) { return line_rnn(c, x, units, delay, options.activation); });
  auto left = c.link(n, Delay::left()), up = c.link(n, Delay::up());
  constexpr double kHalf = 0.5;  // mean of both neighbors
  auto z = c.affine(
      "z", n, {{"W", x, Init::glorot()}, {"U", left, Init::identity(1, kHalf)}, {"V", up, Init::identity(1, kHalf)}});
  auto h = activated(c, options.activation, z);
  c.feed(left, h);
  c.feed(up, h);
  return h;
}

/// i, o, f, f' = sigmoid(x_ij W + h_{i,j-1} U + h_{i-1,j} V + b)    g = tanh(...)    (one product, columns i|o|f|f'|g)
/// c_ij = f * c_{i,j-1} + f' * c_{i-1,j} + i * g
/// h_ij = o * tanh(c_ij)                                                       Graves, Fernandez & Schmidhuber 2007
Signal grid_lstm(Circuit& c, Signal x, Index n, const GridLstmOptions& options) {
  if (options.stack.lines)
    return add_lines(
        c, n, [&](Index units, const Delay& delay) { return line_lstm(c, x, units, delay, options.forget_bias); });
  auto left = c.link(n, Delay::left()), up = c.link(n, Delay::up());
  auto cell_left = c.link(n, Delay::left()), cell_up = c.link(n, Delay::up());
  constexpr Index kGates = 5;
  auto z = c.affine(
      "z", kGates * n,
      {{"W", x, Init::glorot(kGates)}, {"U", left, Init::orthogonal(kGates)}, {"V", up, Init::orthogonal(kGates)}},
      Init::block_values({0, 0, options.forget_bias, options.forget_bias, 0}));
  auto [i, o, f_left, f_up, g] = c.split<kGates>(z);
  auto next = sigmoid(f_left) * cell_left + sigmoid(f_up) * cell_up + sigmoid(i) * tanh(g);
  auto y = sigmoid(o) * tanh(next);
  c.feed(cell_left, next);
  c.feed(cell_up, next);
  c.feed(left, y);
  c.feed(up, y);
  return y;
}

template <class Visitor>
void describe(Visitor& v, GridRnnOptions& o) {
  describe_all_activations(v, o.activation);
  describe_grid(v, o.stack);
}

template <class Visitor>
void describe(Visitor& v, GridLstmOptions& o) {
  v("forget-bias", o.forget_bias, "initial bias of both forget gates", range(-100, 100));
  describe_grid(v, o.stack);
}

namespace {

GridStack rnn_stack(const GridRnnOptions& o) { return grid_stack(o.stack); }
GridStack lstm_stack(const GridLstmOptions& o) { return grid_stack(o.stack); }
std::string grid_rnn_fault(const StackOptions& stack, const GridRnnOptions& o) { return grid_fault(stack, o.stack); }
std::string grid_lstm_fault(const StackOptions& stack, const GridLstmOptions& o) { return grid_fault(stack, o.stack); }

}  // namespace

CellEntry grid_rnn_cell() {
  CellOf<GridRnnOptions> cell;
  cell.name = "grid-rnn";
  cell.help = "for grids: a position reads its left and upper neighbors";
  cell.add = grid_rnn;
  cell.fault = grid_rnn_fault;
  cell.grid = rnn_stack;
  return cell;
}

CellEntry grid_lstm_cell() {
  CellOf<GridLstmOptions> cell;
  cell.name = "grid-lstm";
  cell.help = "for grids: multi-dimensional LSTM with a forget gate for each neighbor";
  cell.add = grid_lstm;
  cell.fault = grid_lstm_fault;
  cell.grid = lstm_stack;
  return cell;
}

}  // namespace unfold
