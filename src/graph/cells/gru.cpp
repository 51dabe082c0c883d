#include "graph/cells/activations.h"
#include "graph/cells/gates.h"
#include "graph/cells/norm_option.h"
#include "graph/cells/zoneout.h"
#include "graph/circuit/cell_maps.h"
#include "unfold/graph/cells/cell.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {
namespace {

/// Returns the state s that the products below read: h_{t-1}, or 2 sigmoid(x_t W + b) * h_{t-1} if `gated`.
Signal read_state(Circuit& c, Signal x, Signal h, Index n, bool gated) {
  return gated ? 2 * sigmoid(c.affine("m", n, {{"W", x, Init::glorot()}})) * h : h;
}

/// Returns the initialization of input weights with equal column blocks.
Init input_init(const GruOptions& o, Index blocks) {
  return o.input_scale > 0 ? Init::uniform(o.input_scale) : Init::glorot(blocks);
}

/// z, r = sigmoid(x_t W + s U + b)
/// g = tanh(x_t W_g + (r * s) U_g + b_g)
/// h_t = h_{t-1} + z * (g - h_{t-1})                                                         Cho et al. 2014
Signal gru_reset_before(Circuit& c, Signal x, Signal h, Signal s, Index n, const GruOptions& o) {
  const bool hard = o.hard_gates;
  auto zr = c.affine("zr", 2 * n, {{"W", x, input_init(o, 2)}, {"U", s, Init::orthogonal(2)}});
  auto [z, r] = c.split<2>(zr);
  auto g = activated(c, o.activation,
                     c.affine("g", n, {{"W", x, input_init(o, 1)}, {"U", gate(r, hard) * s, Init::orthogonal()}}));
  return h + gate(z, hard) * (g - h);
}

/// LN(x) with gains, and with a bias if `biased`.
Signal normalized(Circuit& c, const char* name, Signal x, bool biased = false) {
  return c.affine(name, x.size(),
                  {{.parameter = "gain", .source = x, .init = Init::constant(1), .op = layer_norm(x.size())}},
                  Init::zero(), biased);
}

/// Like reset after, with LN(x_t W) for x_t W and LN(s U) for s U; z and r are normalized together, the candidate
/// separately. The biases are added after the normalization. Ba et al. 2016
Signal gru_normalized(Circuit& c, Signal x, Signal h, Signal s, Index n, const GruOptions& o) {
  const bool hard = o.hard_gates;
  const auto part = [&](const char* name, Signal source, const char* parameter, const Init& init, Index blocks) {
    return c.affine(name, blocks * n, {{parameter, source, init}}, Init::zero(), false);
  };
  auto w = normalized(c, "norm-w", part("w", x, "W", input_init(o, 2), 2), true);
  auto u = normalized(c, "norm-u", part("u", s, "U", Init::orthogonal(2), 2));
  auto wg = normalized(c, "norm-wg", part("wg", x, "W", input_init(o, 1), 1), true);
  auto ug = normalized(c, "norm-ug", part("ug", s, "U", Init::orthogonal(), 1));
  auto [z, r] = c.split<2>(w + u);
  auto g = activated(c, o.activation, wg + gate(r, hard) * ug);
  return h + gate(z, hard) * (g - h);
}

/// z, r as above; g = tanh(x_t W_g + r * (s U_g + b_g)): all recurrent products share s. With two biases, x_t W_g
/// becomes x_t W_g + b'_g; z and r also have two biases, but only their sum matters.
Signal gru_reset_after(Circuit& c, Signal x, Signal h, Signal s, Index n, const GruOptions& o) {
  const bool hard = o.hard_gates;
  auto u = c.affine("u", 3 * n, {{"U", s, Init::orthogonal(3)}});
  auto w = c.affine("w", 3 * n, {{"W", x, input_init(o, 3)}}, Init::zero(), o.two_biases);
  auto [uz, ur, ug] = c.split<3>(u);
  auto [wz, wr, wg] = c.split<3>(w);
  auto g = activated(c, o.activation, wg + gate(wr + ur, hard) * ug);
  return h + gate(wz + uz, hard) * (g - h);
}

}  // namespace

Signal gru(Circuit& c, Signal x, Index n, const GruOptions& options) {
  auto h = c.link(n, {}, options.trained_initial);
  auto s = read_state(c, x, h, n, options.gated_state);
  auto next = options.layer_norm    ? gru_normalized(c, x, h, s, n, options)
              : options.reset_after ? gru_reset_after(c, x, h, s, n, options)
                                    : gru_reset_before(c, x, h, s, n, options);
  next = zoned(c, h, next, options.zoneout);
  c.feed(h, next);
  return next;
}

template <class Visitor>
void describe(Visitor& v, GruOptions& o) {
  v("reset", o.reset_after, "whether the reset gate is applied before or after the recurrent product",
    {{false, "before"}, {true, "after"}});
  v("biases", o.two_biases, "2 (only with reset=after): separate input and recurrent biases, as in PyTorch and Keras",
    {{false, "1"}, {true, "2"}});
  v("gated-state", o.gated_state, "the input gates the state before the recurrent products (Melis et al. 2020)");
  describe_gates(v, o.hard_gates);
  describe_norm(v, o.layer_norm);
  describe_zoneout(v, o.zoneout);
  describe_all_activations(v, o.activation);
  v("input-scale", o.input_scale,
    "input and output weights are initialized in [-input-scale, input-scale]; 0: Glorot, 1/sqrt(inputs)", at_least(0));
}

namespace {

std::string gru_fault(const StackOptions&, const GruOptions& o) {
  return o.two_biases && (!o.reset_after || o.layer_norm)
             ? "biases=2 needs reset=after and cannot be combined with norm"
             : "";
}

}  // namespace

CellEntry gru_cell() {
  CellOf<GruOptions> cell;  // assigned member by member: GCC 12 warns about the string in a temporary
  cell.name = "gru";
  cell.help = "gated recurrent unit";
  cell.add = gru;
  cell.fault = gru_fault;
  cell.output_init = [](const GruOptions& o) { return Init::uniform(o.input_scale); };
  return cell;
}

}  // namespace unfold
