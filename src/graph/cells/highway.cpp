#include "unfold/graph/cells/cell.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {

/// s^0 = h_{t-1};  for l = 1..depth:  g = tanh([l = 1] x_t W + s^{l-1} U_l + b_l), r = sigmoid(the same form)
/// s^l = r * g + (1 - r) * s^{l-1};  h_t = s^depth                                            Zilly et al. 2017
Signal recurrent_highway(Circuit& c, Signal x, Index n, const HighwayOptions& options) {
  auto h = c.link(n, {}, options.trained_initial);
  Signal s = h;
  for (Index l = 1; l <= options.depth; ++l) {
    std::vector<Term> terms;
    if (l == 1) terms.push_back({"W", x, Init::glorot(2)});
    terms.push_back({"U", s, Init::orthogonal(2)});
    const std::string name = "z" + std::to_string(l);
    auto [g, r] = c.split<2>(c.affine(name, 2 * n, terms, Init::block_values({0, options.transform_bias})));
    s = s + sigmoid(r) * (tanh(g) - s);
  }
  c.feed(h, s);
  return s;
}

template <class Visitor>
void describe(Visitor& v, HighwayOptions& o) {
  v("depth", o.depth, "number of layers within a step", range(1, 64));
  v("transform-bias", o.transform_bias, "initial gate bias; negative values make layers initially copy their input",
    range(-100, 100));
}

CellEntry highway_cell() {
  return CellOf<HighwayOptions>{
      .name = "rhn", .help = "recurrent highway network: several layers in each step", .add = recurrent_highway};
}

}  // namespace unfold
