#include "unfold/graph/cells/cell.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {

/// f_t = (x_t W_fx + b_f) * (h_{t-1} W_fh)
/// h_t = s(x_t W + f_t W_hf + b)                                      Sutskever, Martens & Hinton 2011
Signal mrnn(Circuit& c, Signal x, Index n, const MrnnOptions& options) {
  const Index factors = options.factors > 0 ? options.factors : n;
  auto h = c.link(n, {}, options.trained_initial);
  auto by_input = c.affine("fx", factors, {{"W", x}}, Init::constant(1));
  auto by_state = c.affine("fh", factors, {{"U", h, Init::orthogonal()}}, Init::zero(), false);
  auto z = c.affine("z", n, {{"W", x}, {"U", by_input * by_state, Init::orthogonal()}});
  auto next = c.map(options.activation, z);
  c.feed(h, next);
  return next;
}

template <class Visitor>
void describe(Visitor& v, MrnnOptions& o) {
  v("factors", o.factors, "number of factors; 0: same as units", range(0, kMostUnits));
  describe_activation(v, o.activation);
}

CellEntry mrnn_cell() {
  return CellOf<MrnnOptions>{
      .name = "mrnn",
      .help = "multiplicative RNN: the recurrent matrix depends on the input through factors",
      .add = mrnn,
      .with_max_units = [](StackOptions&, MrnnOptions& o, Index most) { o.factors = std::min(o.factors, most); }};
}

}  // namespace unfold
