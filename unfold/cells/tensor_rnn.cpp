#include <cmath>

#include "unfold/cells/cells.h"

namespace unfold {

/// h_t = s(h_{t-1} U_{x_t} + w_{x_t})                                      Sutskever, Martens & Hinton 2011, section 3
Signal tensor_rnn(Circuit& c, Signal x, Index n, const TensorRnnOptions& options) {
  if (!x.valid() || c.nodes()[static_cast<std::size_t>(x.id)].kind != Node::Kind::symbols)
    throw UsageError("tensor-rnn reads the symbols themselves: it has one layer and no embedding");
  auto h = c.link(n, {}, options.trained_initial);
  Term recurrent{.parameter = "U", .source = h, .init = Init::normal(1 / std::sqrt(static_cast<double>(n))), .gate = x};
  recurrent.op = sparse_operator(random_edges(n, n, 0), {.gating = Gating::weights});  // all edges
  auto next = c.map(options.activation, c.affine("z", n, {{"W", x}, recurrent}, Init::zero(), false));
  c.feed(h, next);
  return next;
}

}  // namespace unfold
