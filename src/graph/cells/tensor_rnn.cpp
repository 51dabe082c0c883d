#include <cmath>

#include "graph/cells/activations.h"
#include "graph/circuit/concatenation.h"
#include "graph/circuit/mixed_sparse.h"
#include "unfold/graph/cells/cell.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {

namespace {

Init matrices(Index n, Index count) { return Init::normal(1 / std::sqrt(static_cast<double>(n * count))); }

}  // namespace

/// h_t = s(h_{t-1} U_{x_t} + w_{x_t})                                      Sutskever, Martens & Hinton 2011, section 3
/// For a vector x, with x_0 = 1:  U_t = sum over k of x_k U_k
Signal tensor_rnn(Circuit& c, Signal x, Index n, const TensorRnnOptions& options) {
  auto h = c.link(n, {}, options.trained_initial);
  const auto edges = random_edges(n, n, 0);  // all edges
  const bool symbols = c.is_symbols(x);
  Term recurrent{.parameter = "U", .source = h, .init = matrices(n, 1)};
  if (symbols) {
    recurrent.gate = x;
    recurrent.op = sparse_operator(edges, {.gating = Gating::weights});
  } else {
    recurrent.source = concatenate(c, "xh", {x, h});
    recurrent.init = matrices(n, x.size() + 1);
    recurrent.op = mixed_sparse(edges, x.size(), {.activation = Map::copy});
  }
  auto next = activated(c, options.activation, c.affine("z", n, {{"W", x}, recurrent}, Init::zero(), !symbols));
  c.feed(h, next);
  return next;
}

template <class Visitor>
void describe(Visitor& v, TensorRnnOptions& o) {
  describe_all_activations(v, o.activation);
}

namespace {

constexpr Index kMostTensorUnits = 4096;

std::string tensor_rnn_fault(const StackOptions& stack, const TensorRnnOptions&) {
  if (stack.units > kMostTensorUnits)
    return "a tensor-rnn has at most " + std::to_string(kMostTensorUnits) +
           " units, because each symbol has a matrix of that size";
  return "";
}

}  // namespace

CellEntry tensor_rnn_cell() {
  return CellOf<TensorRnnOptions>{.name = "tensor-rnn",
                                  .help = "one dense recurrent matrix for each symbol, or component of a vector",
                                  .add = tensor_rnn,
                                  .fault = tensor_rnn_fault};
}

}  // namespace unfold
