#include <numbers>
#include <utility>
#include <vector>

#include "graph/cells/activations.h"
#include "graph/circuit/cell_maps.h"
#include "unfold/graph/cells/cell.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {
namespace {

/// One edge from each unit to itself: a weight vector, applied element-wise.
std::shared_ptr<const Operator> diagonal_operator(Index n) {
  std::vector<std::pair<std::int32_t, std::int32_t>> loops;
  loops.reserve(at(n));
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(n); ++i) loops.emplace_back(i, i);
  return sparse_operator(std::make_shared<const Edges>(n, n, std::move(loops)));
}

}  // namespace

/// h_t = s(x_t W + w * h_{t-1} + b)                                                             Li et al. 2018
Signal ind_rnn(Circuit& c, Signal x, Index n, const IndRnnOptions& options) {
  auto h = c.link(n, {}, options.trained_initial);
  auto z =
      c.affine("z", n,
               {{"W", x, Init::glorot()},
                {.parameter = "w", .source = h, .init = Init::uniform(options.scale), .op = diagonal_operator(n)}});
  auto next = activated(c, options.activation, z);
  c.feed(h, next);
  return next;
}

/// z_t = lambda * z_{t-1} + gamma * x_t B, complex; lambda = exp(-exp(nu) + i phase)
/// y_t = Re(z_t C) + x_t D + b;   h = y, or with `output=gated` one half of y times the sigmoid of the other
/// gamma is trained, as in the paper; its initial value is sqrt(1 - |lambda|^2).                Orvieto et al. 2023
Signal lru(Circuit& c, Signal x, Index n, const LruOptions& options) {
  auto z = c.link(2 * n, {}, options.trained_initial);
  const std::vector<double> decays = initial_decays(n, options.slowest, options.fastest, options.turn);
  auto u = c.affine("u", 2 * n, {{"B", x, Init::glorot()}}, Init::zero(), false);
  auto next =
      c.affine("z", 2 * n,
               {{.parameter = "gamma",
                 .source = u,
                 .init = Init::block_values(variance_preserving_gains(decays)),
                 .op = complex_gain(n)},
                {.parameter = "lambda", .source = z, .init = Init::block_values(decays), .op = complex_decay(n)}},
               Init::zero(), false);
  c.feed(z, next);
  const Index parts = options.gated ? 2 : 1;
  auto y = c.affine("y", parts * n, {{"C", next, Init::glorot(parts)}, {"D", x, Init::glorot(parts)}});
  if (!options.gated) return y;
  auto [value, gate] = c.split<2>(y);
  return value * sigmoid(gate);
}

template <class Visitor>
void describe(Visitor& v, IndRnnOptions& o) {
  describe_all_activations(v, o.activation);
  v("scale", o.scale, "recurrent weights are initialized in [-scale, scale]", above(0));
}

template <class Visitor>
void describe(Visitor& v, LruOptions& o) {
  v("output", o.gated, "gated linear unit at every position, or only the linear output",
    {{true, "gated"}, {false, "linear"}});
  v("slowest", o.slowest, "largest initial modulus: a state halves in log(2) / (1 - slowest) steps",
    half_open_range(0, 1));
  v("fastest", o.fastest, "smallest initial modulus", half_open_range(0, 1));
  v("turn", o.turn, "largest initial phase", range(0, 2 * std::numbers::pi));
}

CellEntry ind_rnn_cell() {
  return CellOf<IndRnnOptions>{.name = "indrnn",
                               .help = "independently recurrent: each unit reads only the input and its own state",
                               .add = ind_rnn};
}

CellEntry lru_cell() {
  return CellOf<LruOptions>{.name = "lru",
                            .help = "linear recurrent unit with a diagonal complex recurrence",
                            .add = lru,
                            .fault = [](const StackOptions&, const LruOptions& o) -> std::string {
                              return o.fastest < o.slowest ? "" : "fastest must be below slowest";
                            }};
}

}  // namespace unfold
