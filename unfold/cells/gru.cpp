#include "unfold/cells/cell.h"
#include "unfold/cells/cells.h"

namespace unfold {
namespace {

/// z, r = sigmoid(x_t W + h_{t-1} U + b)
/// g = tanh(x_t W_g + (r * h_{t-1}) U_g + b_g)
/// h_t = h_{t-1} + z * (g - h_{t-1})                                                         Cho et al. 2014
Signal gru_reset_before(Circuit& c, Signal x, Signal h, Index n) {
  auto zr = c.affine("zr", 2 * n, {{"W", x, Init::glorot(2)}, {"U", h, Init::orthogonal(2)}});
  auto [z, r] = c.split<2>(zr);
  auto g = tanh(c.affine("g", n, {{"W", x, Init::glorot()}, {"U", sigmoid(r) * h, Init::orthogonal()}}));
  return h + sigmoid(z) * (g - h);
}

/// z, r as above;  g = tanh(x_t W_g + r * (h_{t-1} U_g + b_g)): all recurrent products share h_{t-1}.
Signal gru_reset_after(Circuit& c, Signal x, Signal h, Index n) {
  auto u = c.affine("u", 3 * n, {{"U", h, Init::orthogonal(3)}});
  auto w = c.affine("w", 3 * n, {{"W", x, Init::glorot(3)}}, Init::zero(), false);
  auto [uz, ur, ug] = c.split<3>(u);
  auto [wz, wr, wg] = c.split<3>(w);
  auto g = tanh(wg + sigmoid(wr + ur) * ug);
  return h + sigmoid(wz + uz) * (g - h);
}

}  // namespace

Signal gru(Circuit& c, Signal x, Index n, const GruOptions& options) {
  auto h = c.link(n, {}, options.trained_initial);
  auto next = options.reset_after ? gru_reset_after(c, x, h, n) : gru_reset_before(c, x, h, n);
  c.feed(h, next);
  return next;
}

template <class Visitor>
void describe(Visitor& v, GruOptions& o) {
  v("reset", o.reset_after, "the reset gate acts before or after the recurrent product",
    {{false, "before"}, {true, "after"}});
}

CellEntry gru_cell() { return CellOf<GruOptions>{.name = "gru", .help = "gated recurrent unit", .add = gru}; }

}  // namespace unfold
