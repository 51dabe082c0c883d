#include "unfold/cells/cell.h"
#include "unfold/cells/cells.h"
#include "unfold/cells/norm.h"
#include "unfold/circuit/cell_maps.h"

namespace unfold {
namespace {

/// LN(x_t W) + LN(h_{t-1} U) + b, each with gains of its own.
Signal normalised_sum(Circuit& c, Signal x, Signal h, Index n, const Init& bias) {
  auto w = c.affine("w", 4 * n, {{"W", x, Init::glorot(4)}}, Init::zero(), false);
  auto u = c.affine("u", 4 * n, {{"U", h, Init::orthogonal(4)}}, Init::zero(), false);
  const auto norm = layer_norm(4 * n);
  return c.affine("z", 4 * n,
                  {{.parameter = "gain-w", .source = w, .init = Init::constant(1), .op = norm},
                   {.parameter = "gain-u", .source = u, .init = Init::constant(1), .op = norm}},
                  bias);
}

/// LN(cell) with gains and a bias.
Signal normalised_cell(Circuit& c, Signal cell) {
  return c.affine("norm", cell.size(),
                  {{.parameter = "gain", .source = cell, .init = Init::constant(1), .op = layer_norm(cell.size())}});
}

}  // namespace

/// i, f, o = sigmoid(x_t W + h_{t-1} U + b)    g = tanh(...)      (one product, columns i | f | o | g)
/// c_t = f * c_{t-1} + i * g
/// h_t = o * tanh(c_t)                                        Hochreiter & Schmidhuber 1997; forget gate: Gers et al.
/// 2000
/// With norm=layer: sums and cell are normalised, LN(x_t W) + LN(h_{t-1} U) + b and h_t = o * tanh(LN(c_t)). Ba et al.
/// 2016
Signal lstm(Circuit& c, Signal x, Index n, const LstmOptions& options) {
  auto h = c.link(n, {}, options.trained_initial), cell = c.link(n, {}, options.trained_initial);
  const Init bias = options.chrono > 1 ? Init::chrono({-1, 1, 0, 0}, options.chrono)
                                       : Init::block_values({0, options.forget_bias, 0, 0});
  auto z = options.layer_norm ? normalised_sum(c, x, h, n, bias)
                              : c.affine("z", 4 * n, {{"W", x, Init::glorot(4)}, {"U", h, Init::orthogonal(4)}}, bias);
  auto [i, f, o, g] = c.split<4>(z);
  auto next = sigmoid(f) * cell + sigmoid(i) * tanh(g);
  auto y = sigmoid(o) * tanh(options.layer_norm ? normalised_cell(c, next) : next);
  c.feed(cell, next);
  c.feed(h, y);
  return y;
}

template <class Visitor>
void describe(Visitor& v, LstmOptions& o) {
  v("forget-bias", o.forget_bias, "start of the forget gate's bias", range(-100, 100));
  v("chrono", o.chrono, "start the gates from time scales up to so many steps; 0: off", at_least(0));
  describe_norm(v, o.layer_norm);
}

CellEntry lstm_cell() {
  return CellOf<LstmOptions>{.name = "lstm",
                             .help = "long short-term memory with forget gate",
                             .add = lstm,
                             .fault = [](const StackOptions&, const LstmOptions& o) -> std::string {
                               return o.chrono > 0 && !(o.chrono > 2) ? "chrono must be 0 or above 2 steps" : "";
                             }};
}

}  // namespace unfold
