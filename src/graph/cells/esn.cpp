#include <algorithm>

#include "graph/circuit/reservoir.h"
#include "unfold/graph/cells/cell.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {
namespace {

/// Recurrent weights U: sparse and random, or orthogonal.
Term recurrent_term(Signal h, Index n, const EsnOptions& o) {
  if (o.orthogonal) return {.parameter = "U", .source = h, .init = Init::orthogonal(1, o.radius)};
  const Reservoir made = random_reservoir(n, o.degree, o.radius, static_cast<std::uint64_t>(o.reservoir));
  return {.parameter = "U",
          .source = h,
          .init = Init::block_values(made.weights),
          .op = sparse_operator(made.edges, {.weight_rows = 1})};
}

}  // namespace

/// h_t = (1 - a) h_{t-1} + a s(x_t W + h_{t-1} U + b)                                                Jaeger 2001
Signal esn(Circuit& c, Signal x, Index n, const EsnOptions& options) {
  auto h = c.link(n, {}, options.trained_initial);
  auto z = c.affine("z", n, {{"W", x, Init::uniform(options.input_scale)}, recurrent_term(h, n, options)},
                    options.bias_scale > 0 ? Init::uniform(options.bias_scale) : Init::zero());
  auto next = options.linear ? z : tanh(z);
  if (options.leak < 1) next = (1 - options.leak) * h + options.leak * next;
  c.feed(h, next);
  return next;
}

template <class Visitor>
void describe(Visitor& v, EsnOptions& o) {
  v("radius", o.radius, "spectral radius of the recurrent matrix", above(0));
  v("leak", o.leak, "leak rate: fraction of the state that a step replaces", Limits{0, 1, true, false});
  v("degree", o.degree, "edges that leave each unit", range(1, kMostUnits));
  v("input-scale", o.input_scale, "input weights are uniform in [-input-scale, input-scale]", above(0));
  v("bias-scale", o.bias_scale, "biases are uniform in [-bias-scale, bias-scale]", at_least(0));
  v("activation", o.linear, "activation function of the units", {{false, "tanh"}, {true, "linear"}});
  v("matrix", o.orthogonal, "sparse and random, or orthogonal times the radius",
    {{false, "sparse"}, {true, "orthogonal"}});
  v("reservoir", o.reservoir, "seed of the sparse matrix", range(0, 1e15));
  v("readout", o.trained,
    "ridge: fitted over a fixed reservoir, by ridge or softmax regression; trained: all parameters by the optimizer",
    {{false, "ridge"}, {true, "trained"}});
  v("ridge", o.ridge, "ridge parameter lambda, relative to the mean square of a state; 0: generalized cross-validation",
    at_least(0));
  v("blocks", o.blocks, "cross-validation folds to select lambda; 0: none", range(0, 100));
  v("washout", o.washout,
    "positions at the beginning of a sequence that the fit ignores; -1: a tenth of the median length, at most 100",
    range(-1, 1e9));
}

CellEntry esn_cell() {
  return CellOf<EsnOptions>{
      .name = "esn",
      .help = "echo state network: a fixed random reservoir with a fitted readout",
      .add = esn,
      .with_max_units = [](StackOptions&, EsnOptions& o, Index most) { o.degree = std::min(o.degree, most); }};
}

}  // namespace unfold
