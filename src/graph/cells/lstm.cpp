#include "graph/cells/activations.h"
#include "graph/cells/delays.h"
#include "graph/cells/gates.h"
#include "graph/cells/norm_option.h"
#include "graph/cells/zoneout.h"
#include "graph/circuit/cell_maps.h"
#include "unfold/graph/cells/cell.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {
namespace {

/// x_t W + sum over delays k of h_{t-k} U_k + b
Signal plain_sum(Circuit& c, Signal x, const DelayedState& h, Index n, const Init& bias, const LstmOptions& o) {
  std::vector<Term> terms = {{"W", x, o.input_scale > 0 ? Init::uniform(o.input_scale) : Init::glorot(4)}};
  h.add_terms(terms, Init::orthogonal(4));
  return c.affine("z", 4 * n, terms, bias, o.biases);
}

/// LN(x_t W) + LN(h_{t-1} U) + b, each with separate gains.
Signal normalized_sum(Circuit& c, Signal x, const DelayedState& h, Index n, const Init& bias, const LstmOptions& o) {
  std::vector<Term> terms;
  h.add_terms(terms, Init::orthogonal(4));
  auto w = c.affine("w", 4 * n, {{"W", x, o.input_scale > 0 ? Init::uniform(o.input_scale) : Init::glorot(4)}},
                    Init::zero(), false);
  auto u = c.affine("u", 4 * n, terms, Init::zero(), false);
  const auto norm = layer_norm(4 * n);
  return c.affine("z", 4 * n,
                  {{.parameter = "gain-w", .source = w, .init = Init::constant(1), .op = norm},
                   {.parameter = "gain-u", .source = u, .init = Init::constant(1), .op = norm}},
                  bias, o.biases);
}

/// LN(cell) with gains and a bias.
Signal normalized_cell(Circuit& c, Signal cell) {
  return c.affine("norm", cell.size(),
                  {{.parameter = "gain", .source = cell, .init = Init::constant(1), .op = layer_norm(cell.size())}});
}

}  // namespace

/// i, f, o = sigmoid(x_t W + h_{t-1} U + b)    g = tanh(...)      (one product, columns i | f | o | g)
/// c_t = f * c_{t-1} + i * g
/// h_t = o * tanh(c_t)                             Hochreiter & Schmidhuber 1997; forget gate: Gers et al. 2000
/// With norm=layer, sums and cell are normalized: LN(x_t W) + LN(h_{t-1} U) + b and h_t = o * tanh(LN(c_t)). Ba et al.
/// 2016
/// With delays, h_{t-1} U becomes a sum over them. With zoneout, some components of c and h keep their values; h_t
/// reads the cell before zoneout. Krueger et al. 2017. If an activation is specified, it replaces both occurrences of
/// tanh.
Signal lstm(Circuit& c, Signal x, Index n, const LstmOptions& options) {
  const DelayedState h(c, n, parse_delays(options.delays), options.trained_initial);
  auto cell = c.link(n, {}, options.trained_initial);
  const Init bias = options.chrono > 1 ? Init::chrono({-1, 1, 0, 0}, options.chrono)
                                       : Init::block_values({0, options.forget_bias, 0, 0});
  auto z = options.layer_norm ? normalized_sum(c, x, h, n, bias, options) : plain_sum(c, x, h, n, bias, options);
  auto [i, f, o, g] = c.split<4>(z);
  const bool hard = options.hard_gates;
  auto next = gate(f, hard) * cell + gate(i, hard) * activated(c, options.activation, g);
  auto y = gate(o, hard) * activated(c, options.activation, options.layer_norm ? normalized_cell(c, next) : next);
  y = zoned(c, h.links().front(), y, options.zoneout);
  c.feed(cell, zoned(c, cell, next, options.zoneout_cell));
  h.feed(y);
  return y;
}

template <class Visitor>
void describe(Visitor& v, LstmOptions& o) {
  v("forget-bias", o.forget_bias, "initial bias of the forget gate", range(-100, 100));
  v("chrono", o.chrono, "initialize gate biases for time scales up to this many steps; 0: off", at_least(0));
  describe_gates(v, o.hard_gates);
  describe_norm(v, o.layer_norm);
  describe_delays(v, o.delays);
  describe_zoneout(v, o.zoneout);
  v("zoneout-cell", o.zoneout_cell, "zoneout rate of the memory cell", half_open_range(0, 1));
  describe_all_activations(v, o.activation);
  v("input-scale", o.input_scale,
    "input and output weights are initialized in [-input-scale, input-scale]; 0: Glorot, 1/sqrt(inputs)", at_least(0));
  v("biases", o.biases, "whether gates and candidate have a bias");
}

namespace {

std::string lstm_fault(const StackOptions&, const LstmOptions& o) {
  if (o.chrono > 0 && !(o.chrono > 2)) return "chrono must be 0 or greater than 2";
  if (std::string fault = delays_fault(o.delays); !fault.empty()) return fault;
  return o.zoneout > 0 ? zoneout_fault(o.delays) : "";
}

}  // namespace

CellEntry lstm_cell() {
  CellOf<LstmOptions> cell;  // assigned member by member: GCC 12 warns about the string in a temporary
  cell.name = "lstm";
  cell.help = "long short-term memory with forget gate";
  cell.add = lstm;
  cell.fault = lstm_fault;
  cell.output_init = [](const LstmOptions& o) { return Init::uniform(o.input_scale); };
  return cell;
}

}  // namespace unfold
